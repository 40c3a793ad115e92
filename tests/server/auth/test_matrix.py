"""Every declared operation, asked by every role and every single scope, with a request that is good.

The operations come from their declarations, those of the dialects too, in all their spellings, so a new one is in the
matrix at once; without a good request in `REQUESTS` it fails. `test_authorisation.py` holds the declarations themselves
to a table that is written by hand, and so does `DIALECT_RIGHTS`.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import flask
import pytest
from msgspec import Struct
from starlette.testclient import TestClient

from rota.dialects import registry
from rota.dialects.sync_tasks.task import task_id
from rota.dialects.sync_tasks.tasks import Tasks
from rota.engine.access.keys.access import NOBODY, Caller, Role, Scope, read_scopes
from rota.engine.access.keys.named_keys import make_key
from rota.engine.definitions.file import Wanted
from rota.engine.jobs.intake import JobRequest
from rota.engine.schedules.backfill import BackfillRequest
from rota.engine.topics.topics import named_record
from rota.model.events.configuration_request import read_configuration
from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.model.node import Node, NodeType
from rota.model.schedules.request import ScheduleRequest
from rota.sdk.flask import event_blueprint
from rota.server import routes
from rota.server.api import Api
from rota.server.app import make_app
from rota.server.operations import Operation
from rota.store import Store, open_store
from tests.dialects.sync_tasks.source import YAML, read
from tests.server.serving import BASE, make_api

WAITS = [{"type": "FILE", "resourceId": "/in", "lifeDuration": 60}]
EVENT = {"eventType": "FILE", "eventTimestamp": "2026-01-01T00:00:00", "eventResourceId": "/in"}
PAST = {"start": "2026-01-01T00:00:00", "end": "2026-01-01T03:00:00"}
MAKES_JOBS = {
    *("create_schedule", "replace_schedule", "change_schedule", "run_schedule", "create_backfill"),
    *("create_configuration", "replace_configuration"),
}
"""Operations that need the right to enqueue beside their own scope."""
APPLIES_FILES = {"diff_definitions", "apply_definitions"}
"""Operations that need the right to define all that a file can have."""
OF_A_FILE = {Scope.TYPES_WRITE, Scope.SCHEDULES_WRITE, Scope.CONFIGURATIONS_WRITE, Scope.JOBS_WRITE, Scope.EVENTS_WRITE}
DIALECT_RIGHTS = {
    "list_tasks": Scope.JOBS_READ,
    "show_task": Scope.JOBS_READ,
    "read_task_log": Scope.JOBS_READ,
    "create_task": Scope.JOBS_WRITE,
    "cancel_task": Scope.JOBS_WRITE,
    "list_sources": Scope.JOBS_READ,
    "show_collection": Scope.JOBS_READ,
    "sendScheduleTask": Scope.SCHEDULES_WRITE,
    "getScheduleTaskDefinitions": Scope.SCHEDULES_READ,
    "find_in_partition": Scope.SCHEDULES_READ,
}
"""What the operations of dialects need, and others that know callers in a way of their own, so that a change of it has
to be made twice."""
FINDS_NOTHING = {"find_in_partition"}
"""Operations that whoever is let in hears 404 of: without Kafka there are no partitions."""
ANY_TIME = "&start=1970-01-01T00:00:00Z&end=2100-01-01T00:00:00Z"


class Asked(Struct, frozen=True):
    """A good request: what its path names, and its body."""

    path: dict[str, str] = {}
    body: object = None
    query: str = ""


class House:
    """An installation that makes what a request is about, new for each."""

    def __init__(self, api: Api) -> None:
        self.engine = api.engine
        self.now = api.engine.clock.now()
        self.queue = self.engine.definitions.node_type("default").uuid
        self.engine.definitions.create_job_type(JobType(uuid=new_id(self.now), name="used", executor="log"))

    def name(self) -> str:
        return f"n-{new_id(self.now)}"

    def job_type(self) -> str:
        made = JobType(uuid=new_id(self.now), name=self.name(), executor="log")
        return self.engine.definitions.create_job_type(made).uuid

    def node_type(self) -> str:
        return self.engine.definitions.create_node_type(NodeType(uuid=new_id(self.now), name=self.name())).uuid

    def job(self) -> str:
        return self.engine.intake.enqueue([JobRequest(job_type="used")])[0].job_id

    def ended_job(self) -> str:
        job = self.job()
        self.engine.jobs.cancel(job)
        return job

    def schedule(self) -> str:
        request = ScheduleRequest(job_type="used", name=self.name(), cron="0 * * * *")
        return self.engine.schedules.create(request).schedule.uuid

    def backfill(self) -> dict[str, str]:
        uuid = self.schedule()
        plan = self.engine.backfills.start(uuid, BackfillRequest(start=PAST["start"], end=PAST["end"]))
        return {"schedule": uuid, "id": plan.backfill.id}

    def configuration(self) -> str:
        request = read_configuration({"name": self.name(), "dependencies": WAITS, "job": {"job_type": "used"}})
        return self.engine.configurations.create(request).configuration.name

    def topic(self) -> str:
        self.engine.topics.publish("reports", [named_record("a", key={}, value={}, now=self.now)])
        return "reports"

    def task(self) -> str:
        return task_id(Tasks(self.engine).create("shop", "orders")[0])

    def key(self) -> str:
        return self.engine.keys.create(self.name(), role=Role.ADMIN, scopes=["keys:w"])[1].name

    def node(self) -> str:
        made = Node(uuid=new_id(self.now), node_type=self.queue, last_ping=self.now, started_at=self.now)
        with closing(self.engine.store.lifeline(timeout_s=60)) as lifeline:
            lifeline.beat(made)
        return made.uuid


def job_type_body(house: House) -> dict[str, object]:
    return {"name": house.name(), "executor": "log"}


def schedule_body(house: House) -> dict[str, object]:
    return {"job_type": "used", "name": house.name(), "interval": "1h"}


def configuration_body(house: House) -> dict[str, object]:
    return {"name": house.name(), "dependencies": WAITS, "job": {"job_type": "used"}}


def key_body(house: House) -> dict[str, object]:
    return {"name": house.name(), "role": "admin", "scopes": ["keys:w"]}


def file_body(house: House) -> dict[str, object]:
    return {"owner": house.name(), "file": {"job_types": [job_type_body(house)]}}


def node_type_request(house: House) -> Asked:
    uuid = new_id(house.now)
    return Asked({"node_type": uuid}, {"uuid": uuid, "name": house.name(), "thread_count": 1})


def replaced_configuration(house: House) -> Asked:
    name = house.configuration()
    return Asked({"name": name}, {"name": name, "dependencies": WAITS, "job": {"job_type": "used", "priority": 5}})


Request = Callable[[House], Asked]


def nothing(house: House) -> Asked:
    return Asked()


def about(part: str, make: Callable[[House], str], body: object = None) -> Request:
    return lambda house: Asked({part: make(house)}, body)


JOB, ENDED = about("uuid", House.job), about("uuid", House.ended_job)
TYPE, NODE_TYPE = about("job_type", House.job_type), about("node_type", House.node_type)
SCHEDULE, NODE = about("schedule", House.schedule), about("uuid", House.node)
CONFIGURATION = about("name", House.configuration)
QUEUE: Request = lambda house: Asked({"node_type": house.queue})  # noqa: E731
REQUESTS: dict[str, Request] = {
    **dict.fromkeys(["show_health", "show_about", "show_openapi", "show_docs", "show_metrics", "list_audit"], nothing),
    **dict.fromkeys(["list_jobs", "list_job_types", "list_node_types", "list_queues", "read_stats"], nothing),
    **dict.fromkeys(["show_overview", "list_durations", "list_upcoming", "read_planned"], nothing),
    **dict.fromkeys(["list_schedules", "list_nodes", "list_configurations", "list_topics", "list_events"], nothing),
    "read_topic": about("topic", House.topic),
    "find_in_partition": lambda house: Asked({"partition": "0"}),
    **dict.fromkeys(["show_job", "why_job", "cancel_job", "read_logs"], JOB),
    **dict.fromkeys(["delete_job", "retry_job", "stream_logs"], ENDED),
    "why_queue": lambda house: Asked({"queue": house.queue}),
    **dict.fromkeys(["list_queued", "list_in_progress", "list_finished"], QUEUE),
    "show_finished": lambda house: Asked({"node_type": house.queue, "uuid": house.ended_job()}),
    "enqueue_job": lambda house: Asked(body={"job_type_uuid": "used"}),
    "enqueue_jobs": lambda house: Asked(body={"jobs": [{"job_type_uuid": "used"}]}),
    **dict.fromkeys(["cancel_jobs", "retry_jobs", "delete_jobs"], lambda house: Asked(body={"all": True})),
    **dict.fromkeys(["show_job_type", "delete_job_type"], TYPE),
    "create_job_type": lambda house: Asked(body=job_type_body(house)),
    "replace_job_type": lambda house: Asked({"job_type": house.job_type()}, job_type_body(house)),
    "change_job_type": about("job_type", House.job_type, {"timeout": 5}),
    **dict.fromkeys(["show_node_type", "delete_node_type", "pause_queue", "resume_queue"], NODE_TYPE),
    "put_node_type": node_type_request,
    **dict.fromkeys(["diff_definitions", "apply_definitions"], lambda house: Asked(body=file_body(house))),
    **dict.fromkeys(["list_keys", "examine_installation", "repair_installation"], nothing),
    "create_key": lambda house: Asked(body=key_body(house)),
    "revoke_key": about("key", House.key),
    **dict.fromkeys(
        ["show_schedule", "delete_schedule", "pause_schedule", "resume_schedule", "run_schedule"], SCHEDULE
    ),
    **dict.fromkeys(["why_schedule", "list_ticks", "next_of_schedule"], SCHEDULE),
    "create_schedule": lambda house: Asked(body=schedule_body(house)),
    "replace_schedule": lambda house: Asked({"schedule": house.schedule()}, schedule_body(house)),
    "change_schedule": about("schedule", House.schedule, {"cron": "5 * * * *"}),
    "next_of_cron": lambda house: Asked(query="?cron=5+*+*+*+*"),
    "create_backfill": about("schedule", House.schedule, PAST),
    **dict.fromkeys(["show_backfill", "cancel_backfill"], lambda house: Asked(house.backfill())),
    **dict.fromkeys(["show_node", "drain_node"], NODE),
    **dict.fromkeys(["post_events", "report_events", "preview_event"], lambda house: Asked(body=EVENT)),
    "create_configuration": lambda house: Asked(body=configuration_body(house)),
    "replace_configuration": replaced_configuration,
    "preview_configuration": about("name", House.configuration, EVENT),
    **dict.fromkeys(["show_configuration", "delete_configuration", "explain_configuration"], CONFIGURATION),
    **dict.fromkeys(["why_configuration", "list_evaluations", "list_validations"], CONFIGURATION),
    "list_tasks": lambda house: Asked(query=f"?source=shop{ANY_TIME}"),
    "list_sources": nothing,
    "show_collection": lambda house: Asked({"source": "shop", "collection": "orders"}),
    "create_task": lambda house: Asked(query="?source=shop&collection=orders"),
    **dict.fromkeys(["show_task", "read_task_log", "cancel_task"], about("task_id", House.task)),
    "sendScheduleTask": lambda house: Asked(body={"host": "shop", "name": house.name(), "topic": "reports"}),
    "getScheduleTaskDefinitions": lambda house: Asked(query="?host=shop&name=report&unit=DAYS"),
}
"""A good request for each operation, by the name of its function."""


@pytest.fixture
def kept() -> Iterator[Store]:
    store = open_store("sqlite://:memory:")
    yield store
    store.close()


@pytest.fixture
def everybody(kept: Store) -> list["Key"]:
    """Nobody, each role, and an admin's key for each single scope and each without one."""
    wanted = [(role.value, role, read_scopes([], role)) for role in Role]
    for scope in Scope:
        wanted.append((f"only.{scope.replace(':', '-')}", Role.ADMIN, frozenset({scope})))
        wanted.append((f"without.{scope.replace(':', '-')}", Role.ADMIN, frozenset(Scope) - {scope}))
    found = [Key(NOBODY, "")]
    for name, role, scopes in wanted:
        key, made = make_key(kept, name, role=role, scopes=scopes, expires_at=None, now=1)
        found.append(Key(Caller(name, scopes, made.id), key))
    return found


