"""The HTTP API of tasks: with and without a slash at the end, and also under `/api/v1`; never a redirect."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct, structs
from msgspec.json import encode
from starlette.responses import Response, StreamingResponse

from rota.dialects.sync_tasks.admin_token import task_manner
from rota.dialects.sync_tasks.names import Collection
from rota.dialects.sync_tasks.redis.opening import Shown, open_shown
from rota.dialects.sync_tasks.sources import CollectionShape, SourcePage, Sources
from rota.dialects.sync_tasks.task import Task, task_id, task_of
from rota.dialects.sync_tasks.task_log import LogLine, Period, read_log
from rota.dialects.sync_tasks.tasks import TaskQuery, Tasks
from rota.dialects.sync_tasks.times import read_micros
from rota.engine.access.keys.access import Caller, Scope
from rota.errors import InvalidInput
from rota.model.job import Job
from rota.model.limits import check_range
from rota.server.answers import Done, Json
from rota.server.api import Api
from rota.server.operations import JSON, Call, Operation, Routes
from rota.settings import Settings
from rota.shapes import fields
from rota.store import Store

MAX_LIMIT = 1_000_000
_SECOND = 1_000_000


class TaskListQuery(Struct, frozen=True):
    """Which tasks. `source`, `start` and `end` are needed."""

    source: str | None = None
    start: str | None = None
    """Created in this second or later, as ISO timestamp."""
    end: str | None = None
    """Created in this second or before, as ISO timestamp."""
    status: str | None = None
    collection: str | None = None
    limit: str | None = None
    """The latest so many; 0 for all."""
    token: str | None = None


class CollectionQuery(Struct, frozen=True):
    """Which collection. Both are needed."""

    source: str | None = None
    collection: str | None = None
    token: str | None = None


class PeriodQuery(Struct, frozen=True):
    """Said from the one to the other, both included, as ISO timestamps."""

    start: str | None = None
    end: str | None = None
    token: str | None = None


class SourceQuery(Struct, frozen=True):
    """Which page of collections, and how much of each."""

    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100
    last: Annotated[int, Meta(ge=1, le=100)] = 1
    """So many of the latest tasks."""
    cursor: fields.Cursor | None = None
    token: str | None = None


class LastQuery(Struct, frozen=True):
    """How much of a collection."""

    last: Annotated[int, Meta(ge=1, le=100)] = 20
    """So many of the latest tasks."""
    token: str | None = None


class TokenQuery(Struct, frozen=True):
    """The admin token, if it is not in a header."""

    token: str | None = None


class TaskList(Struct, frozen=True):
    tasks: list[Task]


class TaskLog(Struct, frozen=True):
    logs: list[LogLine]


class TaskCreated(Struct, frozen=True):
    task_id: str


def make_operations(settings: Settings, store: Store) -> list[Operation]:
    """All of them, in every spelling."""
    routes = Routes("sync tasks", manner=task_manner(settings.admin_token))
    _declare_tasks(routes, open_shown(settings, store))
    _declare_sources(routes)
    return [
        structs.replace(one, path=f"{prefix}{one.path}{slash}", is_alias=bool(prefix or slash))
        for one in routes.operations
        for prefix in ("", "/api/v1")
        for slash in ("", "/")
    ]


def _declare_tasks(routes: Routes, shown: Shown) -> None:
    @routes.get("/tasks", needs=Scope.JOBS_READ, query=TaskListQuery, answer=TaskList)
    async def list_tasks(api: Api, call: Call[None, TaskListQuery]) -> Response:
        """Tasks of a source, oldest first."""
        pages = await api.in_thread(Tasks(api.engine).pages, _task_query(call.query))
        return await _streamed(api, "tasks", (_tasks_of(shown, page) for page in pages))

    @routes.post("/tasks", needs=Scope.JOBS_WRITE, query=CollectionQuery, answer=TaskCreated, may_make=True)
    def create_task(api: Api, call: Call[None, CollectionQuery]) -> Response:
        """Synchronise a collection now.

        201 with the id of the new task; 200 with the id of the one that waits or runs already.
        """
        query = call.query
        source, collection = _needed("source", query.source), _needed("collection", query.collection)
        job, is_new = Tasks(api.engine).create(source, collection, by=call.caller)
        job = shown.show([job])[0]
        return Json(TaskCreated(task_id(job)), status_code=201 if is_new else 200)

    @routes.get("/tasks/{task_id}", needs=Scope.JOBS_READ, query=TokenQuery, answer=Task, errors=(404,))
    def show_task(api: Api, call: Call[None, TokenQuery]) -> Task:
        """One task."""
        job = Tasks(api.engine).find(call.path["task_id"])
        return task_of(shown.show([job])[0])

    @routes.get("/tasks/{task_id}/logs", needs=Scope.JOBS_READ, query=PeriodQuery, answer=TaskLog, errors=(404,))
    async def read_task_log(api: Api, call: Call[None, PeriodQuery]) -> Response:
        """What a task has written so far, or within a period."""
        pages = await api.in_thread(_open_log, api, shown, call.path["task_id"], _period(call.query))
        return await _streamed(api, "logs", pages)

    @routes.post("/tasks/{task_id}/cancel", needs=Scope.JOBS_WRITE, query=TokenQuery, answer=Done, errors=(404, 409))
    def cancel_task(api: Api, call: Call[None, TokenQuery]) -> Done:
        """Cancel a task that waits or runs."""
        tasks = Tasks(api.engine)
        tasks.cancel(call.path["task_id"])
        shown.show([tasks.find(call.path["task_id"])])
        return Done()


def _declare_sources(routes: Routes) -> None:
    @routes.get("/sources", needs=Scope.JOBS_READ, query=SourceQuery, answer=SourcePage)
    def list_sources(api: Api, call: Call[None, SourceQuery]) -> SourcePage:
        """Collections by source and name, each with its schedule and its latest tasks."""
        query = call.query
        return _sources(api, call.caller).page(limit=query.limit, cursor=query.cursor, last=query.last)

    @routes.get(
        "/sources/{source}/{collection}", needs=Scope.JOBS_READ, query=LastQuery, answer=CollectionShape, errors=(404,)
    )
    def show_collection(api: Api, call: Call[None, LastQuery]) -> CollectionShape:
        """One collection with its schedule and its latest tasks."""
        collection = Collection(call.path["source"], call.path["collection"])
        return _sources(api, call.caller).find(collection, call.query.last)


def _sources(api: Api, caller: Caller) -> Sources:
    return Sources(api.engine, with_schedules=caller.may(Scope.SCHEDULES_READ))


def _open_log(api: Api, shown: Shown, task_id: str, period: Period) -> Iterator[list[LogLine]]:
    """The pages of a log, up to the last line that is there now; whoever else looks sees as much."""
    store = api.engine.store
    job = shown.show([Tasks(api.engine).find(task_id)])[0]
    until = store.count_logs(job.id)
    shown.show_log(job, task_id, until)
    return read_log(store, job, until, period)


def _tasks_of(shown: Shown, jobs: Sequence[Job]) -> list[Task]:
    live = iter(shown.show([job for job in jobs if not job.state.is_final]))
    return [task_of(job if job.state.is_final else next(live)) for job in jobs]


async def _streamed(api: Api, name: str, pages: Iterator[Sequence[Struct]]) -> Response:
    """An object with one list, which may be long: no more than a page of it is in memory, and only as bytes while its
    client reads."""
    # Read before the answer begins: what is wrong with the store is still told by its status.
    first = await api.in_thread(_next_part, pages)
    return StreamingResponse(_body_of(api, name, first, pages), media_type=JSON)


async def _body_of(api: Api, name: str, part: bytes | None, pages: Iterator[Sequence[Struct]]) -> AsyncIterator[bytes]:
    before = b'{"%s":[' % name.encode()
    while part is not None:
        yield before + part
        before = b","
        part = await api.in_thread(_next_part, pages)
    yield b"]}" if before == b"," else before + b"]}"


def _next_part(pages: Iterator[Sequence[Struct]]) -> bytes | None:
    page = next(pages, None)
    return None if page is None else encode(page)[1:-1]


def _task_query(query: TaskListQuery) -> TaskQuery:
    return TaskQuery(
        source=_needed("source", query.source),
        since=read_micros("start", _needed("start", query.start)) // _SECOND,
        until=read_micros("end", _needed("end", query.end)) // _SECOND,
        status=query.status.strip().upper() if query.status else None,
        collection=query.collection or None,
        limit=_limit(query.limit),
    )


def _limit(text: str | None) -> int:
    if not text:
        return 0
    if not text.isascii() or not text.isdigit():
        raise InvalidInput("limit", f"must be a whole number, got {text!r:.100}")
    return check_range("limit", int(text[:12]), 0, MAX_LIMIT)


def _period(query: PeriodQuery) -> Period:
    period = Period()
    if query.start:
        period = structs.replace(period, first=read_micros("start", query.start))
    return structs.replace(period, last=read_micros("end", query.end)) if query.end else period


def _needed(name: str, value: Any) -> str:
    if not value:
        raise InvalidInput(name, "is required")
    return str(value)
