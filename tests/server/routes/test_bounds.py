"""Bounds of what a server takes and gives: bodies, pages, lists, positions, kept backfills. Each is a literal here."""

import asyncio
from typing import Any

import pytest
from starlette.testclient import TestClient

from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.server.api import Api
from rota.server.app import make_app
from tests.server.serving import BEARER

SOME_UUID = "b30833c1-83b0-4dda-a439-97e3c97bbaa5"
JSON = {"Content-Type": "application/json"}
MIB = 1_048_576
LATEST = 4_102_444_800_000
"""The beginning of the year 2100."""

NUMBERS: dict[str, tuple[int, int, int | None]] = {
    "/api/audit limit": (1, 1000, 100),
    "/api/audit since": (0, 4102444800000, None),
    "/api/jobs limit": (1, 1_000, 100),
    "/api/jobs since": (0, LATEST, None),
    "/api/jobs until": (0, LATEST, None),
    "/api/jobs/{node_type}/queued limit": (1, 10_000, 1_000),
    "/api/jobs/{node_type}/in_progress limit": (1, 10_000, 1_000),
    "/api/jobs/{node_type}/finished limit": (1, 10_000, 1_000),
    "/api/jobs/{uuid}/logs limit": (1, 10_000, 1_000),
    "/api/jobs/{uuid}/logs last": (1, 10_000, None),
    "/api/durations limit": (1, 1_000, 200),
    "/api/upcoming limit": (1, 100, 10),
    "/api/planned hours": (1, 168, 24),
    "/api/jobs/{uuid}/logs after": (0, 2**53, 0),
    "/api/jobs/{uuid}/logs start": (0, LATEST, None),
    "/api/jobs/{uuid}/logs end": (0, LATEST, None),
    "/api/jobs/{uuid}/logs/stream after": (0, 2**53, 0),
    "/api/jobs/{uuid}/logs/stream start": (0, LATEST, None),
    "/api/jobs/{uuid}/logs/stream end": (0, LATEST, None),
    "/api/nodes since": (0, LATEST, None),
    "/api/stats since": (0, LATEST, None),
    "/api/stats until": (0, LATEST, None),
    "/api/stats step": (1, 1_440, 1),
    "/api/schedulers/partitions/{partition} limit": (1, 1_000, 100),
    "/api/schedules limit": (1, 10_000, 1_000),
    "/api/schedules/{schedule}/ticks limit": (1, 1_000, 100),
    "/api/schedules/{schedule}/ticks before": (0, LATEST, None),
    "/api/schedules/{schedule}/next count": (1, 1_000, 10),
    "/api/cron count": (1, 1_000, 10),
    "/api/topics limit": (1, 10_000, 1_000),
    "/api/topics/{topic} offset": (-(2**53), 2**53, 0),
    "/api/topics/{topic} limit": (1, 1_000, 100),
    "/events received_at": (0, LATEST, None),
    "/api/events received_at": (0, LATEST, None),
    "/api/events/dry_run received_at": (0, LATEST, None),
    "/api/events limit": (1, 1_000, 100),
    "/api/configurations limit": (1, 1_000, 100),
    "/api/configurations/{name}/evaluations limit": (1, 1_000, 100),
    "/api/configurations/{name}/events limit": (1, 1_000, 100),
}
"""Path and parameter to the least, the most and the default."""
EVENT = {"eventType": "FILE", "eventTimestamp": "2026-01-01T00:00:00", "eventResourceId": "/in"}


@pytest.fixture(autouse=True)
def job_type(api: Api) -> None:
    api.engine.definitions.define_job_type(JobType(uuid=new_id(api.engine.clock.now()), name="report", executor="log"))


def operations(client: TestClient) -> list[tuple[str, str, dict[str, Any]]]:
    paths = client.get("/openapi.json").json()["paths"]
    return [(method.upper(), path, one) for path, methods in paths.items() for method, one in methods.items()]


def with_ids(path: str) -> str:
    for name in ("uuid", "node_type_uuid", "id", "name"):
        path = path.replace(f"{{{name}}}", SOME_UUID)
    return path


def test_every_number_in_a_query_has_the_bounds_that_stand_here(admin: TestClient) -> None:
    found = {
        f"{path} {parameter['name']}": tuple(parameter["schema"].get(key) for key in ("minimum", "maximum", "default"))
        for _, path, one in operations(admin)
        for parameter in one["parameters"]
        if parameter["schema"].get("type") == "integer"
    }

    assert found == NUMBERS


