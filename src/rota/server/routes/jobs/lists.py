"""Synchrony's lists of one queue's jobs, and its view of a finished one."""

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta, Struct, structs

from rota.engine.access.keys.access import Scope
from rota.errors import NotFound
from rota.model.ids import is_id
from rota.model.job import FINAL_STATES, JobState
from rota.server.api import Api
from rota.server.operations import Call, Routes
from rota.server.routes.pages import JobList, job_page
from rota.shapes import fields
from rota.shapes.jobs import JobShape
from rota.store.contract.jobs import JobQuery

routes = Routes("jobs")
_WAITING = frozenset({JobState.DELAYED, JobState.QUEUED})
_RUNNING = frozenset({JobState.RUNNING})


class PageQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Lists are cut into pages, because a history has no end."""

    limit: Annotated[int, Meta(ge=1, le=10_000)] = 1000
    cursor: fields.Cursor | None = None


@routes.get("/api/jobs/{node_type}/queued", needs=Scope.JOBS_READ, query=PageQuery, answer=JobList, errors=(404,))
def list_queued(api: Api, call: Call[None, PageQuery]) -> JobList:
    """Jobs of a node type that wait, for a node or for their time."""
    return _list(api, call, _WAITING)


@routes.get("/api/jobs/{node_type}/in_progress", needs=Scope.JOBS_READ, query=PageQuery, answer=JobList, errors=(404,))
def list_in_progress(api: Api, call: Call[None, PageQuery]) -> JobList:
    """Jobs of a node type that are executing."""
    return _list(api, call, _RUNNING)


@routes.get("/api/jobs/{node_type}/finished", needs=Scope.JOBS_READ, query=PageQuery, answer=JobList, errors=(404,))
def list_finished(api: Api, call: Call[None, PageQuery]) -> JobList:
    """Jobs of a node type that ended, the latest first.

    `results` and `errors` only say whether there are any.
    """
    return _list(api, call, FINAL_STATES, shown=_without_results)


@routes.get("/api/jobs/{node_type}/{uuid}", needs=Scope.JOBS_READ, answer=JobShape, errors=(404,))
def show_finished(api: Api, call: Call[None, None]) -> JobShape:
    """A finished job of a node type, with its results and errors."""
    job = api.engine.jobs.find(call.path["uuid"])
    if job.spec.queue != _queue(api, call.path["node_type"]) or not job.state.is_final:
        raise NotFound("finished job of this node type", job.id, f"GET /api/jobs/{job.id} shows any job")
    return api.describe([job])[0]


def _queue(api: Api, name: str) -> str:
    """A queue by its uuid, which outlives its node type in history, or by its name."""
    return name if is_id(name) else api.engine.definitions.current_node_type(name).uuid


def _list(
    api: Api,
    call: Call[None, PageQuery],
    states: frozenset[JobState],
    shown: Callable[[JobShape], JobShape] = lambda job: job,
) -> JobList:
    queue = api.engine.definitions.current_node_type(call.path["node_type"]).uuid
    query = JobQuery(queue=queue, states=states)
    return job_page(api, query, limit=call.query.limit, cursor=call.query.cursor or None, shown=shown)


def _without_results(job: JobShape) -> JobShape:
    return structs.replace(job, results=job.results is not None, errors=job.errors is not None)
