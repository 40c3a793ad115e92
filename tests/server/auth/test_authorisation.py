"""Every operation with every role and every scope: what is allowed, and nothing more.

The rights stand here as a table, so that a change of them has to be made twice. An operation that is missing here fails
these tests until somebody has decided who may do it.
"""

import re
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from rota.engine.access.keys.access import Role, Scope, read_scopes
from rota.engine.access.keys.named_keys import make_key
from rota.model.ids import new_id
from rota.server.api import Api, ServerOptions
from rota.server.app import Paths, make_app
from rota.server.operations import Call, Routes
from rota.store import Store
from tests.server.serving import BASE, make_api, served

SOME_UUID = "b30833c1-83b0-4dda-a439-97e3c97bbaa5"

ALL, CHANGE, DEFINE, RULE = "viewer operator editor admin", "operator editor admin", "editor admin", "admin"
RIGHTS: dict[str, tuple[str, str]] = {
    "GET /health": ("", "everybody"),
    "GET /openapi.json": ("", "everybody"),
    "GET /docs": ("", "everybody"),
    "GET /metrics": ("metrics:r", ALL),
    "GET /api": ("jobs:r", ALL),
    "GET /api/jobs": ("jobs:r", ALL),
    "GET /api/jobs/{uuid}": ("jobs:r", ALL),
    "GET /api/jobs/{uuid}/logs": ("jobs:r", ALL),
    "GET /api/jobs/{uuid}/why": ("jobs:r", ALL),
    "GET /api/schedulers/partitions/{partition}": ("sched:r", ALL),
    "GET /api/schedules/{schedule}/why": ("sched:r", ALL),
    "GET /api/configurations/{name}/why": ("events:r", ALL),
    "GET /api/jobs/{uuid}/logs/stream": ("jobs:r", ALL),
    "GET /api/jobs/{node_type}/queued": ("jobs:r", ALL),
    "GET /api/jobs/{node_type}/in_progress": ("jobs:r", ALL),
    "GET /api/jobs/{node_type}/finished": ("jobs:r", ALL),
    "GET /api/jobs/{node_type}/{uuid}": ("jobs:r", ALL),
    "POST /api/jobs": ("jobs:w", CHANGE),
    "POST /api/jobs/bulk": ("jobs:w", CHANGE),
    "POST /api/jobs/cancel": ("jobs:w", CHANGE),
    "POST /api/jobs/retry": ("jobs:w", CHANGE),
    "POST /api/jobs/delete": ("jobs:w", CHANGE),
    "POST /api/jobs/{uuid}/cancel": ("jobs:w", CHANGE),
    "POST /api/jobs/{uuid}/retry": ("jobs:w", CHANGE),
    "DELETE /api/jobs/{uuid}": ("jobs:w", CHANGE),
    "GET /api/job_types": ("types:r", ALL),
    "GET /api/job_types/{job_type}": ("types:r", ALL),
    "POST /api/job_types": ("types:w", DEFINE),
    "PUT /api/job_types/{job_type}": ("types:w", DEFINE),
    "PATCH /api/job_types/{job_type}": ("types:w", DEFINE),
    "DELETE /api/job_types/{job_type}": ("types:w", DEFINE),
    "GET /api/node_types": ("types:r", ALL),
    "GET /api/node_types/{node_type}": ("types:r", ALL),
    "POST /api/node_types/{node_type}": ("types:w", DEFINE),
    "DELETE /api/node_types/{node_type}": ("types:w", DEFINE),
    "POST /api/definitions/diff": ("types:w", DEFINE),
    "POST /api/definitions/apply": ("types:w", DEFINE),
    "POST /api/node_types/{node_type}/pause": ("queues:w", CHANGE),
    "POST /api/node_types/{node_type}/resume": ("queues:w", CHANGE),
    "GET /api/queues": ("queues:r", ALL),
    "GET /api/queues/{queue}/why": ("queues:r", ALL),
    "GET /api/stats": ("queues:r", ALL),
    "GET /api/overview": ("queues:r", ALL),
    "GET /api/durations": ("jobs:r", ALL),
    "GET /api/planned": ("sched:r", ALL),
    "GET /api/upcoming": ("sched:r", ALL),
    "GET /api/nodes": ("nodes:r", ALL),
    "GET /api/nodes/{uuid}": ("nodes:r", ALL),
    "POST /api/nodes/{uuid}/drain": ("nodes:w", CHANGE),
    "GET /api/audit": ("audit:r", RULE),
    "GET /api/doctor": ("audit:r", RULE),
    "POST /api/doctor": ("types:w", DEFINE),
    "GET /api/keys": ("keys:w", RULE),
    "POST /api/keys": ("keys:w", RULE),
    "DELETE /api/keys/{key}": ("keys:w", RULE),
    "GET /api/topics": ("sched:r", ALL),
    "GET /api/topics/{topic}": ("sched:r", ALL),
    "GET /api/cron": ("sched:r", ALL),
    "GET /api/schedules": ("sched:r", ALL),
    "GET /api/schedules/{schedule}": ("sched:r", ALL),
    "GET /api/schedules/{schedule}/ticks": ("sched:r", ALL),
    "GET /api/schedules/{schedule}/next": ("sched:r", ALL),
    "GET /api/schedules/{schedule}/backfills/{id}": ("sched:r", ALL),
    "POST /api/schedules": ("sched:w", CHANGE),
    "PUT /api/schedules/{schedule}": ("sched:w", CHANGE),
    "PATCH /api/schedules/{schedule}": ("sched:w", CHANGE),
    "DELETE /api/schedules/{schedule}": ("sched:w", CHANGE),
    "POST /api/schedules/{schedule}/pause": ("sched:w", CHANGE),
    "POST /api/schedules/{schedule}/resume": ("sched:w", CHANGE),
    "POST /api/schedules/{schedule}/run": ("sched:w", CHANGE),
    "POST /api/schedules/{schedule}/backfills": ("sched:w", CHANGE),
    "POST /api/schedules/{schedule}/backfills/{id}/cancel": ("sched:w", CHANGE),
    "GET /api/configurations": ("events:r", ALL),
    "GET /api/configurations/{name}": ("events:r", ALL),
    "GET /api/configurations/{name}/explain": ("events:r", ALL),
    "GET /api/configurations/{name}/evaluations": ("events:r", ALL),
    "GET /api/configurations/{name}/events": ("events:r", ALL),
    "POST /api/configurations": ("config:w", CHANGE),
    "PUT /api/configurations/{name}": ("config:w", CHANGE),
    "DELETE /api/configurations/{name}": ("config:w", CHANGE),
    "POST /api/configurations/{name}/dry_run": ("events:w", CHANGE),
    "POST /api/events/dry_run": ("events:w", CHANGE),
    "POST /api/events": ("events:w", CHANGE),
    "GET /api/events": ("events:r", ALL),
    "POST /events": ("events:w", CHANGE),
}
"""Operation to the scope that it needs, and the roles that have it."""
PAGES = {
    "/": "queues:r",
    "/jobs": "jobs:r",
    "/jobs/suggestions": "jobs:r",
    "/jobs/{uuid}": "jobs:r",
    "/jobs/{uuid}/log.txt": "jobs:r",
    "/enqueue": "jobs:w",
    "/queues": "queues:r",
    "/schedules": "sched:r",
    "/schedules/new": "sched:w",
    "/schedules/planned": "sched:r",
    "/schedules/preview": "sched:r",
    "/schedules/{schedule}": "sched:r",
    "/schedules/{schedule}/edit": "sched:w",
    "/event-log": "events:r",
    "/configurations": "events:r",
    "/configurations/{name}": "events:r",
    "/configurations/{name}/what-if": "events:w",
    "/topics": "sched:r",
    "/topics/{topic}": "sched:r",
    "/nodes": "nodes:r",
    "/job-types": "types:r",
    "/job-types/new": "types:w",
    "/job-types/{job_type}": "types:r",
    "/job-types/{job_type}/edit": "types:w",
    "/audit": "audit:r",
    "/keys": "keys:w",
    "/palette": "",
}
"""Page to the scope without which it is refused; other rights only add to it."""
BESIDE_PAGES = {"/sign-in", "/sign-out", "/live", "/static/{version}/{name}"}
"""For everybody, but for the stream, which is for those who may see its page."""
SCOPES = [
    *("jobs:r", "jobs:w", "types:r", "types:w", "queues:r", "queues:w", "nodes:r", "nodes:w"),
    *("sched:r", "sched:w", "events:r", "events:w", "config:w", "metrics:r", "audit:r", "keys:w"),
]
ROLES = ["viewer", "operator", "editor", "admin"]