class Key(Struct, frozen=True):
    """A key, and whose it is."""

    caller: Caller
    text: str

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.text}"} if self.text else {}


@pytest.fixture
def api(kept: Store, tmp_path: Path) -> Iterator[Api]:
    """A server with all operations that there are."""
    made, settings = make_api(kept), read(tmp_path, YAML)
    made.engine.file.apply(Wanted.of(settings))
    made.operations = (*routes.ALL, *registry.operations(settings, kept))
    yield made
    made.close()


def may(caller: Caller, operation: Operation) -> bool:
    if operation.name in APPLIES_FILES:
        return caller.scopes >= OF_A_FILE
    return caller.may(operation.needs) and (operation.name not in MAKES_JOBS or caller.may(Scope.JOBS_WRITE))


def ways_to_show(key: Key, operation: Operation) -> list[tuple[str, dict[str, str]]]:
    """A part of the query and headers, for each way in which the operation takes a key."""
    if operation.tag != "sync tasks" or not key.text:
        return [("", key.bearer)]
    return [("", key.bearer), ("", {"X-Admin-Token": key.text}), (f"token={key.text}", {})]


def test_every_operation_does_what_a_key_may_and_nothing_else(api: Api, kept: Store, everybody: list[Key]) -> None:
    app, house = make_app(api, api.operations), House(api)
    wrong, asked = [], set()

    with TestClient(app, BASE, raise_server_exceptions=False) as client:
        for operation in api.operations:
            for key in everybody:
                asked.add((operation.method, operation.path, key.caller.name))
                for query, headers in ways_to_show(key, operation):
                    request = REQUESTS[operation.name](house)
                    before = kept.list_audit(limit=1)
                    answer = client.request(
                        operation.method,
                        operation.path.format(**request.path) + with_more(request.query, query),
                        headers=headers,
                        json={} if request.body is None and operation.takes_json else request.body,
                    )
                    is_changed = kept.list_audit(limit=1) != before
                    if fault := fault_of(key.caller, operation, answer.status_code, is_changed):
                        wrong.append(f"{key.caller.name}: {operation.name} {fault}: {answer.text[:200]}")

    assert wrong == []
    assert len(asked) == len(api.operations) * (1 + len(Role) + 2 * len(Scope))


