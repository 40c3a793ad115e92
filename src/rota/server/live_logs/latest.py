"""The latest lines of a log, as many as there is room for."""

from collections import deque
from collections.abc import Iterable

from msgspec import Struct

from rota.model.runs.log import LogEntry
from rota.store.contract.logs import LogPage

MOST_LINES = 2_000
MOST_LETTERS = 2 * 1024 * 1024
"""Of one feed."""
LETTERS_TOGETHER = 32 * 1024 * 1024
"""Of all feeds of a server: with many feeds each keeps less. A letter takes one to four bytes."""
_LETTERS_PER_LINE = 256
"""What a line takes beside its message."""


class Line(Struct, frozen=True):
    """One line, and the position behind it, from which a reader goes on."""

    next: int
    entry: LogEntry

    @property
    def size(self) -> int:
        return len(self.entry.message) + _LETTERS_PER_LINE


class Latest:
    """Lines in their order; the last one is kept in any case."""

    def __init__(self) -> None:
        self.lines: deque[Line] = deque()
        self.size = 0

    def add(self, lines: Iterable[Line], most_letters: int) -> None:
        """Lines behind those that are here. Where some between were passed over, those before are forgotten: there is
        no gap."""
        for line in lines:
            if self.lines and line.next != self.lines[-1].next + 1:
                self.lines.clear()
                self.size = 0
            self.lines.append(line)
            self.size += line.size
            self.shrink(most_letters)

    def shrink(self, most_letters: int) -> None:
        while len(self.lines) > MOST_LINES or (self.size > most_letters and len(self.lines) > 1):
            self.size -= self.lines.popleft().size


def letters_per_feed(feeds: int) -> int:
    return min(MOST_LETTERS, LETTERS_TOGETHER // max(feeds, 1))


def lines_of(page: LogPage) -> list[Line]:
    first = page.next - len(page.entries)
    return [Line(first + number + 1, entry) for number, entry in enumerate(page.entries)]
