"""What somebody sees who asks for `/health` again and again, and looks at the store for a node's beats."""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from msgspec import Struct

from rota.store import Store
from tests.server.gate.raw_http import Server, asked

_HELD_UP = Path("/proc/thread-self/schedstat")
FEW = 10
"""So many questions may be cut before the first is answered: with fewer nothing is said of a rule."""


class Seen(Struct):
    """One watch. Times are in milliseconds."""

    answers: list[float] = []
    """How long each answer took."""
    cut: int = 0
    """Questions whose connection ended without an answer."""
    spent: list[float] = []
    """CPU time of the server between each question and its answer: what it did meanwhile, and for whom; but for what it
    did while the watcher itself had to wait for a core. Unlike the time that passed, it does not depend on what else
    the machine does."""
    beats: list[int] = []
    """When the node said that it lives, by its own clock."""
    longest_silence: int = 0
    """How old its last beat ever was, whenever somebody looked."""
    memory: int = 0
    """The most bytes that the process had."""

    def __str__(self) -> str:
        return (
            f"{len(self.answers)} answers, {self.cut} cut, "
            f"median {median(self.answers):.1f} ms, longest {max(self.answers):.1f} ms; "
            f"CPU meanwhile median {median(self.spent):.1f} ms, most {max(self.spent):.1f} ms; "
            f"{len(self.beats)} beats, longest silence {self.longest_silence} ms; {self.memory // 2**20} MiB"
        )


class Watcher:
    """Watches the only node of a store."""

    def __init__(self, up: Server, pid: int, store: Store) -> None:
        self._up = up
        self._pid = pid
        self._store = store

    def watch(self, is_enough: Callable[[Seen], bool]) -> Seen:
        seen = Seen()
        while not is_enough(seen):
            self._ask(seen)
            self._look(seen)
        return seen

    def _ask(self, seen: Seen) -> None:
        begun, spent, held_up = time.perf_counter(), self._spent(), held_up_s()
        try:
            answer = asked(self._up, "GET", "/health", self._up.bearer)
        except ConnectionError:
            # A watcher that the machine holds up between its connection and its question has been idle for longest by
            # then, and makes room as any such client does. It asks again; that must not be the rule.
            seen.cut += 1
            assert seen.cut <= max(FEW, len(seen.answers)), repr(seen)
            return
        # A store that is slow to answer, on a slow machine, is no fault; whether it beats is judged at the end.
        assert answer == (200, "ok") or "store unavailable" in answer[1], (answer, seen)
        seen.answers.append((time.perf_counter() - begun) * 1000)
        seen.spent.append(max(self._spent() - spent - (held_up_s() - held_up), 0.0) * 1000)

    def _look(self, seen: Seen) -> None:
        now = self._store.now()
        (node,) = self._store.list_nodes(since=0)
        if node.last_ping not in seen.beats[-1:]:
            seen.beats.append(node.last_ping)
        seen.longest_silence = max(seen.longest_silence, now - node.last_ping)
        seen.memory = max(seen.memory, memory_of(self._pid))

    def _spent(self) -> float:
        """CPU seconds of the process, by the clock that the kernel has for each."""
        return time.clock_gettime(~self._pid << 3 | 2)


def held_up_s() -> float:
    """For how many seconds this thread was ready to run and had no core, as far as the kernel tells."""
    try:
        return int(_HELD_UP.read_text().split()[1]) / 1_000_000_000
    except OSError:
        return 0.0


def memory_of(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))
