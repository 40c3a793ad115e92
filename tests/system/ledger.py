"""The ledger: what really happened, written by the jobs themselves to a file that Rota knows nothing of."""

import os
from collections import Counter
from pathlib import Path

from msgspec import Struct


class Line(Struct, frozen=True):
    event: str
    job_id: str
    attempt: int
    pid: int


def write_line(path: str, event: str, job_id: str, attempt: int) -> None:
    append_lines(path, f"{event} {job_id} {attempt} {os.getpid()}\n")


def append_lines(path: str | Path, lines: str, *, is_synced: bool = False) -> None:
    """Lines in one write, which the kernel appends whole, however many processes write."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(file, lines.encode())
        if is_synced:
            os.fsync(file)
    finally:
        os.close(file)


class Ledger:
    """Reads what was written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.path.touch()

    def lines(self) -> list[Line]:
        """Without one of which the kernel shows only a part yet."""
        whole, _, _ = self.path.read_text().rpartition("\n")
        return [_line(text) for text in whole.splitlines()]

    def count(self, event: str) -> int:
        return sum(line.event == event for line in self.lines())

    def starts(self) -> Counter[str]:
        """How often each job was started."""
        return Counter(line.job_id for line in self.lines() if line.event == "start")

    def ends(self) -> Counter[str]:
        """How often each job came to its end."""
        return Counter(line.job_id for line in self.lines() if line.event == "end")


def _line(text: str) -> Line:
    event, job_id, attempt, pid = text.split()
    return Line(event, job_id, int(attempt), int(pid))
