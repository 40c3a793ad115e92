"""Every route with every role: what is allowed, and nothing more. A route without a declared need does not exist."""

import re
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from rota.model.ids import new_id
from rota.server import routes
from rota.server.access import OPEN, SCOPES_OF, Role, Scope
from rota.server.api import Api
from rota.server.app import make_app
from rota.server.endpoint import Endpoint
from rota.server.named_keys import make_key
from rota.server.operations import Operation
from rota.store import Store

SOME_UUID = "b30833c1-83b0-4dda-a439-97e3c97bbaa5"
CALLERS = ("nobody", "stranger", *Role)


@pytest.fixture
def clients(api: Api, kept: Store) -> Iterator[dict[str, TestClient]]:
    """One client per role, one with a wrong key and one with none."""
    app = make_app(api)
    found = {"nobody": TestClient(app), "stranger": TestClient(app, headers={"Authorization": "Bearer rota_0_wrong"})}
    for role in Role:
        key, _ = make_key(kept, role, role=role, scopes=SCOPES_OF[role], expires_at=None, now=api.clock.now())
        found[role] = TestClient(app, headers={"Authorization": f"Bearer {key}"})
    yield found
    api.close()


def call(client: TestClient, operation: Operation, headers: dict[str, str] | None = None) -> int:
    """The status of a request that is as empty as it can be."""
    path = re.sub(r"\{\w+\}", SOME_UUID, operation.path)
    content = b"{}" if operation.takes_json else None
    kind = {"Content-Type": "application/json"} if operation.takes_json else {}
    return client.request(operation.method, path, content=content, headers={**kind, **(headers or {})}).status_code


def expected(caller: str, operation: Operation) -> str:
    if operation.needs is OPEN:
        return "let in"
    if caller in ("nobody", "stranger"):
        return "401"
    return "let in" if operation.needs in SCOPES_OF[Role(caller)] else "403"


def test_every_route_of_the_app_declares_what_it_needs(api: Api) -> None:
    app = make_app(api)

    assert app.routes, "an app without routes proves nothing"
    for route in app.routes:
        endpoint = getattr(route, "endpoint", None)
        assert isinstance(endpoint, Endpoint), f"{route} is not made from a declaration"
        for operation in endpoint.operations.values():
            assert operation.needs is OPEN or isinstance(operation.needs, Scope), operation
    api.close()


def test_only_these_routes_are_open() -> None:
    assert {one.path for one in routes.ALL if one.needs is OPEN} == {"/health", "/openapi.json", "/docs"}


def test_what_changes_something_needs_a_scope_to_write() -> None:
    for one in routes.ALL:
        is_change = one.method != "GET"
        assert is_change == (one.needs is not OPEN and one.needs.endswith(":w")), f"{one.method} {one.path}"


def test_every_route_lets_in_whom_it_should_and_nobody_else(clients: dict[str, TestClient]) -> None:
    wrong = []
    for operation in routes.ALL:
        for caller in CALLERS:
            status = call(clients[caller], operation)
            found = str(status) if status in (401, 403) else "let in"
            if found != expected(caller, operation) or status >= 500:
                wrong.append(f"{caller}: {operation.method} {operation.path} -> {status}")

    assert wrong == []


def test_a_key_with_scopes_does_no_more_than_they_say(api: Api, kept: Store) -> None:
    now = api.clock.now()
    scopes = frozenset({Scope.JOBS_WRITE})
    key, _ = make_key(kept, "shop", role=Role.OPERATOR, scopes=scopes, expires_at=None, now=now)
    client = TestClient(make_app(api), headers={"Authorization": f"Bearer {key}"})

    let_in = {one.needs for one in routes.ALL if call(client, one) not in (401, 403)}

    assert let_in == {OPEN, Scope.JOBS_WRITE}
    api.close()


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

    assert {clients[role].get(path).status_code for role in Role} == {404}