@pytest.fixture
def clients(api: Api, kept: Store) -> Iterator[dict[str, TestClient]]:
    """One client per role, one with a wrong key and one with none."""
    app = make_app(api)
    found = {
        "nobody": TestClient(app, BASE),
        "stranger": TestClient(app, BASE, headers={"Authorization": "Bearer rota_0_wrong"}),
    }
    for role in ROLES:
        found[role] = TestClient(app, BASE, headers=shown(kept, role, Role(role)))
    yield found
    api.close()


def shown(store: Store, name: str, role: Role, *scopes: str) -> dict[str, str]:
    """The headers of a new key."""
    key, _ = make_key(store, name, role=role, scopes=read_scopes(scopes, role), expires_at=None, now=1)
    return {"Authorization": f"Bearer {key}"}


def called(client: TestClient, operation: str, **headers: str) -> str:
    """What becomes of a request that is as empty as it can be."""
    method, path = operation.split()
    if method in ("POST", "PUT", "PATCH"):
        headers["Content-Type"] = "application/json"
    content = b"{}" if headers else None
    status = client.request(method, re.sub(r"\{\w+\}", SOME_UUID, path), content=content, headers=headers).status_code
    assert status < 500, f"{operation} -> {status}"
    return str(status) if status in (401, 403) else "let in"