def fault_of(caller: Caller, operation: Operation, status: int, is_changed: bool) -> str | None:
    if may(caller, operation):
        is_done = status in (200, 201) or (status == 404 and operation.name in FINDS_NOTHING)
        return None if is_done else f"is refused with {status}"
    if status != (401 if caller is NOBODY else 403):
        return f"is answered with {status}"
    return "is refused, and has changed something" if is_changed else None


def with_more(query: str, more: str) -> str:
    return f"{query}{'&' if query else '?'}{more}" if more else query


def test_every_operation_has_a_good_request(api: Api) -> None:
    assert {one.name for one in api.operations} == set(REQUESTS)


def test_somebody_has_decided_about_the_operations_of_dialects(api: Api) -> None:
    assert {one.name: one.needs for one in api.operations if one.manner is not None} == DIALECT_RIGHTS
    assert {one.path for one in api.operations if one.name == "list_tasks"} == {
        *("/tasks", "/tasks/", "/api/v1/tasks", "/api/v1/tasks/")
    }


def test_flask_lets_in_whom_a_server_would(kept: Store, everybody: list[Key]) -> None:
    app = flask.Flask("shop")
    app.register_blueprint(event_blueprint(kept))
    client = app.test_client()

    for key in everybody:
        status = client.post("/events", json=EVENT, headers=key.bearer).status_code
        refused = 401 if key.caller is NOBODY else 403
        assert status == (200 if key.caller.may(Scope.EVENTS_WRITE) else refused), key.caller.name
    assert {str(rule) for rule in app.url_map.iter_rules()} == {"/events", "/static/<path:filename>"}
