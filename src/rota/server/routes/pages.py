"""Pages of things, bounded in bytes as well as in number: a client that asks for many big ones, and does not read them,
costs no more than one that asks for few. A page that was cut has a cursor, like every other."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar, cast

import msgspec

from rota.server.api import Api
from rota.shapes.jobs import JobShape
from rota.store.contract.jobs import JobQuery

MAX_PAGE_BYTES = 8 * 1024 * 1024
_FIRST_STEP = 32
_STEP = 128
"""Things that are read of the store at a time: each may have a megabyte."""
_encode = msgspec.json.Encoder().encode
_AsShown = Callable[[JobShape], JobShape]
Shape = TypeVar("Shape")
Read = Callable[[int, str | None], tuple[Sequence[Shape], str | None]]
"""From how many, and a cursor, to so many as they are shown, and the cursor behind them."""


class JobList(msgspec.Struct, frozen=True):
    """A page of jobs. It may be short, or empty, and still have a cursor."""

    jobs: list[JobShape]
    cursor: str | None


def job_page(
    api: Api, query: JobQuery, *, limit: int, cursor: str | None, shown: _AsShown = lambda job: job
) -> JobList:
    """A page of jobs."""

    def read(step: int, cursor: str | None) -> tuple[list[JobShape], str | None]:
        page = api.engine.store.list_jobs(query, limit=step, cursor=cursor)
        return [shown(job) for job in api.describe(page.jobs)], page.cursor

    return JobList(*read_page(read, limit=limit, cursor=cursor))


def read_page(read: Read[Shape], *, limit: int, cursor: str | None) -> tuple[list[Shape], str | None]:
    """At most `limit` things, and few more bytes than `MAX_PAGE_BYTES`; and the cursor behind them."""
    encoded: list[msgspec.Raw] = []
    size = 0
    while True:
        step = min(_STEP if encoded else _FIRST_STEP, limit - len(encoded))
        shapes, cursor = read(step, cursor)
        found = [_encode(one) for one in shapes]
        encoded += map(msgspec.Raw, found)
        size += sum(map(len, found))
        # A short page says that the store has looked at enough for one call.
        if cursor is None or size >= MAX_PAGE_BYTES or len(found) < step or len(encoded) >= limit:
            return cast(list[Shape], encoded), cursor


def cut(shapes: Iterable[Shape]) -> list[Shape]:
    """As many of these as a page has, at least one."""
    size = 0
    encoded: list[msgspec.Raw] = []
    for one in shapes:
        encoded.append(msgspec.Raw(_encode(one)))
        size += len(encoded[-1])
        if size >= MAX_PAGE_BYTES:
            break
    return cast(list[Shape], encoded)