def documented(client: TestClient) -> dict[str, str]:
    """The operations that a server offers, with what it says of their needs."""
    paths = client.get("/openapi.json").json()["paths"]
    return {
        f"{method.upper()} {path}": said["description"] for path, some in paths.items() for method, said in some.items()
    }


def test_somebody_has_decided_about_every_operation(api: Api, clients: dict[str, TestClient]) -> None:
    paths = {operation.split()[1] for operation in RIGHTS}

    assert set(documented(clients["nobody"])) == set(RIGHTS)
    assert Paths(api).known == {*paths, *PAGES, *BESIDE_PAGES}, "no path is left unsaid"


def test_the_document_says_what_each_operation_needs(clients: dict[str, TestClient]) -> None:
    for operation, said in documented(clients["nobody"]).items():
        scope, _ = RIGHTS[operation]
        assert said.endswith(f"Needs the scope `{scope}`." if scope else "Needs no key."), operation


def test_every_operation_lets_in_whom_it_should_and_nobody_else(clients: dict[str, TestClient]) -> None:
    wrong = []
    for operation, (_, roles) in RIGHTS.items():
        for caller, client in clients.items():
            others = "401" if caller in ("nobody", "stranger") else "403"
            expected = "let in" if roles == "everybody" or caller in roles.split() else others
            found = called(client, operation)
            if found != expected:
                wrong.append(f"{caller}: {operation} -> {found} and not {expected}")

    assert wrong == []


def test_a_key_with_one_scope_does_what_that_says_and_no_more(api: Api, kept: Store) -> None:
    keys = {scope: shown(kept, scope, Role.ADMIN, scope) for scope in SCOPES}
    app = make_app(api)

    for scope, headers in keys.items():
        client = TestClient(app, BASE, headers=headers)
        found = {operation for operation in RIGHTS if called(client, operation) == "let in"}
        assert found == {one for one, (needs, _) in RIGHTS.items() if needs in ("", scope)}, scope
    api.close()


def test_scopes_add_up(api: Api, kept: Store) -> None:
    client = TestClient(make_app(api), BASE, headers=shown(kept, "shop", Role.OPERATOR, "jobs:w", "sched:r"))

    found = {operation for operation in RIGHTS if called(client, operation) == "let in"}

    assert found == {one for one, (needs, _) in RIGHTS.items() if needs in ("", "jobs:w", "sched:r")}
    api.close()


