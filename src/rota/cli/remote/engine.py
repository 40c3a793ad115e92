"""The engine of an installation behind a server: it reads through the API, and has the server make every change."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec import Struct, structs

from rota.cli.remote.events import RemoteConfigurations, RemoteEvents
from rota.cli.remote.files import RemoteFile
from rota.cli.remote.keys import RemoteKeys
from rota.cli.remote.schedules import RemoteBackfills, RemoteSchedules
from rota.cli.remote.server import Server
from rota.cli.remote.store import RemoteStore
from rota.clock import StoreClock
from rota.engine.access.keys.access import Caller
from rota.engine.definitions.definitions import Definitions
from rota.engine.engine import Engine
from rota.engine.jobs.changes import JobChanges
from rota.engine.jobs.intake import Intake, JobRequest
from rota.engine.jobs.queues import Queues
from rota.engine.why.why import Why
from rota.errors import Conflict, NotFound
from rota.model.events.event import ANY_TYPE
from rota.model.job import Job
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.sdk.call import present
from rota.sdk.client import Client
from rota.shapes.definitions import job_type_shape
from rota.shapes.why import WhyShape, answer_of
from rota.store.contract.jobs import Admission, CancelAnswer
from rota.store.contract.store import Store


class About(Struct, frozen=True):
    """Which server answers."""

    version: str
    time: int
    event_types: tuple[str, ...] = (ANY_TYPE,)
    """What an older server does not tell, it decides."""


class Told:
    """What a server tells of itself, all of it whenever it is asked for its time."""

    about: About

    def __init__(self, store: RemoteStore) -> None:
        self._store = store

    def now(self) -> int:
        self.about = self._store.get(answer=About)
        return self.about.time


def open_remote_engine(url: str, key: str) -> Engine:
    """The installation behind a server; whoever opened it closes its store. Its clock agrees with the server's."""
    client = Client(url, key=key)
    store = RemoteStore(client, url)
    try:
        told = Told(store)
        clock = StoreClock(told.now)
        clock.follow()
        return RemoteEngine(client, store, clock, told.about.event_types)
    except BaseException:
        client.close()
        raise


class RemoteEngine(Engine):
    """See the module. Parts that are not here find nothing in the store, which says so."""

    def __init__(self, client: Client, store: RemoteStore, clock: StoreClock, event_types: tuple[str, ...]) -> None:
        super().__init__(cast(Store, store), clock, event_types=event_types)
        self.server = server = Server(client, store)
        self.definitions = RemoteDefinitions(self, server)
        self.intake = RemoteIntake(self, server)
        self.jobs = RemoteJobs(self, server)
        self.queues = RemoteQueues(self, server)
        self.schedules = RemoteSchedules(self, server)
        self.backfills = RemoteBackfills(self, server)
        self.events = RemoteEvents(self, server)
        self.configurations = RemoteConfigurations(self, server)
        self.file = RemoteFile(self, server)
        self.keys = RemoteKeys(self, server)
        self.why = RemoteWhy(self, server)


class RemoteDefinitions(Definitions):
    """Definitions are looked up here and changed there."""

    def __init__(self, engine: Engine, server: Server) -> None:
        super().__init__(engine.store, engine.executors)
        self._server = server

    def create_node_type(self, node_type: NodeType, *, replace: bool = False) -> NodeType:
        there = self._there(self._named(self.node_types(), node_type.name), "node type", replace=replace)
        uuid = there.uuid if there else node_type.uuid
        body = {"uuid": uuid, "name": node_type.name, "thread_count": node_type.thread_count}
        self._server.send("POST", "node_types", uuid, body=body)
        self._server.store.changed()
        return self.current_node_type(uuid)

    def create_job_types(self, job_types: Sequence[JobType], *, replace: bool = False) -> list[JobType]:
        """One after another: a server takes them so."""
        return [self.create_job_type(one, replace=replace) for one in job_types]

    def create_job_type(self, job_type: JobType, *, replace: bool = False, expected: int | None = None) -> JobType:
        there = self._there(self._named(self.job_types(), job_type.name), "job type", replace=replace)
        if there is None and expected is not None:
            raise NotFound("job type", job_type.name)
        body = {**structs.asdict(job_type_shape(job_type)), "retries": structs.asdict(job_type.retry)}
        del body["uuid"], body["managed_by"], body["version"]
        if there is None:
            done = self._server.send("POST", "job_types", body=body)
        else:
            done = self._server.send("PUT", "job_types", there.uuid, body=body | present({"version": expected}))
        self._server.store.changed()
        return self.current_job_type(done["uuid"])

    def _named(self, known: Sequence[Any], name: str) -> Any:
        return next((one for one in known if one.name == name), None)

    def _there(self, found: Any, kind: str, *, replace: bool) -> Any:
        if found is not None and not replace:
            raise Conflict(
                f"there is a {kind} {found.name!r} already; choose another name, or change it with --replace"
            )
        return found

    def ensure_node_type(self, node_type: NodeType) -> NodeType:
        known = self._named(self.node_types(), node_type.name)
        return known or self.create_node_type(node_type)

    def delete_node_type(self, *names: str) -> list[NodeType]:
        found = [self.node_type(name) for name in names]
        for one in found:
            self._server.send("DELETE", "node_types", one.uuid)
        return found

    def delete_job_type(self, *names: str) -> list[JobType]:
        found = [self.job_type(name) for name in names]
        for one in found:
            self._server.send("DELETE", "job_types", one.uuid)
        return found


