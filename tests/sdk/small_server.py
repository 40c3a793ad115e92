"""A server on a real socket that speaks the API's documented shapes, on a real store. As much of it as the client's
tests need."""

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from rota.clock import SystemClock
from rota.engine.definitions import Definitions
from rota.engine.executors.registry import ExecutorRegistry
from rota.engine.intake import Intake, JobRequest
from rota.engine.schedule_request import ScheduleRequest
from rota.engine.schedules import Schedules
from rota.errors import Conflict, InvalidInput, NotFound, RotaError, StoreUnavailable
from rota.model.ids import new_id
from rota.model.job import JobState
from rota.model.job_type import JobType, Unique
from rota.model.node import NodeType
from rota.server.shapes import job_shape, job_type_shape, log_shape, node_shape, node_type_shape
from rota.store import Store
from rota.store.schedules import ScheduleEntry
from rota.store.store import CancelAnswer, JobQuery
from tests.servers import wait_until

KEY = "chosen"
_STATUS = {InvalidInput: 400, NotFound: 404, Conflict: 409, StoreUnavailable: 503}
Document = dict[str, Any]


class SmallApi:
    """The routes, each a function of the request's parts."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.clock = SystemClock()
        self.definitions = Definitions(store, ExecutorRegistry())
        self.intake = Intake(store, self.definitions, self.clock)
        self.schedules = Schedules(store, self.definitions, self.intake, self.clock)
        self.cuts = 0
        """How many streams of logs are broken off after their first line."""

    def app(self) -> Starlette:
        routes: list[tuple[str, str, Callable[[Document, Document, Document], Document]]] = [
            ("GET", "/api/job_types", lambda p, q, b: {"job_types": list(map(job_type_shape, self._job_types()))}),
            ("POST", "/api/job_types", self.create_job_type),
            ("GET", "/api/job_types/{uuid}", lambda p, q, b: job_type_shape(self.definitions.job_type(p["uuid"]))),
            ("DELETE", "/api/job_types/{uuid}", self.delete_job_type),
            ("GET", "/api/node_types", lambda p, q, b: {"node_types": list(map(node_type_shape, self._node_types()))}),
            ("POST", "/api/node_types/{uuid}", self.put_node_type),
            ("POST", "/api/node_types/{uuid}/pause", self.pause),
            ("GET", "/api/nodes", lambda p, q, b: {"nodes": [node_shape(one, {}, 0) for one in self._nodes()]}),
            ("GET", "/api/jobs", self.list_jobs),
            ("POST", "/api/jobs", lambda p, q, b: {"status": "ok", **self.enqueue([b])[0]}),
            ("POST", "/api/jobs/bulk", lambda p, q, b: {"status": "ok", "jobs": self.enqueue(b["jobs"])}),
            ("POST", "/api/jobs/cancel", self.cancel_jobs),
            ("GET", "/api/jobs/{uuid}", lambda p, q, b: self.shape(p["uuid"])),
            ("DELETE", "/api/jobs/{uuid}", self.delete_job),
            ("POST", "/api/jobs/{uuid}/cancel", self.cancel_job),
            ("POST", "/api/jobs/{uuid}/retry", self.retry_job),
            ("GET", "/api/jobs/{uuid}/logs", self.read_logs),
            ("GET", "/api/schedules", self.list_schedules),
            ("POST", "/api/schedules", self.create_schedule),
            ("GET", "/api/schedules/{uuid}", lambda p, q, b: _schedule(self.schedules.find(p["uuid"]))),
            ("DELETE", "/api/schedules/{uuid}", self.delete_schedule),
            ("POST", "/api/schedules/{uuid}/pause", self.pause_schedule),
            ("GET", "/api/schedules/{uuid}/ticks", self.list_ticks),
        ]
        stream = Route("/api/jobs/{uuid}/logs/stream", self.stream_logs, methods=["GET"])
        return Starlette(routes=[stream, *(Route(path, _endpoint(run), methods=[verb]) for verb, path, run in routes)])

    def _job_types(self) -> list[JobType]:
        return self.definitions.job_types()

    def _node_types(self) -> list[NodeType]:
        return self.definitions.node_types()

    def _nodes(self) -> list[Any]:
        return self.store.list_nodes(since=0)

    def create_job_type(self, path: Document, query: Document, body: Document) -> Document:
        uuid = new_id(self.clock.now())
        unique = Unique.WHILE_RUNNING if body["unique"] else Unique.NONE
        fields = {key: body[key] for key in ("name", "executor", "metadata", "node_type")}
        self.definitions.define_job_type(JobType(uuid=uuid, unique=unique, timeout_ms=body["timeout"], **fields))
        return {"status": "ok", "uuid": uuid}

    def delete_job_type(self, path: Document, query: Document, body: Document) -> Document:
        self.definitions.delete_job_type(path["uuid"])
        return {"status": "ok", "uuid": path["uuid"]}

    def put_node_type(self, path: Document, query: Document, body: Document) -> Document:
        self.definitions.define_node_type(NodeType(**body))
        return {"status": "ok"}

    def pause(self, path: Document, query: Document, body: Document) -> Document:
        self.store.pause_queue(path["uuid"])
        return {"status": "ok", "uuid": path["uuid"]}

    def enqueue(self, wishes: list[Document]) -> list[Document]:
        requests = [
            JobRequest(
                job_type=wish["job_type_uuid"],
                arguments=wish.get("arguments", {}),
                priority=wish.get("priority", 0),
                delay_ms=wish.get("delay"),
                unique_key=wish.get("unique_key"),
                id=wish.get("uuid"),
            )
            for wish in wishes
        ]
        return [{"uuid": one.job_id, "is_new": one.is_new} for one in self.intake.enqueue(requests)]

    def shape(self, uuid: str) -> Document:
        job = self.store.find_jobs([uuid])[0]
        if job is None:
            raise NotFound("job", uuid)
        return job_shape(job, {}, {})

    def list_jobs(self, path: Document, query: Document, body: Document) -> Document:
        page = self.store.list_jobs(_query(query), limit=int(query["limit"][0]), cursor=query.get("cursor", [None])[0])
        return {"jobs": [job_shape(job, {}, {}) for job in page.jobs], "cursor": page.cursor}

    def cancel_jobs(self, path: Document, query: Document, body: Document) -> Document:
        if not body.get("all") and "state" not in body:
            raise InvalidInput("body", "names no condition; give one, or say all: true")
        ids = [job.id for job in self.store.list_jobs(_query(body), limit=100).jobs]
        done = [] if body["dry_run"] else self.store.cancel_jobs(ids, now=self.clock.now())
        return {"matched": len(ids), "changed": len(done), "more": False, "dry_run": body["dry_run"]}

    def delete_job(self, path: Document, query: Document, body: Document) -> Document:
        if not self.store.delete_jobs([path["uuid"]])[0]:
            state = self.shape(path["uuid"])["state"]
            raise Conflict(f"job {path['uuid']} is {state}; only ended jobs can be deleted")
        return {"status": "ok", "uuid": path["uuid"]}

    def cancel_job(self, path: Document, query: Document, body: Document) -> Document:
        answer = self.store.cancel_jobs([path["uuid"]], now=self.clock.now())[0]
        if answer is CancelAnswer.UNKNOWN:
            raise NotFound("job", path["uuid"])
        return {"status": "ok", "uuid": path["uuid"], "answer": answer.value}

    def retry_job(self, path: Document, query: Document, body: Document) -> Document:
        self.store.retry_jobs([path["uuid"]], now=self.clock.now())
        return {"status": "ok", "uuid": path["uuid"]}

    def read_logs(self, path: Document, query: Document, body: Document) -> Document:
        after, limit = int(query.get("after", [0])[0]), int(query.get("limit", [1000])[0])
        page = self.store.read_logs(path["uuid"], after=after, limit=limit)
        return {"logs": list(map(log_shape, page.entries)), "next": page.next, "more": len(page.entries) == limit}

    async def stream_logs(self, request: Request) -> Response:
        uuid = request.path_params["uuid"]
        if self.store.find_jobs([uuid])[0] is None:
            return _refusal(NotFound("job", uuid))
        after = int(request.query_params.get("after", 0))
        return StreamingResponse(self._events(uuid, after), media_type="text/event-stream")

    async def _events(self, uuid: str, after: int) -> AsyncIterator[bytes]:
        yield b": open\n\n"
        for number, entry in enumerate(self.store.read_logs(uuid, after=after).entries, start=after + 1):
            yield b"id: %d\ndata: %s\n\n" % (number, msgspec.json.encode(log_shape(entry)))
            if self.cuts:
                self.cuts -= 1
                return
        yield b'event: end\ndata: {"state":"succeeded"}\n\n'

    def create_schedule(self, path: Document, query: Document, body: Document) -> Document:
        wish = {("job_type" if key == "job_type_uuid" else key): value for key, value in body.items()}
        made = self.schedules.create(msgspec.convert(wish, ScheduleRequest))
        return {"status": "ok", "uuid": made.schedule.uuid}

    def list_schedules(self, path: Document, query: Document, body: Document) -> Document:
        page = self.store.list_schedules(limit=2, cursor=query.get("cursor", [None])[0])
        return {"schedules": list(map(_schedule, page.entries)), "cursor": page.cursor}

    def delete_schedule(self, path: Document, query: Document, body: Document) -> Document:
        self.schedules.delete(path["uuid"])
        return {"status": "ok", "uuid": path["uuid"]}

    def pause_schedule(self, path: Document, query: Document, body: Document) -> Document:
        self.schedules.pause(path["uuid"])
        return {"status": "ok", "uuid": path["uuid"]}

    def list_ticks(self, path: Document, query: Document, body: Document) -> Document:
        return {"ticks": msgspec.to_builtins(self.store.list_ticks(path["uuid"], limit=100))}


def _query(given: Document) -> JobQuery:
    return JobQuery(states=frozenset(JobState(state) for state in given.get("state", [])))


def _schedule(entry: ScheduleEntry) -> Document:
    schedule, state = entry.schedule, entry.state
    return {
        "uuid": schedule.uuid,
        "interval": getattr(schedule.trigger, "every_ms", None),
        "last_scheduled_by": state.last_scheduled_by,
        "last_scheduled_at": state.last_scheduled_at,
        "job_type_uuid": schedule.job_type,
        "job_arguments": schedule.arguments,
        "name": schedule.name,
        "paused": schedule.paused,
        "next_run": state.due,
    }


def _endpoint(run: Callable[[Document, Document, Document], Document]) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return _json(401, {"status": "error", "error": "a valid key is needed: Authorization: Bearer KEY"})
        if request.method == "POST" and request.headers.get("content-type") != "application/json":
            return _json(415, {"status": "error", "error": "Content-Type must be application/json"})
        raw = await request.body()
        query = {name: request.query_params.getlist(name) for name in request.query_params}
        try:
            return _json(200, run(request.path_params, query, msgspec.json.decode(raw) if raw else {}))
        except RotaError as error:
            return _refusal(error)

    return answer


def _refusal(error: RotaError) -> Response:
    return _json(_STATUS[type(error)], {"status": "error", "error": str(error)})


def _json(status: int, document: Document) -> Response:
    return Response(msgspec.json.encode(document), status, media_type="application/json")


@contextmanager
def serving(app: Starlette) -> Iterator[str]:
    """The app on a free port of this machine; gives its address."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started, "the server to start")
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
