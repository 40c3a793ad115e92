"""The partitions that the group has given to an instance: each is restored in a thread beside, while the others go on.

A partition that is taken away and comes again has another *turn*, so that nothing of its former one counts.
"""

import logging
from collections.abc import Collection
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event, Thread

from confluent_kafka import KafkaException

from rota.clock import Clock
from rota.errors import StoreUnavailable
from rota.streaming.options import StreamOptions
from rota.streaming.partition import Partition
from rota.streaming.restore import Cancelled, restore_partitions

_AGAIN_S = 0.2
"""Of topics that were just made, the brokers do not know everything yet."""
_AFTER_FAULT_S = 1.0
_SLOW_S = 60.0
"""Within which a million definitions are restored, by far, and the members of a group agree."""
_SETTLES_S = 30.0
"""How much longer than a session the group may owe its answer before the client that asks it counts as stuck.

It answers nobody before each of its members asks too, or is given up. One that died, or left a client behind, is given
up after a session; one that is in a round asks after it, and in that a record waits for at most half a session; and
what it takes from some and gives to others is shared out twice. So at a session of 8 s it takes some 15 s when all that
comes together, and no member begins anew before 38 s, which is also well before a minute, when this is told as a
trouble. Restoring holds up nobody: it has a thread of its own.
"""
_HANGS_S = 300.0
"""How long a member that hangs may hold up the others: `max.poll.interval.ms`."""
_logger = logging.getLogger("rota.streaming")


class Turn:
    """The time for which partitions are here."""

    def __init__(self, begun: float) -> None:
        self.begun = begun


class Turns:
    """Begun and ended by the thread of the stream."""

    def __init__(self, options: StreamOptions, clock: Clock, stopping: Event) -> None:
        self._options = options
        self._clock = clock
        self._stopping = stopping
        self._turns: dict[int, Turn] = {}
        self._asked_at: float | None = None
        """Since when the group owes an answer."""
        self._waits_since = clock.monotonic()
        """Since when nothing but the client can be the reason that there is none."""
        self._patience_s = options.session_s + _SETTLES_S
        self._restored: SimpleQueue[tuple[Partition, Turn]] = SimpleQueue()

    @property
    def numbers(self) -> list[int]:
        """Of the partitions that are given, restored or not."""
        return list(self._turns)

    def ask(self) -> None:
        """The group shares its partitions out, and tells when it has: `begin`, if only with none."""
        self._waits_since = self._clock.monotonic()
        if self._asked_at is None:  # else another client asks once more
            self._asked_at = self._waits_since

    def begin(self, numbers: list[int]) -> None:
        """Partitions are given: restore them."""
        self._asked_at = None
        self._patience_s = self._options.session_s + _SETTLES_S
        turn = Turn(self._clock.monotonic())
        self._turns |= dict.fromkeys(numbers, turn)
        if numbers:
            _logger.info("partitions are restored", extra={"partitions": numbers})
            Thread(target=self._restore, args=(numbers, turn), name="rota-restore", daemon=True).start()

    def check_group(self, *, is_excused: bool) -> None:
        """`StoreUnavailable` if the group owes its answer for so long that another client has to ask it: this one is
        stuck. The group is excused while the brokers are away, or refuse this instance.

        librdkafka's client may forget all brokers for good when it is told of none (its issue 5301), as a broker does
        that was just let go, or comes back to its cluster.

        A client that asks has no way to leave, so the group counts it as a member for one more session. In order that
        a group settles which is slow, because a member hangs, each client in vain has the next one wait twice as long,
        up to where no member can be the reason. So long waits whoever still has partitions, which it would lose.
        """
        now = self._clock.monotonic()
        longest_s = self._options.session_s + _HANGS_S + _SETTLES_S
        if self._asked_at is None or is_excused:
            self._waits_since = now
        elif now - self._waits_since >= (longest_s if self._turns else self._patience_s):
            self._patience_s = min(2 * self._patience_s, longest_s)
            silent_s = now - self._asked_at
            raise StoreUnavailable(f"the group has not answered for {silent_s:.0f} s; another client asks it")

    def end(self, numbers: Collection[int]) -> None:
        for number in numbers:
            self._turns.pop(number, None)

    def _restore(self, numbers: list[int], turn: Turn) -> None:
        def is_wanted() -> bool:
            return any(self._turns.get(number) is turn for number in numbers) and not self._stopping.is_set()

        while is_wanted():
            try:
                for partition in restore_partitions(self._options, numbers, is_wanted):
                    self.put_back(partition, turn)
                return
            except Cancelled:
                return
            except (KafkaException, StoreUnavailable) as error:
                _logger.warning("restoring failed and is tried again", extra={"error": str(error)})
                self._stopping.wait(_AGAIN_S)
            except Exception:
                # A fault of ours; partitions that nobody restores would never fire again.
                _logger.exception("restoring failed and is tried again")
                self._stopping.wait(_AFTER_FAULT_S)

    def put_back(self, partition: Partition, turn: Turn) -> None:
        """It is restored, and does not serve yet."""
        self._restored.put((partition, turn))

    def take_restored(self) -> list[tuple[Partition, Turn]]:
        """Those that are restored, do not serve yet and are still ours."""
        found = []
        with suppress(Empty):
            while True:
                found.append(self._restored.get_nowait())
        return [(partition, turn) for partition, turn in found if self._turns.get(partition.number) is turn]

    def slowness(self, serving: Collection[int]) -> str | None:
        """That the group, or a restore, takes long, if one does."""
        return self._silence_of_group() or self._slow_restore(serving)

    def _silence_of_group(self) -> str | None:
        asked_at = self._asked_at
        silent_s = 0.0 if asked_at is None else self._clock.monotonic() - asked_at
        return f"the group has not shared out its partitions for {silent_s:.0f} s" if silent_s >= _SLOW_S else None

    def _slow_restore(self, serving: Collection[int]) -> str | None:
        """A changelog cannot be read, because its broker is away perhaps."""
        since = {number: turn.begun for number, turn in dict(self._turns).items() if number not in serving}
        slow_s = self._clock.monotonic() - min(since.values()) if since else 0.0
        return f"partitions {sorted(since)} are being restored for {slow_s:.0f} s" if slow_s >= _SLOW_S else None
