"""Every declared operation, asked by every role and every single scope, with a request that is good.

The operations come from their declarations, so a new one is in the matrix at once; without a good request in `REQUESTS`
it fails. `test_authorisation.py` holds the declarations themselves to a table that is written by hand.
"""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from msgspec import Struct
from starlette.testclient import TestClient

from rota.engine.jobs.intake import JobRequest
from rota.engine.keys.access import NOBODY, Caller, Role, Scope, read_scopes
from rota.engine.keys.named_keys import make_key
from rota.engine.schedules.backfill import BackfillRequest
from rota.model.events.configuration_request import read_configuration
from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.model.node import Node, NodeType
from rota.model.schedules.request import ScheduleRequest
from rota.server.api import Api
from rota.server.app import make_app
from rota.server.operations import Operation
from rota.store import Store, open_store
from tests.server.serving import BASE, make_api

WAITS = [{"type": "FILE", "resourceId": "/in", "lifeDuration": 60}]
EVENT = {"eventType": "FILE", "eventTimestamp": "2026-01-01T00:00:00", "eventResourceId": "/in"}
PAST = {"start": "2026-01-01T00:00:00", "end": "2026-01-01T03:00:00"}
MAKES_JOBS = {
    *("create_schedule", "replace_schedule", "change_schedule", "run_schedule", "create_backfill"),
    *("create_configuration", "replace_configuration"),
}
"""Operations that need the right to enqueue beside their own scope."""


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
    **dict.fromkeys(
        ["show_root", "show_health", "show_about", "show_openapi", "show_docs", "show_metrics", "list_audit"], nothing
    ),
    **dict.fromkeys(["list_jobs", "list_job_types", "list_node_types", "list_queues", "read_stats"], nothing),
    **dict.fromkeys(["list_schedules", "list_nodes", "list_configurations"], nothing),
    **dict.fromkeys(["show_job", "why_job", "cancel_job", "read_logs"], JOB),
    **dict.fromkeys(["delete_job", "retry_job", "stream_logs"], ENDED),
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
    **dict.fromkeys(["post_events", "preview_event"], lambda house: Asked(body=EVENT)),
    "create_configuration": lambda house: Asked(body=configuration_body(house)),
    "replace_configuration": replaced_configuration,
    "preview_configuration": about("name", House.configuration, EVENT),
    **dict.fromkeys(["show_configuration", "delete_configuration", "explain_configuration"], CONFIGURATION),
    **dict.fromkeys(["why_configuration", "list_evaluations", "list_validations"], CONFIGURATION),
}
"""A good request for each operation, by the name of its function."""


@pytest.fixture
def kept() -> Iterator[Store]:
    store = open_store("sqlite://:memory:")
    yield store
    store.close()


def callers(store: Store) -> list[tuple[Caller, dict[str, str]]]:
    """Everybody: nobody, each role, and an admin's key for each single scope and each without one."""
    wanted = [(role.value, role, read_scopes([], role)) for role in Role]
    for scope in Scope:
        wanted.append((f"only.{scope.replace(':', '-')}", Role.ADMIN, frozenset({scope})))
        wanted.append((f"without.{scope.replace(':', '-')}", Role.ADMIN, frozenset(Scope) - {scope}))
    found = [(NOBODY, dict[str, str]())]
    for name, role, scopes in wanted:
        key, made = make_key(store, name, role=role, scopes=scopes, expires_at=None, now=1)
        found.append((Caller(name, scopes, made.id), {"Authorization": f"Bearer {key}"}))
    return found


def may(caller: Caller, operation: Operation) -> bool:
    return caller.may(operation.needs) and (operation.name not in MAKES_JOBS or caller.may(Scope.JOBS_WRITE))


def test_every_operation_does_what_a_key_may_and_nothing_else(kept: Store) -> None:
    everybody = callers(kept)
    api = make_api(kept)
    app, house = make_app(api), House(api)
    wrong, asked = [], 0

    with TestClient(app, BASE, raise_server_exceptions=False) as client:
        for operation in api.operations:
            for caller, headers in everybody:
                request = REQUESTS[operation.name](house)
                before = kept.list_audit(limit=1)
                answer = client.request(
                    operation.method,
                    operation.path.format(**request.path) + request.query,
                    headers=headers,
                    json={} if request.body is None and operation.takes_json else request.body,
                )
                asked += 1
                is_let_in = answer.status_code == 200
                changed = kept.list_audit(limit=1) != before
                if is_let_in != may(caller, operation) or (changed and not is_let_in):
                    wrong.append(f"{caller.name}: {operation.name} -> {answer.status_code} {answer.text[:200]}")
                elif not is_let_in and answer.status_code != (401 if caller is NOBODY else 403):
                    wrong.append(f"{caller.name}: {operation.name} is refused with {answer.status_code}")
    api.close()

    assert wrong == []
    assert asked == len(api.operations) * (1 + len(Role) + 2 * len(Scope))


def test_every_operation_has_a_good_request(kept: Store) -> None:
    api = make_api(kept)
    make_app(api)

    assert {one.name for one in api.operations} == set(REQUESTS)
    api.close()