def test_a_number_in_a_query_is_taken_within_its_bounds_only(admin: TestClient) -> None:
    for case, (least, most, _) in NUMBERS.items():
        path, name = case.split()
        assert (error_of_query(admin, path, name, least), error_of_query(admin, path, name, most)) == ("", ""), case
        for wrong in (least - 1, most + 1, "x", "1.5", ""):
            assert error_of_query(admin, path, name, wrong).startswith(f"{name}: "), (case, wrong)


def error_of_query(client: TestClient, path: str, name: str, value: object) -> str:
    """What is wrong with a request that has this parameter; nothing, if it is not its form."""
    params = {"cron": "0 0 1 1 *"} if path == "/api/cron" else {}
    params[name] = str(value)
    if name == "received_at":
        answer = client.post(path, params=params, json=EVENT)
    else:
        answer = client.get(with_ids(path), params=params)
    return str(answer.json()["error"]) if answer.status_code == 400 else ""


def test_a_body_has_a_limit_that_stands_here(admin: TestClient) -> None:
    large = ("/events", "/api/events", "/api/definitions/diff", "/api/definitions/apply")
    limits = {"/api/jobs/bulk": 64 * MIB, **dict.fromkeys(large, 16 * MIB)}
    taking = [(method, path) for method, path, _ in operations(admin) if method in ("POST", "PUT", "PATCH")]
    assert len(taking) > 20

    for method, path in taking:
        limit = limits.get(path, MIB)

        def status(length: int, method: str = method, path: str = path) -> int:
            """Of a request that says how long its body is; no more of it is needed to refuse it."""
            headers = {**JSON, "Content-Length": str(length)}
            return admin.request(method, with_ids(path), content=b"[", headers=headers).status_code

        assert status(limit) == 400, f"{method} {path}"
        assert status(limit + 1) == 413, f"{method} {path}"
        assert status(10**30) == 413, f"{method} {path}"


async def posted(api: Api, *messages: Any) -> tuple[int, bytes]:
    """Status and body of the answer to a job that is handed in with these messages, as a server would pass them on."""
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/jobs",
        "query_string": b"",
        "client": ("192.0.2.1", 5),
        "headers": [(name.lower().encode(), value.encode()) for name, value in {**JSON, **BEARER}.items()],
    }
    coming = iter(messages)
    sent: list[Any] = []

    async def receive() -> Any:
        return next(coming)

    async def send(message: Any) -> None:
        sent.append(message)

    await make_app(api)(scope, receive, send)
    return sent[0]["status"], sent[1]["body"]


@pytest.mark.parametrize("pieces", [1, 2, 7])
def test_a_body_is_measured_however_it_comes(api: Api, admin: TestClient, pieces: int) -> None:
    def status(size: int) -> int:
        whole = b'{"job_type_uuid": "report"}'.ljust(size)
        step = -(-size // pieces)
        parts = [whole[start : start + step] for start in range(0, size, step)]
        messages = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
        return asyncio.run(posted(api, *messages, {"type": "http.request", "body": b"", "more_body": False}))[0]

    assert status(MIB) == 200
    assert status(MIB + 1) == 413
    assert len(admin.get("/api/jobs").json()["jobs"]) == 1


def test_a_body_that_is_refused_says_why(admin: TestClient) -> None:
    answer = admin.post("/api/jobs", content=b" " * (MIB + 1), headers=JSON)

    assert answer.json() == {"status": "error", "error": "the body is larger than 1048576 bytes"}


def test_a_client_that_goes_away_in_the_middle_of_a_body_has_asked_nothing(api: Api, admin: TestClient) -> None:
    begun = {"type": "http.request", "body": b'{"job_type_uuid": "report"}', "more_body": True}

    status, body = asyncio.run(posted(api, begun, {"type": "http.disconnect"}))

    assert status == 400
    assert b"the connection ended in the middle of the body" in body
    assert admin.get("/api/jobs").json()["jobs"] == []


def test_a_list_of_jobs_holds_ten_thousand(admin: TestClient) -> None:
    wish = {"job_type_uuid": "report", "unique_key": "one"}

    assert len(admin.post("/api/jobs/bulk", json={"jobs": [wish] * 10_000}).json()["jobs"]) == 10_000
    assert admin.post("/api/jobs/bulk", json={"jobs": [wish] * 10_001}).status_code == 400


def test_a_list_of_events_holds_ten_thousand(admin: TestClient) -> None:
    assert len(admin.post("/events", json=[{}] * 10_000).json()["failed"]) == 10_000
    refused = admin.post("/events", json=[{}] * 10_001)
    assert refused.json() == {
        "status": "error",
        "error": "events: are 10001 in one call, the limit is 10000",
    }


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6])
def test_a_page_has_as_many_jobs_as_were_asked_for_and_every_job_once(admin: TestClient, size: int) -> None:
    made = [admin.post("/api/jobs", json={"job_type_uuid": "report"}).json()["uuid"] for _ in range(5)]
    (queue,) = admin.get("/api/queues").json()["queues"]

    for path in ("/api/jobs", f"/api/jobs/{queue['uuid']}/queued"):
        found: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            page = admin.get(path, params={"limit": size, "cursor": cursor} if cursor else {"limit": size}).json()
            assert len(page["jobs"]) <= size
            found += [job["uuid"] for job in page["jobs"]]
            cursor = page["cursor"]
        assert found == made


