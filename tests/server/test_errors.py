"""Whatever goes wrong, the answer is the same small document with a fitting status, and says no more than it should."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from rota.engine.access.keys.access import Role, Scope
from rota.engine.access.keys.named_keys import make_key
from rota.engine.access.keys.rate import WRONG_KEYS_AT_ONCE
from rota.errors import StoreFull, StoreUnavailable
from rota.model.ids import new_id
from rota.server.api import ServerOptions
from rota.server.app import make_app
from rota.store import Store
from rota.testing import Faults
from tests.server.serving import BASE, BEARER, make_api

UUID = "b30833c1-83b0-4dda-a439-97e3c97bbaa5"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def faults(kept: Store) -> Faults:
    return Faults(kept)


@pytest.fixture
def client(faults: Faults) -> Iterator[TestClient]:
    """A client of a server whose store goes wrong when it is told to; what the server raises is raised here."""
    api = make_api(faults.store)
    yield TestClient(make_app(api), BASE, headers=BEARER)
    api.close()


def raising(error: Exception) -> Callable[[], None]:
    def fault() -> None:
        raise error

    return fault


def error_of(answer: Any, status: int) -> str:
    """The words of an error, whose form is checked here."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert list(body) == ["status", "error"]
    assert body["status"] == "error"
    assert body["error"]
    return str(body["error"])


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("GET", "/api/jobs/x", None, 400, "uuid: 'x' is not a UUID"),
        ("GET", "/api/jobs?limit=x", None, 400, "limit: expected int, got str"),
        ("GET", "/api/jobs?limit=1&limit=2", None, 400, "limit: is given twice"),
        ("GET", "/api/jobs?since=null", None, 400, "since: is null; leave it out instead"),
        ("GET", "/api/jobs?search=%ff", None, 400, "query: is not valid UTF-8, percent-encoded"),
        ("GET", "/api/jobs?colour=red", None, 400, "colour: is not known here"),
        ("POST", "/api/jobs", b"", 400, "body: is no valid JSON: Input data was truncated"),
        ("POST", "/api/jobs", b"[" * 5_000, 400, "body: is "),
        ("POST", "/api/jobs", b"[]", 400, "body: expected object, got array"),
        ("POST", "/api/jobs", b"{}", 400, "job_type: is missing"),
        ("POST", "/api/jobs", b'{"job_type_uuid": "x", "priority": "", "arguments": [}', 400, "body: is no valid JSON"),
        ("POST", "/api/jobs", b'{"job_type_uuid": "x", "retries": {"tries": 1}}', 400, "retries.tries: is not known"),
        ("POST", "/api/jobs", b'{"job_type_uuid": "unknown"}', 404, "no job type 'unknown'"),
        ("GET", f"/api/jobs/{UUID}", None, 404, f"no job '{UUID}'"),
        ("GET", f"/api/jobs/{UUID}/logs", None, 404, f"no job '{UUID}'"),
        ("GET", f"/api/jobs/{UUID}/logs/stream", None, 404, f"no job '{UUID}'"),
        ("GET", f"/api/nodes/{UUID}", None, 404, f"no node '{UUID}'"),
        ("GET", f"/api/job_types/{UUID}", None, 404, f"no job type '{UUID}'"),
        ("GET", f"/api/node_types/{UUID}", None, 404, f"no node type '{UUID}'"),
        ("GET", f"/api/schedules/{UUID}", None, 404, f"no schedule '{UUID}'"),
        ("GET", "/api/configurations/none", None, 404, "no configuration 'none'"),
        ("GET", "/api/nothing", None, 404, "there is nothing at this path"),
        ("GET", "/nothing", None, 404, "there is nothing at this path"),
        ("PUT", "/api/jobs", None, 405, "this path does not take PUT; it takes GET, HEAD, POST"),
        ("POST", "/health", None, 405, "this path does not take POST; it takes GET, HEAD"),
    ],
)
def test_a_bad_request_is_told_what_is_wrong(
    client: TestClient, method: str, path: str, body: bytes | None, status: int, words: str
) -> None:
    answer = client.request(method, path, content=body, headers=JSON)

    assert words in error_of(answer, status)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_only_json_is_taken(client: TestClient, kind: str) -> None:
    answer = client.post("/api/jobs", content=b"{}", headers={"Content-Type": kind})

    assert error_of(answer, 415) == f"Content-Type must be application/json, got {kind or 'none'!r}"


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON", " application/json "])
def test_json_is_taken_however_it_is_spelled(client: TestClient, kind: str) -> None:
    assert error_of(client.post("/api/jobs", content=b"{}", headers={"Content-Type": kind}), 400)


