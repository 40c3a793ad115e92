"""The app: health, keys, and errors as JSON."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Send
from starlette.types import Scope as AsgiScope

import rota as package
from rota.engine.access.keys.access import OPEN, Scope
from rota.errors import Conflict, InvalidInput, NotFound, StoreFull, StoreUnavailable
from rota.server import routes
from rota.server.answers import FAULT
from rota.server.api import Api
from rota.server.app import make_app
from rota.server.gate.safe_headers import SafeHeaders
from rota.server.operations import Call, Routes, by_path
from rota.store import open_store
from tests.server.serving import KEY, make_api, served


class Trouble:
    """What the node says about its health."""

    said: str | None = None


ERRORS = {
    "invalid": (InvalidInput("port", "is wrong"), 400),
    "missing": (NotFound("job", "x"), 404),
    "conflict": (Conflict("not now"), 409),
    "down": (StoreUnavailable("no answer"), 503),
    "full": (StoreFull("no room"), 507),
    "fault": (ZeroDivisionError("secret"), 500),
}


failing = Routes("failing")


@failing.get("/fail/{kind}", needs=OPEN)
def fail(api: Api, call: Call[None, None]) -> None:
    """Whatever can go wrong."""
    raise ERRORS[call.path["kind"]][0]


@pytest.fixture
def trouble() -> Trouble:
    return Trouble()


@pytest.fixture
def client(tmp_path: Path, trouble: Trouble) -> Iterator[TestClient]:
    """A client of a server whose key is `KEY`."""
    store = open_store(f"sqlite:///{tmp_path / 'rota.db'}")
    api = make_api(store, health=lambda: trouble.said)
    app = make_app(api, [*routes.ALL, *failing.operations])
    with served(api, app, key=None) as client:
        yield client
    store.close()


def test_health_is_open_and_plain(client: TestClient) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        answer = client.get("/health", headers=headers)
        assert (answer.status_code, answer.text) == (200, "ok")
        assert answer.headers["content-type"].startswith("text/plain")


def test_a_node_in_trouble_says_so_and_why_to_those_who_have_a_key(client: TestClient, trouble: Trouble) -> None:
    trouble.said = "store unavailable: no answer"

    shown = client.get("/health", headers={"Authorization": f"Bearer {KEY}"})
    hidden = [client.get("/health", headers=one) for one in ({}, {"Authorization": "Bearer wrong"})]

    assert (shown.status_code, shown.text) == (503, "store unavailable: no answer")
    assert [(one.status_code, one.text) for one in hidden] == [(503, "not ok")] * 2


def test_the_api_tells_who_it_is_to_those_who_have_the_key(client: TestClient) -> None:
    answer = client.get("/api", headers={"Authorization": f"Bearer {KEY}"})

    assert answer.status_code == 200
    about = answer.json()
    assert about.pop("time") > 0
    assert about == {"name": "rota", "version": package.__version__, "event_types": []}


@pytest.mark.parametrize("path", ["/api", "/api/", "/api/jobs", "/api/no/such/thing"])
@pytest.mark.parametrize(
    "authorization",
    [None, "", KEY, "Bearer", "Bearer ", "Bearer wrong", f"Basic {KEY}", f"Bearer {KEY} x", "Bearer ü"],
)
def test_nothing_under_the_api_is_answered_without_the_key(
    client: TestClient, path: str, authorization: str | None
) -> None:
    headers = {} if authorization is None else {"Authorization": authorization.encode()}

    answer = client.get(path, headers=headers)  # type: ignore[arg-type]

    assert answer.status_code == 401
    assert answer.json()["status"] == "error"
    assert answer.headers["www-authenticate"] == "Bearer"


def test_the_scheme_is_read_in_any_case(client: TestClient) -> None:
    assert client.get("/api", headers={"Authorization": f"bearer {KEY}"}).status_code == 200


@pytest.mark.parametrize("path", ["/nothing", "/api/nothing", "/health/", "/api/"])
def test_an_unknown_path_is_not_found(client: TestClient, path: str) -> None:
    answer = client.get(path, headers={"Authorization": f"Bearer {KEY}"}, follow_redirects=False)

    assert answer.status_code == 404
    assert answer.json() == {"status": "error", "error": "there is nothing at this path; / links to what is there"}


@pytest.mark.parametrize("path", ["/health", "/api"])
def test_a_wrong_method_is_told_which_are_right(client: TestClient, path: str) -> None:
    answer = client.post(path, headers={"Authorization": f"Bearer {KEY}"})

    assert answer.status_code == 405
    assert sorted(answer.headers["allow"].replace(" ", "").split(",")) == ["GET", "HEAD"]
    assert answer.json()["status"] == "error"


@pytest.mark.parametrize("kind", ERRORS)
def test_errors_become_statuses_and_say_no_more_than_they_should(client: TestClient, kind: str) -> None:
    error, status = ERRORS[kind]

    answer = client.get(f"/fail/{kind}")

    assert answer.status_code == status
    assert answer.json()["status"] == "error"
    assert (str(error) in answer.json()["error"]) is (kind != "fault")


def test_a_fault_outside_of_any_operation_is_answered_without_its_details() -> None:
    async def broken(scope: AsgiScope, receive: Receive, send: Send) -> None:
        raise RuntimeError("a detail")

    answer = TestClient(SafeHeaders(broken), raise_server_exceptions=False).get("/")

    assert (answer.status_code, answer.json()) == (500, {"status": "error", "error": FAULT})
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_fault_in_the_middle_of_an_answer_is_no_second_answer() -> None:
    async def broken(scope: AsgiScope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise RuntimeError("a detail")

    sent: list[Message] = []

    async def keep(message: Message) -> None:
        sent.append(message)

    async def nothing() -> Message:
        return {"type": "http.request"}

    with pytest.raises(RuntimeError, match="a detail"):
        asyncio.run(SafeHeaders(broken)({"type": "http"}, nothing, keep))

    assert [(one["type"], one.get("status"), one.get("body")) for one in sent] == [
        ("http.response.start", 200, None),
        ("http.response.body", None, b"half"),
    ]


def test_two_operations_of_one_method_and_path_are_refused() -> None:
    """Or one of them, and what it needs, would be forgotten in silence."""
    some = Routes("some")

    for needs in (OPEN, Scope.JOBS_WRITE):

        @some.get("/api/there", needs=needs)
        def look(api: Api, call: Call[None, None]) -> None:
            """Look."""

    with pytest.raises(ValueError, match="GET /api/there is declared twice"):
        by_path(some.operations)
