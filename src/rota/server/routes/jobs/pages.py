"""Pages of jobs, bounded in bytes as well as in number: a client that asks for many big jobs, and does not read them,
costs no more than one that asks for few. A page that was cut has a cursor, like every other."""

from collections.abc import Callable
from typing import cast

import msgspec

from rota.server.api import Api
from rota.shapes.jobs import JobShape
from rota.store.contract.jobs import JobQuery

MAX_PAGE_BYTES = 8 * 1024 * 1024
_FIRST_STEP = 32
_STEP = 128
"""Jobs that are read of the store at a time: each may have more than a megabyte."""
_encode = msgspec.json.Encoder().encode
_AsShown = Callable[[JobShape], JobShape]


class JobList(msgspec.Struct, frozen=True):
    """A page of jobs. It may be short, or empty, and still have a cursor."""

    jobs: list[JobShape]
    cursor: str | None


def job_page(
    api: Api, query: JobQuery, *, limit: int, cursor: str | None, shown: _AsShown = lambda job: job
) -> JobList:
    """At most `limit` jobs, and few more bytes than `MAX_PAGE_BYTES`."""
    encoded: list[msgspec.Raw] = []
    size = 0
    while True:
        step = min(_STEP if encoded else _FIRST_STEP, limit - len(encoded))
        page = api.engine.store.list_jobs(query, limit=step, cursor=cursor)
        found = [_encode(shown(job)) for job in api.describe(page.jobs)]
        encoded += map(msgspec.Raw, found)
        size += sum(map(len, found))
        cursor = page.cursor
        # A short page says that the store has looked at enough for one call.
        if cursor is None or size >= MAX_PAGE_BYTES or len(found) < step or len(encoded) >= limit:
            return JobList(cast(list[JobShape], encoded), cursor)
