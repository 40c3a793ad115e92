"""The log of a task, in the original's words: as a whole, or the lines of a period, a page at a time."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from rota.dialects.sync_tasks.times import iso_micros
from rota.model.job import Job, JobState
from rota.model.runs.log import LogEntry
from rota.model.runs.log_pages import PageSize
from rota.store.contract.store import Store

_PAGE = 1_000
_NEVER = float("inf")


class LogLine(Struct, frozen=True):
    """An entry of a task's log. The time comes first: within a second the keys sort by the text."""

    time: str
    message: str
    level: str


class Period(Struct, frozen=True):
    """From the one to the other, both included, in microseconds."""

    first: float = -_NEVER
    last: float = _NEVER


class LogLines:
    """Makes log entries of the lines of one job, from the first on. Each has a time of its own, so that two equal lines
    are two members of a set: where lines have the same, or a clock was set back, the next is a microsecond later."""

    def __init__(self, last: int = -1) -> None:
        self._last = last

    def copy(self) -> "LogLines":
        """Another one that goes on from here."""
        return LogLines(self._last)

    def read(self, entries: Iterable[LogEntry]) -> Iterator[tuple[int, LogLine]]:
        """With the time in microseconds."""
        for entry in entries:
            yield self._line(_instant(entry), entry.message, "info" if entry.level in ("debug", "info") else "error")

    def last_words(self, job: Job) -> Iterator[tuple[int, LogLine]]:
        """Why a task failed, where it could not say so itself: its node died, its time was over, it never began."""
        if job.state is JobState.FAILED and job.ended_at is not None and job.errors is not None:
            yield self._line(job.ended_at * 1000, _message(job.errors), "error")

    def _line(self, instant: int, message: str, level: str) -> tuple[int, LogLine]:
        self._last = micros = max(instant, self._last + 1)
        return micros, LogLine(iso_micros(micros), message, level)


def read_log(store: Store, job: Job, until: int, period: Period = Period()) -> Iterator[list[LogLine]]:  # noqa: B008
    """The lines of a period, a page at a time, up to the position `until`: whoever still writes is not chased. The
    caller read the job before it counted the lines: then nothing is missing of one that has ended."""
    lines, size = LogLines(), PageSize(_PAGE)
    position = max(min(_position_at(store, job, period.first, until), until - 1), 0)
    while position < until:
        page = store.read_logs(job.id, after=position, limit=min(size.lines, until - position))
        if not page.entries:
            break
        position = page.next
        size.learn([one.message for one in page.entries])
        found = list(lines.read(page.entries))
        if wanted := _within(period, found):
            yield wanted
        if found[-1][0] > period.last:
            return
    if wanted := _within(period, lines.last_words(job)):
        yield wanted


def last_line(store: Store, job: Job) -> LogLine | None:
    """What it said last."""
    lines = LogLines()
    page = store.read_logs(job.id, after=max(store.count_logs(job.id) - 1, 0), limit=1)
    found = [*lines.read(page.entries), *lines.last_words(job)]
    return found[-1][1] if found else None


def _within(period: Period, lines: Iterable[tuple[int, LogLine]]) -> list[LogLine]:
    return [line for micros, line in lines if period.first <= micros <= period.last]


def _position_at(store: Store, job: Job, instant: float, until: int) -> int:
    """From where on lines of this instant or a later one are. Those of one attempt are in the order of their time, so
    few are looked at; of several the clock of a later one may be behind, so all are read."""

    def instant_at(position: int) -> float:
        page = store.read_logs(job.id, after=position, limit=1)
        return _instant(page.entries[0]) if page.entries else _NEVER

    has_several_attempts = job.attempts > 1 or job.deaths > 0 or bool(job.past)
    return 0 if instant < 0 or has_several_attempts else bisect_left(range(until), instant, key=instant_at)


def _instant(entry: LogEntry) -> int:
    return entry.time * 1000 + entry.micros


def _message(errors: object) -> str:
    if isinstance(errors, dict) and isinstance(errors.get("message"), str):
        return str(errors["message"])
    return msgspec.json.encode(errors).decode()
