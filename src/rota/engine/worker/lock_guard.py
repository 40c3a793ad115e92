"""Ends processes of runs under a lock, in a thread of its own, when the node is not heard and the event loop is late.

As a rule the loop lets go of such runs (`held_claims.py`), and there is nothing to do here. User code that blocks the
loop blocks that too. A coroutine or a thread cannot be ended from here; a process can.
"""

import signal
import threading
from collections.abc import Callable

from rota.clock import Clock
from rota.engine.observation.happenings import LockedRunStopped
from rota.engine.observation.observers import Observers
from rota.engine.worker.attempt import Attempt, Stop
from rota.engine.worker.hands import Hands


class LockGuard:
    """Looks again and again, until it is stopped."""

    def __init__(
        self,
        hands: Hands,
        *,
        is_old: Callable[[Attempt], bool],
        clock: Clock,
        pause_s: float,
        grace_s: float,
        observers: Observers,
    ) -> None:
        """`is_old` says whether others may soon have the job of an attempt. The loop has `pause_s`, the time between
        two looks, to ask its run to end; after `grace_s` it is killed, whoever asked."""
        self._hands = hands
        self._is_old = is_old
        self._clock = clock
        self._pause_s = pause_s
        self._grace_s = grace_s
        self._observers = observers
        self._old_since: dict[Attempt, float] = {}
        self._is_stopped = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._serve, name="rota-lock-guard", daemon=True).start()

    def stop(self) -> None:
        """Without waiting for it: it calls nobody who could hold it up."""
        self._is_stopped.set()

    def _serve(self) -> None:
        while not self._is_stopped.wait(self._pause_s):
            self.look()

    def look(self) -> None:
        """End what the loop should have ended."""
        at = self._clock.monotonic()
        old = [one for one in self._hands if one.claim.spec.lock_key is not None and self._is_old(one)]
        # Counted from when it was seen to be old: after the machine was suspended the loop has its chance too.
        self._old_since = {attempt: self._old_since.get(attempt, at) for attempt in old}
        for attempt, since in self._old_since.items():
            if attempt.run is not None and attempt.run.signal is not None and attempt.can_be_stopped:
                self._end(attempt, attempt.run.signal, old_for_s=at - since)

    def _end(self, attempt: Attempt, send: Callable[[int], None], *, old_for_s: float) -> None:
        """Ask it to end once, if nobody has, and kill it in the end. However it ends is not its own outcome then, which
        is known before it can end."""
        if attempt.reason is None and old_for_s >= self._pause_s:
            attempt.reason = Stop.INTERRUPTED
            self._observers.tell(LockedRunStopped(attempt.claim.spec.id))
            send(signal.SIGTERM)
        if old_for_s >= self._grace_s:
            send(signal.SIGKILL)
