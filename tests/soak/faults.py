"""Faults, one every few seconds, some beside others, chosen by chance from a seed."""

import multiprocessing
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Self

from msgspec import Struct

from rota.errors import StoreError
from rota.store import Store
from tests.soak.judge import Stretch
from tests.soak.ledger import boot_ms
from tests.soak.nodes import Fleet
from tests.soak.stores import SoakStore, StoreFault

PAUSE_S = (2.0, 6.0)
MOST_AT_ONCE = 3
SHORT_S = (2.0, 10.0)
LONG_S = (26.0, 40.0)
"""Longer than the dead time, so that others take over."""
EVERYBODY_S = (22.0, 32.0)
_TRIES = 5
"""What one fault needs may be taken by another."""
_PAUSED = "queue paused"


class Fault(Struct, frozen=True):
    """What happens, and what it needs for itself while it does."""

    name: str
    needs: frozenset[str]
    happen: Callable[[], None]


class Faults:
    """Happen while this is entered; leaving waits until all is well again."""

    def __init__(self, fleet: Fleet, soaked: SoakStore, store: Store, chance: random.Random) -> None:
        self._fleet, self._soaked, self._store, self._chance = fleet, soaked, store, chance
        self._queues = {node_type.uuid: node_type.name for node_type in store.list_node_types()}
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._busy: set[str] = set()
        self._running: list[threading.Thread] = []
        self._director = threading.Thread(target=self._direct, name="faults", daemon=True)
        self.counts: Counter[str] = Counter()
        self.diary: list[str] = []
        """One line per fault, with its time."""
        self.blind: list[Stretch] = []
        """When nobody could watch over others."""
        self.paused: dict[str, list[Stretch]] = {name: [] for name in self._queues.values()}
        """By the name of the queue."""
        self.failures: list[str] = []
        """Faults that could not be carried out, which is a fault of the soak."""

    def __enter__(self) -> Self:
        self._director.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._director.join()
        for thread in self._running:
            thread.join()

    def _direct(self) -> None:
        while not self._over.wait(self._chance.uniform(*PAUSE_S)):
            if sum(thread.is_alive() for thread in self._running) < MOST_AT_ONCE:
                any(self._begin(self._choose()) for _ in range(_TRIES))

    def _begin(self, fault: Fault) -> bool:
        with self._lock:
            if self._busy & fault.needs:
                return False
            self._busy |= fault.needs
        self.counts[fault.name.partition(":")[0]] += 1
        self.diary.append(f"{boot_ms()} {fault.name}")
        thread = threading.Thread(target=self._carry_out, args=(fault,), name=fault.name, daemon=True)
        self._running.append(thread)
        thread.start()
        return True

    def _carry_out(self, fault: Fault) -> None:
        try:
            fault.happen()
        except Exception as error:
            self.failures.append(f"{fault.name}: {type(error).__name__}: {error}")
        finally:
            with self._lock:
                self._busy -= fault.needs

    # -- which ----------------------------------------------------------------------------------------------------

    def _choose(self) -> Fault:
        """All chance is spent here, in one thread, so that a seed gives the same choices again."""
        kinds: list[Callable[[], Fault]] = [
            self._kill,
            self._kill,
            self._stop,
            self._suspend_shortly,
            self._suspend_for_long,
            self._suspend_everybody,
            self._burn,
            self._pause,
            *[partial(self._disturb, fault) for fault in self._soaked.faults],
        ]
        return self._chance.choice(kinds)()

    def _any_seat(self) -> str:
        return self._chance.choice(self._fleet.names)

    def _kill(self) -> Fault:
        seat, pause_s = self._any_seat(), self._chance.uniform(0, 4)

        def happen() -> None:
            self._fleet.kill(seat)
            time.sleep(pause_s)
            self._fleet.start(seat)

        return Fault(f"node killed: {seat}", frozenset({seat}), happen)

    def _stop(self) -> Fault:
        seat = self._any_seat()

        def happen() -> None:
            self._fleet.stop(seat)
            self._fleet.start(seat)

        return Fault(f"node told to stop: {seat}", frozenset({seat}), happen)

    def _suspend_shortly(self) -> Fault:
        return self._suspend("node suspended shortly", SHORT_S)

    def _suspend_for_long(self) -> Fault:
        return self._suspend("node suspended beyond the dead time", LONG_S)

    def _suspend(self, name: str, span: tuple[float, float]) -> Fault:
        seat, seconds = self._any_seat(), self._chance.uniform(*span)

        def happen() -> None:
            node = self._fleet.at(seat)
            since = node.suspend()
            try:
                time.sleep(seconds)
            finally:
                node.resume(since)

        return Fault(f"{name}: {seat} for {seconds:.0f} s", frozenset({seat}), happen)

    def _suspend_everybody(self) -> Fault:
        seconds = self._chance.uniform(*EVERYBODY_S)

        def happen() -> None:
            begun_at, nodes = boot_ms(), [self._fleet.at(seat) for seat in self._fleet.names]
            since = [node.suspend() for node in nodes]
            try:
                time.sleep(seconds)
            finally:
                for node, instant in zip(nodes, since, strict=True):
                    node.resume(instant)
            # Whoever found no store at its start ends and is replaced, also meanwhile; the new one watches.
            has_newcomer = any(node.life.started_at >= begun_at for node in list(self._fleet.all))
            self.blind.append(Stretch(begun_at, boot_ms(), is_partial=has_newcomer))

        return Fault(f"everybody suspended: {seconds:.0f} s", frozenset(self._fleet.names), happen)

    def _burn(self) -> Fault:
        count, seconds = self._chance.randint(2, 4), self._chance.uniform(4, 12)
        return Fault("machine busy", frozenset({"machine"}), lambda: burn(count, seconds))

    def _pause(self) -> Fault:
        queue, seconds = self._chance.choice(sorted(self._queues)), self._chance.uniform(1, 6)

        def happen() -> None:
            since = boot_ms()
            self._insist(lambda: self._store.pause_queue(queue))
            time.sleep(seconds)
            self._insist(lambda: self._store.resume_queue(queue))
            self.paused[self._queues[queue]].append(Stretch(since, boot_ms()))

        return Fault(_PAUSED, frozenset({_PAUSED}), happen)

    def _disturb(self, fault: StoreFault) -> Fault:
        seconds = self._chance.uniform(fault.shortest_s, fault.longest_s)

        def happen() -> None:
            if not fault.is_outage:
                fault.happen(seconds)
                return
            since = boot_ms()
            try:
                fault.happen(seconds)
            finally:
                self.blind.append(Stretch(since, boot_ms(), fault.is_partial, fault.can_look))

        return Fault(f"{fault.name}: {seconds:.0f} s", frozenset({"store"}), happen)

    # -- how ------------------------------------------------------------------------------------------------------

    def _insist(self, act: Callable[[], None]) -> None:
        """Until the store takes it: it may be away because of another fault."""
        while True:
            try:
                act()
                return
            except StoreError:
                time.sleep(0.5)


def burn(count: int, seconds: float) -> None:
    """Keep so many processes busy for so long."""
    burners = [multiprocessing.get_context("spawn").Process(target=_burn, args=(seconds,)) for _ in range(count)]
    for burner in burners:
        burner.start()
    for burner in burners:
        burner.join()


def _burn(seconds: float) -> None:
    end = time.monotonic() + seconds
    with suppress(KeyboardInterrupt):
        while time.monotonic() < end:
            pass