@pytest.mark.parametrize("path", ["/api/jobs", "/api/schedules", "/api/configurations"])
def test_a_cursor_has_an_end_too(admin: TestClient, path: str) -> None:
    answer = admin.get(path, params={"cursor": "x" * 513})

    assert answer.status_code == 400
    assert answer.json()["error"].startswith("cursor: ")


def test_configurations_come_in_pages(admin: TestClient) -> None:
    for number in range(5):
        dependencies = [{"type": "FILE", "resourceId": f"/{number}", "lifeDuration": 1}]
        assert admin.post("/api/configurations", json={"name": f"c{number}", "dependencies": dependencies}).is_success

    first = admin.get("/api/configurations?limit=3").json()
    rest = admin.get("/api/configurations", params={"limit": 3, "cursor": first["cursor"]}).json()

    assert [one["name"] for one in first["configurations"]] == ["c0", "c1", "c2"]
    assert [one["name"] for one in rest["configurations"]] == ["c3", "c4"]
    assert rest["cursor"] is None


def test_a_schedule_keeps_its_latest_ten_backfills(admin: TestClient) -> None:
    made = admin.post("/api/schedules", json={"job_type": "report", "cron": "0 0 1 * *"}).json()
    path = f"/api/schedules/{made['uuid']}"
    ids = []
    for month in range(1, 13):
        span = {"start": f"2025-{month:02}-01", "end": f"2025-{month:02}-02"}
        ids.append(admin.post(f"{path}/backfills", json=span).json()["id"])

    kept = [one["id"] for one in admin.get(path).json()["backfills"]]

    assert len(set(ids)) == 12
    assert kept == ids[2:]
    assert admin.get(f"{path}/backfills/{ids[1]}").status_code == 404
    assert admin.get(f"{path}/backfills/{ids[2]}").status_code == 200


def test_a_backfill_makes_no_more_jobs_than_its_limit_says(admin: TestClient) -> None:
    made = admin.post("/api/schedules", json={"job_type": "report", "cron": "0 0 * * *"}).json()
    path = f"/api/schedules/{made['uuid']}/backfills"
    ten_days = {"start": "2025-01-01", "end": "2025-01-11", "preview": True}

    assert admin.post(path, json={**ten_days, "max": 10}).json()["jobs"] == 10
    refused = admin.post(path, json={**ten_days, "max": 9})
    assert (refused.status_code, refused.json()["error"].partition(":")[0]) == (400, "max")
    for wrong in (0, 10_001):
        assert admin.post(path, json={**ten_days, "max": wrong}).status_code == 400


def test_a_note_has_a_thousand_letters(admin: TestClient) -> None:
    made = admin.post("/api/schedules", json={"job_type": "report", "cron": "0 0 * * *"}).json()
    pause = f"/api/schedules/{made['uuid']}/pause"

    assert admin.post(pause, json={"note": "x" * 1_000}).json()["note"] == "x" * 1_000
    assert admin.post(pause, json={"note": "x" * 1_001}).status_code == 400