class RemoteIntake(Intake):
    """Jobs are handed in there."""

    def __init__(self, engine: Engine, server: Server) -> None:
        super().__init__(engine.store, engine.definitions, engine.clock)
        self._server = server

    def enqueue(
        self, requests: Sequence[JobRequest], *, by: Caller | None = None, named: str | None = None
    ) -> list[Admission]:
        body = {"jobs": [_new_job(one) for one in requests]}
        if len(requests) == 1:  # the error then names the field as it was given
            answers = [self._server.send("POST", "jobs", body=body["jobs"][0])]
        else:
            answers = self._server.send("POST", "jobs", "bulk", body=body)["jobs"]
        return [Admission(one["uuid"], one["is_new"]) for one in answers]


def _new_job(one: JobRequest) -> Mapping[str, object]:
    return present(
        {
            "job_type_uuid": one.job_type,
            "arguments": one.arguments,
            "priority": one.priority,
            "delay": one.delay_ms,
            "run_at": one.run_at,
            "expires": one.expires_ms,
            "expires_at": one.expires_at,
            "unique_key": one.unique_key,
            "timeout": one.timeout_ms,
            "retries": structs.asdict(one.retry) if one.retry else None,
            "uuid": one.id,
        }
    )


class RemoteJobs(JobChanges):
    """Jobs are changed there, one after another."""

    def __init__(self, engine: Engine, server: Server) -> None:
        super().__init__(engine.store, engine.clock, take_flows=engine.outbox.take_flows)
        self._server = server

    def cancel_each(self, job_ids: Sequence[str]) -> list[CancelAnswer]:
        return [self._cancel(one) for one in job_ids]

    def _cancel(self, job_id: str) -> CancelAnswer:
        try:
            return CancelAnswer(self._server.send("POST", "jobs", job_id, "cancel")["answer"])
        except NotFound:
            return CancelAnswer.UNKNOWN
        except Conflict:
            return CancelAnswer.FINAL

    def retry_each(self, job_ids: Sequence[str]) -> list[bool]:
        return [self._retry(one) for one in job_ids]

    def _retry(self, job_id: str) -> bool:
        try:
            self._server.send("POST", "jobs", job_id, "retry")
        except (NotFound, Conflict):
            return False
        return True


class RemoteQueues(Queues):
    """Queues are paused and resumed there."""

    def __init__(self, engine: Engine, server: Server) -> None:
        super().__init__(engine.store, engine.definitions, engine.clock, take_flows=engine.outbox.take_flows)
        self._server = server

    def pause(self, name: str) -> NodeType:
        return self._change(name, "pause")

    def resume(self, name: str) -> NodeType:
        return self._change(name, "resume")

    def _change(self, name: str, verb: str) -> NodeType:
        found = self._definitions.node_type(name)
        self._server.send("POST", "node_types", found.uuid, verb)
        return found


class RemoteWhy(Why):
    """Reasons are found there; times in sentences are in the zone that the server says them in."""

    def __init__(self, engine: Engine, server: Server) -> None:
        super().__init__(
            engine.store, engine.definitions, engine.jobs, engine.schedules, engine.configurations, engine.clock
        )
        self._server = server

    def of_job(self, job: Job, *, zone: str = "UTC") -> Any:
        return self._ask("jobs", job.id)

    def schedule(self, name: str) -> Any:
        return self._ask("schedules", name)

    def configuration(self, name: str, *, zone: str = "UTC") -> Any:
        return self._ask("configurations", name)

    def queue(self, name: str) -> Any:
        return self._ask("queues", name)

    def _ask(self, kind: str, name: str) -> Any:
        return answer_of(self._server.store.get(kind, name, "why", answer=WhyShape))
