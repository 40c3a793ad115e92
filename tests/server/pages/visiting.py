"""An installation with one of everything, and browsers that look at it without being browsers."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlencode

from httpx2 import Response
from msgspec import Struct
from starlette.testclient import TestClient

from rota.engine.access.keys.access import Role, read_scopes
from rota.engine.access.keys.named_keys import make_key
from rota.model.node import Node
from rota.model.runs.log import LogEntry
from rota.model.topics.topic import TopicRecord
from rota.server.api import Api
from rota.store import Store
from rota.store.contract.logs import LogBatch
from tests.contract.building import beat, claim_one
from tests.server.serving import BASE

HTML = {"Accept": "text/html"}
OWN_PAGE = {"Origin": BASE}


class Shown(Struct, frozen=True):
    """The paths of all pages, of things that are there."""

    paths: dict[str, str]
    """Path of the declaration to one of a page."""


def key_of(store: Store, role: Role, *scopes: str, name: str = "") -> str:
    """A new key."""
    return make_key(store, name or f"{role}-key", role=role, scopes=read_scopes(scopes, role), expires_at=None, now=1)[
        0
    ]


@contextmanager
def signed_in(client: TestClient, key: str) -> Iterator[TestClient]:
    """A browser that signed in with a key."""
    browser = TestClient(client.app, BASE, follow_redirects=False, headers=HTML, raise_server_exceptions=False)
    answer = browser.post("/sign-in", data={"key": key, "then": "/jobs"}, headers=OWN_PAGE)
    assert answer.status_code == 303, answer.text
    yield browser


def done(answer: Response) -> str:
    """The uuid in an answer."""
    assert answer.status_code == 200, answer.text
    return str(answer.json()["uuid"])


def furnish(admin: TestClient, api: Api, name: str = "report", text: str = "hello") -> Shown:
    """One of everything, with this name wherever one is given, and this text wherever a job or an event says one."""
    now = api.engine.clock.now()
    python: dict[str, object] = {"executor": "python", "metadata": {"function": "json:dumps"}}
    done(admin.post("/api/job_types", json={"name": name, **python}))
    shell: dict[str, object] = {"executor": "bash", "metadata": {"command": ["echo", text]}}
    command = done(admin.post("/api/job_types", json={"name": f"{name}-shell", **shell}))
    queue = api.engine.definitions.node_type("default").uuid
    node = Node(
        uuid=api.engine.definitions.node_type("default").uuid,
        node_type=queue,
        host=text[:60],
        pid=1,
        version="1",
        started_at=now,
        last_ping=now + 60_000,
        slots=2,
        roles=("worker",),
        trouble=text,
    )
    beat(api.engine.store, node)
    new_job = {"job_type": name, "arguments": {text: text}, "unique_key": text, "priority": 9}
    job = done(admin.post("/api/jobs", json=new_job))
    held = claim_one(api.engine.store, queue, node=node.uuid, now=now)
    lines = [LogEntry(time=now, message=text), LogEntry(time=now, message=f"\x1b[31m{text}\x1b[0m", level="error")]
    api.engine.store.append_logs([LogBatch(queue, job, held.token, lines)])
    nightly = {"cron": "30 2 * * *", "tz": "Europe/Berlin", "job_arguments": {text: text}}
    schedule = done(admin.post("/api/schedules", json={"name": name, "job_type": name, **nightly}))
    admin.post(f"/api/schedules/{schedule}/pause", json={"note": text})
    run = done(admin.post(f"/api/schedules/{schedule}/run", json={}))
    dependencies = [
        {"type": "FILE", "resourceId": text, "lifeDuration": 60},
        {"any_of": [{"type": "TABLE", "resourceId": text, "lifeDuration": 0}]},
    ]
    made = {"job_type": name, "arguments": {text: text}}
    configuration = done(
        admin.post("/api/configurations", json={"name": name, "job": made, "dependencies": dependencies})
    )
    event = {"eventType": "FILE", "eventResourceId": text, "eventTimestamp": "2026-11-16T00:00:00"}
    assert admin.post("/events", json=event).status_code == 200
    api.engine.topics.publish("prices", [TopicRecord(id=text[:100], time=now, key=text, value={text: text})])
    return Shown(
        {
            "/": "/",
            "/jobs": "/jobs",
            "/jobs/suggestions": "/jobs/suggestions?word=type:",
            "/palette": f"/palette?{urlencode({'q': name})}",
            "/jobs/{uuid}": f"/jobs/{job}",
            "/jobs/{uuid} of a schedule": f"/jobs/{run}",
            "/enqueue": f"/enqueue?job={job}",
            "/queues": "/queues",
            "/schedules": "/schedules",
            "/schedules/new": "/schedules/new",
            "/schedules/planned": "/schedules/planned",
            "/schedules/preview": "/schedules/preview?cron=30+2+*+*+*&tz=Europe/Berlin",
            "/schedules/{schedule}": f"/schedules/{schedule}",
            "/schedules/{schedule}/edit": f"/schedules/{schedule}/edit",
            "/event-log": "/event-log",
            "/configurations": "/configurations",
            "/configurations/{name}": f"/configurations/{configuration}",
            "/configurations/{name}/what-if": f"/configurations/{configuration}/what-if?eventType=FILE",
            "/topics": "/topics",
            "/topics/{topic}": "/topics/prices",
            "/nodes": "/nodes",
            "/job-types": "/job-types",
            "/job-types/new": "/job-types/new",
            "/job-types/{job_type}": f"/job-types/{command}",
            "/job-types/{job_type}/edit": f"/job-types/{command}/edit",
            "/audit": "/audit",
            "/keys": "/keys",
        }
    )


def log_more(api: Api, job: str, messages: list[str]) -> None:
    """The job of a furnished installation, which runs, says more."""
    queue = api.engine.definitions.node_type("default").uuid
    (held,) = api.engine.store.claims_of_node(queue, queue, limit=9)
    lines = [LogEntry(time=1, message=message, attempt=1) for message in messages]
    api.engine.store.append_logs([LogBatch(queue, job, held.token, lines)])
