"""Cancelling, retrying and deleting many jobs at once, by what they have in common."""

from typing import Annotated

from msgspec import Meta, Struct

from rota.engine.access.keys.access import Scope
from rota.engine.jobs.changes import MOST_CHANGED, Changed
from rota.errors import InvalidInput
from rota.server.api import Api
from rota.server.operations import Call, Routes
from rota.server.routes.jobs.filters import JobFilter, job_query
from rota.store.contract.jobs import JobQuery

routes = Routes("jobs")
_NOTHING = JobQuery()


class BulkChange(JobFilter, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which jobs to change: at least one condition, or `all`. A dry run changes nothing and counts."""

    all: bool = False
    dry_run: bool = False
    limit: Annotated[int, Meta(ge=1, le=MOST_CHANGED)] = MOST_CHANGED
    """Change no more than so many: whoever was told a number by a dry run never changes more."""


class BulkChanged(Struct, frozen=True, kw_only=True):
    """How many jobs met the conditions, and how many were changed. With `more`, there are further ones: call again."""

    status: str = "ok"
    matched: int
    changed: int
    more: bool
    dry_run: bool


@routes.post("/api/jobs/cancel", needs=Scope.JOBS_WRITE, body=BulkChange, answer=BulkChanged, errors=(404,))
def cancel_jobs(api: Api, call: Call[BulkChange, None]) -> BulkChanged:
    """Cancel jobs that are not over, up to 10,000 in one call."""
    query, dry_run = _meant(api, call.body), call.body.dry_run
    return _shown(api.engine.jobs.cancel_all(query, dry_run=dry_run, limit=call.body.limit), dry_run)


@routes.post("/api/jobs/retry", needs=Scope.JOBS_WRITE, body=BulkChange, answer=BulkChanged, errors=(404,))
def retry_jobs(api: Api, call: Call[BulkChange, None]) -> BulkChanged:
    """Bring failed and cancelled jobs back, up to 10,000 in one call."""
    query, dry_run = _meant(api, call.body), call.body.dry_run
    return _shown(api.engine.jobs.retry_all(query, dry_run=dry_run, limit=call.body.limit), dry_run)


@routes.post("/api/jobs/delete", needs=Scope.JOBS_WRITE, body=BulkChange, answer=BulkChanged, errors=(404,))
def delete_jobs(api: Api, call: Call[BulkChange, None]) -> BulkChanged:
    """Forget ended jobs with their logs, up to 10,000 in one call."""
    query, dry_run = _meant(api, call.body), call.body.dry_run
    return _shown(api.engine.jobs.delete_all(query, dry_run=dry_run, limit=call.body.limit), dry_run)


def _meant(api: Api, body: BulkChange) -> JobQuery:
    query = job_query(api, body)
    if query == _NOTHING and not body.all:
        raise InvalidInput("body", "names no condition; give one, or say all: true")
    return query


def _shown(changed: Changed, dry_run: bool) -> BulkChanged:
    return BulkChanged(matched=changed.matched, changed=changed.changed, more=not changed.is_complete, dry_run=dry_run)
