"""Listing jobs page by page, the same for every store.

A listing walks through sections: delayed, buffered (queued, but claimed ahead by a node), queued, blocked (queued, but
waiting for a lock), running, ended. A store reads one section of one queue, in order, from behind a place; here the
queues are merged, filtered and cut into pages.
"""

import base64
import heapq
from collections.abc import Iterable, Iterator
from typing import Protocol

import msgspec
from msgspec import Struct

from rota.errors import InvalidInput
from rota.model.job import FINAL_STATES, Job, JobState
from rota.store.contract.jobs import JobPage, JobQuery

Place = tuple[float, str]
"""A position within a section: a number (due time, rank, time of its begin or end) and the job's id."""

_BEFORE_ALL: Place = (-(1 << 62), "")
_AFTER_ALL: Place = (1 << 62, "~")
_MAX_READ = 10
"""A page reads at most this many times its limit, so that a narrow filter cannot make one call endless."""


class Section(Struct, frozen=True):
    """A stretch of one queue that a store can read in order."""

    name: str
    states: frozenset[JobState]
    latest_first: bool = False


SECTIONS = (
    Section("delayed", frozenset({JobState.DELAYED})),
    Section("buffered", frozenset({JobState.QUEUED})),
    Section("queued", frozenset({JobState.QUEUED})),
    Section("blocked", frozenset({JobState.QUEUED})),
    Section("running", frozenset({JobState.RUNNING})),
    Section("ended", FINAL_STATES, latest_first=True),
)


class SectionReader(Protocol):
    """What a store must offer to be listed."""

    def list_queues(self) -> list[str]: ...

    def read_section(
        self, section: str, queue: str, states: Iterable[JobState], *, after: Place, limit: int
    ) -> list[tuple[Place, Job]]:
        """Up to `limit` jobs behind `after`, in the section's order."""
        ...


class _Cursor(Struct, frozen=True, array_like=True):
    section: int
    place: Place


def list_jobs(reader: SectionReader, query: JobQuery, limit: int, cursor: str | None) -> JobPage:
    """One page."""
    position = _decode_cursor(cursor) if cursor else _Cursor(0, _start_of(SECTIONS[0]))
    queues = [query.queue] if query.queue else reader.list_queues()
    jobs: list[Job] = []
    reads_left = limit * _MAX_READ
    for index in range(position.section, len(SECTIONS)):
        section = SECTIONS[index]
        states = section.states & query.states if query.states else section.states
        if not states:
            continue
        place = position.place if index == position.section else _start_of(section)
        for place, job in _merged(reader, section, queues, states, after=place, batch=limit):  # noqa: B020
            reads_left -= 1
            if matches(job, query):
                jobs.append(job)
            if len(jobs) == limit or reads_left <= 0:
                return JobPage(jobs, _encode_cursor(_Cursor(index, place)))
    return JobPage(jobs)


def cursor_before(instant: int) -> str:
    """A cursor behind which a listing has the jobs that ended before an instant, latest first."""
    return _encode_cursor(_Cursor(len(SECTIONS) - 1, (instant, "")))


def matches(job: Job, query: JobQuery) -> bool:
    """Whether a job meets every condition of a query."""
    spec = job.spec
    return (
        (not query.states or job.state in query.states)
        and (query.queue is None or spec.queue == query.queue)
        and (query.job_type is None or spec.job_type == query.job_type)
        and (query.node is None or job.node == query.node)
        and (query.since is None or spec.enqueued_at >= query.since)
        and (query.until is None or spec.enqueued_at < query.until)
        and (query.schedule is None or _made_by(job, query.schedule))
        and (query.search is None or query.search.lower() in _searched_text(job))
    )


def _made_by(job: Job, schedule: str) -> bool:
    cause = job.spec.cause
    return cause is not None and cause.kind == "schedule" and cause.name == schedule


def _searched_text(job: Job) -> str:
    spec = job.spec
    parts = (spec.id, spec.unique_key, spec.arguments, job.results, job.errors)
    return msgspec.json.encode(parts).decode().lower()


def _merged(
    reader: SectionReader, section: Section, queues: list[str], states: frozenset[JobState], *, after: Place, batch: int
) -> Iterator[tuple[Place, Job]]:
    streams = [_stream(reader, section, queue, states, after=after, batch=batch) for queue in queues]
    return heapq.merge(*streams, key=lambda item: item[0], reverse=section.latest_first)


def _stream(
    reader: SectionReader, section: Section, queue: str, states: frozenset[JobState], *, after: Place, batch: int
) -> Iterator[tuple[Place, Job]]:
    while True:
        page = reader.read_section(section.name, queue, states, after=after, limit=batch)
        yield from page
        if len(page) < batch:
            return
        after = page[-1][0]


def _start_of(section: Section) -> Place:
    return _AFTER_ALL if section.latest_first else _BEFORE_ALL


def _encode_cursor(cursor: _Cursor) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).decode().rstrip("=")


def _decode_cursor(text: str) -> _Cursor:
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        cursor = msgspec.json.decode(raw, type=_Cursor)
    except (ValueError, msgspec.MsgspecError):
        raise InvalidInput("cursor", "is not one that a listing gave") from None
    if not 0 <= cursor.section < len(SECTIONS):
        raise InvalidInput("cursor", "is not one that a listing gave")
    return cursor