def test_there_are_these_scopes_and_roles() -> None:
    assert [scope.value for scope in Scope] == SCOPES
    assert [role.value for role in Role] == ROLES


@pytest.mark.parametrize("metrics_open", [False, True])
def test_a_setting_opens_the_metrics_and_nothing_else(kept: Store, metrics_open: bool) -> None:
    api = make_api(kept, options=ServerOptions(metrics_open=metrics_open, wrong_keys_per_s=0))

    with served(api, key=None) as client:
        found = {operation for operation in RIGHTS if called(client, operation) == "let in"}

    always = {"GET /health", "GET /openapi.json", "GET /docs"}
    assert found == always | ({"GET /metrics"} if metrics_open else set())


mixed = Routes("mixed")


@mixed.get("/mixed", needs=None)
@mixed.post("/mixed", needs=Scope.TYPES_WRITE)
async def touch(api: Api, call: Call[None, None]) -> dict[str, str]:
    """Something that anybody may see and some may change."""
    return {"by": call.caller.name}


def test_a_path_that_is_open_for_some_methods_only_asks_for_the_key(api: Api) -> None:
    app = make_app(api, mixed.operations)

    with served(api, app) as client:
        assert client.post("/mixed", json={}).json() == client.get("/mixed").json() == {"by": "admin"}
        assert client.post("/mixed", json={}, headers={"Authorization": ""}).status_code == 401


def test_a_refusal_names_the_key_and_the_scope_that_it_lacks(clients: dict[str, TestClient]) -> None:
    answer = clients["viewer"].post("/api/jobs", json={})

    assert answer.json() == {"status": "error", "error": "the key 'viewer' lacks the scope jobs:w"}


def test_what_runs_is_defined_by_editors_and_admins_only_also_within_a_configuration(
    clients: dict[str, TestClient],
) -> None:
    dependencies = [{"type": "FILE", "resourceId": "/in", "lifeDuration": 60}]
    body = {"name": "inline", "dependencies": dependencies, "job": {"executor": "bash", "metadata": {"command": "id"}}}
    plain = {**body, "job": None}

    refused = clients["operator"].post("/api/configurations", json=body)
    assert refused.status_code == 403
    assert refused.json()["error"] == "the key 'operator' may not define what to run; name a job type instead"
    assert clients["operator"].post("/api/configurations", json=plain).status_code == 200
    assert clients["operator"].put("/api/configurations/inline", json=body).status_code == 403
    for definer in ("editor", "admin"):
        assert clients[definer].put("/api/configurations/inline", json=body).status_code == 200


def test_those_who_define_only_say_when_an_event_was_received(clients: dict[str, TestClient]) -> None:
    event = {"eventType": "FILE", "eventTimestamp": "2026-01-01T00:00:00", "eventResourceId": "/in"}

    for path in ("/events", "/api/events", "/api/events/dry_run"):
        refused = clients["operator"].post(path, json=event, params={"received_at": 5})
        assert (refused.status_code, refused.json()["error"]) == (
            403,
            "only those who may define job types say when an event was received",
        )
        assert clients["operator"].post(path, json=event).status_code == 200
        for definer in ("editor", "admin"):
            assert clients[definer].post(path, json=event, params={"received_at": 5}).status_code == 200


@pytest.mark.parametrize(
    "path", ["/api/jobs/", "/API/jobs", "/api//jobs", "/api/jobs/health", "/health/../api/jobs", "/api/jobs;x=/health"]
)
def test_no_spelling_of_a_path_gets_around_the_key(clients: dict[str, TestClient], path: str) -> None:
    answer = clients["nobody"].get(path, follow_redirects=False)

    assert answer.status_code in (401, 404)
    assert "jobs" not in answer.json()


def test_wrong_methods_are_told_to_those_with_a_key_only(clients: dict[str, TestClient]) -> None:
    assert clients["nobody"].put("/api/jobs").status_code == 401
    answer = clients["viewer"].put("/api/jobs")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, POST")


def test_an_unknown_job_is_not_found_whoever_asks(clients: dict[str, TestClient]) -> None:
    path = f"/api/jobs/{new_id(1_700_000_000_000)}"

    assert {clients[role].get(path).status_code for role in ROLES} == {404}