def test_without_a_key_the_way_to_show_one_is_told(client: TestClient) -> None:
    answer = client.get("/api/jobs", headers={"Authorization": "Bearer wrong"})

    assert error_of(answer, 401) == "a valid key is needed: Authorization: Bearer KEY"
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (StoreUnavailable("no answer"), 503, "no answer"),
        (StoreFull("no room"), 507, "no room"),
    ],
)
@pytest.mark.parametrize(("call", "path"), [("find_jobs", f"/api/jobs/{UUID}"), ("list_jobs", "/api/jobs")])
def test_a_store_that_cannot_is_told_in_its_own_words(
    client: TestClient, faults: Faults, error: Exception, status: int, words: str, call: str, path: str
) -> None:
    faults.before(call, raising(error))

    assert words in error_of(client.get(path), status)
    assert client.get("/api/jobs").status_code == 200, "the next request is as good as any"


def test_a_key_that_could_never_be_looked_for_is_not_told_to_be_wrong_and_is_no_guess(
    faults: Faults, kept: Store
) -> None:
    """A server that began while its store is away: clients try again after 503, and give up after 401."""
    scopes = frozenset({Scope.JOBS_READ})
    key, _ = make_key(kept, "shop", role=Role.VIEWER, scopes=scopes, expires_at=None, now=1)
    shown = {"Authorization": f"Bearer {key}"}
    api = make_api(faults.store, options=ServerOptions(rate_limit=0, wrong_keys_per_s=0.001))
    client = TestClient(make_app(api), BASE)
    faults.cut_off()

    for _ in range(round(WRONG_KEYS_AT_ONCE) + 1):
        error_of(client.get("/api/jobs", headers=shown), 503)

    faults.reconnect()
    assert client.get("/api/jobs", headers=shown).status_code == 200
    assert client.get("/api/jobs", headers={"Authorization": "Bearer wrong"}).status_code == 401
    api.close()


def test_a_store_that_cannot_accept_a_job_says_so_to_every_caller(client: TestClient, faults: Faults) -> None:
    name = {"name": "report", "executor": "log"}
    assert client.post("/api/job_types", json=name).status_code == 200
    faults.before("enqueue_jobs", raising(StoreUnavailable("no answer")), raising(StoreFull("no room")))
    wish = {"job_type_uuid": "report"}

    assert "no answer" in error_of(client.post("/api/jobs", json=wish), 503)
    assert "no room" in error_of(client.post("/api/jobs/bulk", json={"jobs": [wish]}), 507)
    assert client.post("/api/jobs", json=wish).json()["is_new"] is True


def test_a_fault_of_ours_is_for_the_log_alone(
    client: TestClient, faults: Faults, caplog: pytest.LogCaptureFixture
) -> None:
    faults.before("find_jobs", raising(ZeroDivisionError("secret")))

    answer = client.get(f"/api/jobs/{new_id(1)}")

    assert error_of(answer, 500) == "something went wrong in the server; its log says what"
    (record,) = [one for one in caplog.records if one.name == "rota.server"]
    assert (record.getMessage(), record.levelname) == ("a request failed", "ERROR")
    assert (record.method, record.path) == ("GET", "/api/jobs/{uuid}")  # type: ignore[attr-defined]
    assert "secret" in caplog.text


def test_every_answer_is_counted_by_its_status(client: TestClient, faults: Faults) -> None:
    faults.before("list_jobs", raising(ZeroDivisionError()), raising(StoreUnavailable("no answer")))
    for _ in range(3):
        client.get("/api/jobs")
    client.head("/api/jobs")
    client.put("/api/jobs")
    client.get("/api/jobs", headers={"Authorization": "Bearer wrong"})

    counted = [line for line in client.get("/metrics").text.splitlines() if 'path="/api/jobs"' in line]

    assert counted == [
        'rota_http_requests_total{method="GET",path="/api/jobs",status="200"} 2',
        'rota_http_requests_total{method="GET",path="/api/jobs",status="401"} 1',
        'rota_http_requests_total{method="GET",path="/api/jobs",status="500"} 1',
        'rota_http_requests_total{method="GET",path="/api/jobs",status="503"} 1',
        'rota_http_requests_total{method="PUT",path="/api/jobs",status="405"} 1',
    ]


def test_what_is_no_text_is_a_bad_request(client: TestClient) -> None:
    headers = {"Content-Type": "application/json"}

    for path in ("/api/jobs", "/events", "/api/job_types", "/api/jobs/bulk"):
        answer = client.post(path, content=b'{"job_type_uuid": "a\xff"}', headers=headers)
        assert (answer.status_code, answer.json()["error"][:6]) == (400, "body: "), path
    assert client.get("/api/configurations/%ff").json()["error"] == "the path is not valid UTF-8, percent-encoded"
    assert client.get("/api/configurations/%EF%BF%BD").status_code == 404
