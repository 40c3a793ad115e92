"""Holds up the processes of a run of tests, by chance, as a busy machine does, at a fraction of what that costs.

`make test ARGS="--hold-up 7"` starts this beside the tests. Each process below pytest's own (its workers, servers,
nodes, browsers), or one of its threads alone, may be stopped at any instant, and goes on after a moment, of up to four
seconds. What fails then hangs on the machine's speed. What a test itself has stopped before is left alone. Linux only:
it looks at `/proc`.
"""

import os
import random
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.held_threads import HeldThread, why_none_can_be_held

AT_ONCE = 6
MEAN_S, MOST_S = 1.0, 4.0
"""A test's dead time is 12 seconds: whoever is away for less is alive."""
_LOOK_S = 0.02
_AGAIN_AFTER_S = 0.15
_CHANCE = 0.6
_THREAD_CHANCE = 0.5
_SELDOM = "redis-server"
"""There are many of them, and most do nothing."""
_STOPPED_OR_ENDED = "TtZX"


class Process(NamedTuple):
    """One line of the table of processes."""

    pid: int
    parent: int
    name: str
    state: str


def main() -> None:
    """Hold up what is below a process, by a seed, until that process ends or this one is told to."""
    root, seed = int(sys.argv[1]), int(sys.argv[2])
    if reason := why_none_can_be_held():
        sys.exit(f"nothing can be held up: {reason}")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit())
    with suppress(SystemExit):
        HoldingUp(root, random.Random(seed)).run()


class Held:
    """Threads of one process, or all: what a test stops by a signal meanwhile stays so when they are let go."""

    def __init__(self, threads: Iterable[int]) -> None:
        self._threads: list[HeldThread] = []
        for one in threads:
            with suppress(OSError):  # it has ended, or is held by others
                self._threads.append(HeldThread(one))

    def look(self) -> None:
        for one in self._threads:
            one.look()

    def let_go(self) -> bool:
        """Whether all of them could be let go, or have ended."""
        self._threads = [one for one in self._threads if not one.let_go()]
        return not self._threads


class HoldingUp:
    """Of all processes below one, but this."""

    def __init__(self, root: int, chance: random.Random) -> None:
        self._root, self._chance = root, chance
        self._held: dict[int, tuple[float, Held]] = {}
        """Who is held, by process, until when."""

    def run(self) -> None:
        """Until the first of them has ended."""
        found: list[Process] = []
        looked_at = 0.0
        try:
            while Path(f"/proc/{self._root}").exists():
                now = time.monotonic()
                self._let_go(now)
                if now - looked_at > _AGAIN_AFTER_S:
                    found, looked_at = self._candidates(), now
                self._hold_some(found, now)
                time.sleep(_LOOK_S)
        finally:
            self._let_go(float("inf"))

    def _candidates(self) -> list[Process]:
        """Those that may be held; whoever is to be held seldom is here once, others are four times."""
        processes = {one.pid: one for one in _processes()}
        below = [one for one in processes.values() if self._is_below(one, processes) and one.pid != os.getpid()]
        return [one for one in below for _ in range(1 if one.name == _SELDOM else 4)]

    def _is_below(self, process: Process, processes: dict[int, Process]) -> bool:
        above: Process | None = processes.get(process.parent)
        while above is not None and above.pid != self._root:
            above = processes.get(above.parent)
        return above is not None

    def _hold_some(self, found: list[Process], now: float) -> None:
        while found and len(self._held) < AT_ONCE and self._chance.random() < _CHANCE:
            one = self._chance.choice(found)
            found[:] = [other for other in found if other.pid != one.pid]
            latest = _process(one.pid)
            if one.pid in self._held or latest is None or latest.state in _STOPPED_OR_ENDED:
                continue
            self._held[one.pid] = now + min(MOST_S, self._chance.expovariate(1 / MEAN_S)), self._hold(one.pid)

    def _hold(self, pid: int) -> Held:
        """A process; as often, of one that has several, a thread."""
        threads = _threads(pid)
        if len(threads) > 1 and self._chance.random() < _THREAD_CHANCE:
            threads = [self._chance.choice(threads)]
        return Held(threads)

    def _let_go(self, now: float) -> None:
        for pid, (until, held) in list(self._held.items()):
            held.look()
            if now >= until and held.let_go():
                del self._held[pid]


def _processes() -> Iterator[Process]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (found := _process(int(entry.name))) is not None:
            yield found


def _threads(pid: int) -> list[int]:
    """Empty if it has ended."""
    with suppress(OSError):
        return [int(one.name) for one in Path(f"/proc/{pid}/task").iterdir()]
    return []


def _process(pid: int) -> Process | None:
    """None if it has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    name, _, rest = text.partition("(")[2].rpartition(") ")
    state, parent = rest.split(maxsplit=2)[:2]
    return Process(pid, int(parent), name, state)


if __name__ == "__main__":
    main()
