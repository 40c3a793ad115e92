"""The ledger of the soak: lines of all runs in the order in which the kernel appended them, read as runs."""

import time
from pathlib import Path

from msgspec import Struct


def boot_ms() -> int:
    """Milliseconds since the machine's start, the same for all processes and in shell scripts (/proc/uptime)."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


class Line(Struct, frozen=True):
    """One line: a run of a job tells something."""

    event: str
    """start, goes_on, fail or end."""
    run: str
    """Known by a name of its own: a job may run several times, also in one attempt."""
    job: str
    attempt: int
    node: str
    """The name that the soak gave to the node's process."""
    at: int
    """By `boot_ms`."""
    lock: str = "-"
    """What must keep other runs away: a lock, a unique key, a schedule. `-` for nothing."""

    @property
    def text(self) -> str:
        return f"{self.event} {self.run} {self.job} {self.attempt} {self.node} {self.at} {self.lock}\n"


class Run(Struct):
    """One run of one job, as its lines tell it."""

    name: str
    job: str
    attempt: int
    node: str
    lock: str
    started_at: int
    first_place: int
    """The place of its first line in the ledger. Places tell which came first; times are rounded."""
    last_place: int
    last_at: int
    has_failed: bool = False
    has_ended: bool = False


def read_lines(path: Path) -> list[Line]:
    """All whole lines. A line without its end is one that a dying process could not finish."""
    whole, _, _ = path.read_text().rpartition("\n")
    return [_line(text) for text in whole.splitlines()]


def _line(text: str) -> Line:
    event, run, job, attempt, node, at, lock = text.split()
    return Line(event, run, job, int(attempt), node, int(at), lock)


def runs_of(lines: list[Line]) -> list[Run]:
    """The runs, by their first line."""
    runs: dict[str, Run] = {}
    for place, line in enumerate(lines):
        key = f"{line.node}/{line.run}"
        run = runs.get(key)
        if run is None:
            run = runs[key] = Run(
                line.run, line.job, line.attempt, line.node, line.lock, line.at, place, place, line.at
            )
        run.last_place, run.last_at = place, line.at
        run.has_failed |= line.event == "fail"
        run.has_ended |= line.event == "end"
    return list(runs.values())
