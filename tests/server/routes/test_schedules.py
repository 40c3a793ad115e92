"""Schedules over HTTP: seed 001's items, and everything beside them."""

from datetime import datetime
from typing import Any

import pytest
from starlette.testclient import TestClient

from rota.engine.definitions.ownership import MANAGED_BY_FILE
from rota.engine.schedules.ticker import Ticker
from rota.model.ids import new_id
from rota.model.schedules.request import ScheduleRequest
from rota.server.api import Api
from rota.store import Store
from tests.server.routes.test_definitions import create, status_and_error

DAY = 24 * 3_600_000


@pytest.fixture
def job_type(admin: TestClient) -> str:
    return create(admin)


@pytest.fixture
def nightly(admin: TestClient, job_type: str) -> str:
    """The path of a schedule."""
    return make(admin, name="nightly", job_type="report", cron="30 2 * * *", tz="Europe/Berlin", overlap="allow")


def make(client: TestClient, **fields: object) -> str:
    answer = client.post("/api/schedules", json=fields)
    assert answer.status_code == 200, answer.text
    return f"/api/schedules/{answer.json()['uuid']}"


def test_an_interval_item_is_as_synchrony_has_it(admin: TestClient, job_type: str) -> None:
    made = admin.post(
        "/api/schedules", json={"interval": 60000, "job_type_uuid": job_type, "job_arguments": {"a": 1}}
    ).json()
    listed = admin.get("/api/schedules").json()["schedules"]
    item = admin.get(f"/api/schedules/{made['uuid']}").json()

    assert made["status"] == "ok"
    assert listed == [item]
    assert {key: item[key] for key in ("uuid", "interval", "job_type_uuid", "job_arguments")} == {
        "uuid": made["uuid"],
        "interval": 60000,
        "job_type_uuid": job_type,
        "job_arguments": {"a": 1},
    }
    assert (item["last_scheduled_by"], item["last_scheduled_at"]) == (None, None)
    assert (item["overlap"], item["catch_up"]["mode"]) == ("allow", "none")


def test_an_item_says_who_scheduled_it_last(admin: TestClient, api: Api, kept: Store, job_type: str) -> None:
    path = make(admin, interval=60000, job_type_uuid=job_type)
    now = kept.now() + 1

    Ticker(kept, api.engine.definitions, node="the-node").run_once(now)

    item = admin.get(path).json()
    assert (item["last_scheduled_by"], item["last_scheduled_at"]) == ("the-node", now)
    (tick,) = admin.get(f"{path}/ticks").json()["ticks"]
    assert (tick["status"], tick["by"]) == ("fired", "the-node")
    assert admin.get(f"/api/jobs/{tick['job']}").json()["cause"]["kind"] == "schedule"


def test_unknown_things_are_answered_as_synchrony_does(admin: TestClient) -> None:
    unknown = new_id(1)

    assert admin.post("/api/schedules", json={"interval": 1, "job_type_uuid": unknown}).status_code == 404
    assert admin.get(f"/api/schedules/{unknown}").status_code == 404
    deleted = admin.delete(f"/api/schedules/{unknown}")
    assert (deleted.status_code, deleted.json()) == (200, {"status": "ok", "uuid": unknown})


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "cron"),
        ({"interval": 0}, "interval"),
        ({"interval": -1}, "interval"),
        ({"interval": "soon"}, "interval"),
        ({"interval": 1.5}, "interval"),
        ({"cron": "61 * * * *"}, "cron"),
        ({"cron": "0 0 30 2 *"}, "cron"),
        ({"cron": "* * * * *", "interval": 5}, "cron"),
        ({"cron": "* * * * *", "tz": "America/NewYork"}, "tz"),
        ({"cron": "* * * * *", "max_runs": 0}, "max_runs"),
        ({"cron": "* * * * *", "start": 5, "end": 4}, "end"),
        ({"cron": "* * * * *", "overlap": "maybe"}, "overlap"),
        ({"cron": "* * * * *", "crown": 1}, "crown"),
        ({"cron": "* * * * *", "job_type_uuid": "b30833c1-83b0-4dda-a439-97e3c97bbaa5"}, "job_type_uuid"),
    ],
)
def test_what_cannot_be_meant_names_the_field_and_stores_nothing(
    admin: TestClient, job_type: str, fields: dict[str, object], field: str
) -> None:
    status, error = status_and_error(admin.post("/api/schedules", json={"job_type": "report", **fields}))

    assert status == 400
    assert error.startswith(f"{field}: ")
    assert admin.get("/api/schedules").json()["schedules"] == []


def test_a_name_belongs_to_one_schedule(admin: TestClient, nightly: str) -> None:
    answer = admin.post("/api/schedules", json={"name": "nightly", "job_type": "report", "interval": 5})

    assert answer.status_code == 409


def test_lists_come_in_pages_and_by_job_type(admin: TestClient, job_type: str) -> None:
    create(admin, name="other")
    for number in range(5):
        make(admin, name=f"s{number}", job_type="other" if number % 2 else "report", interval=5)

    first = admin.get("/api/schedules", params={"limit": 2, "job_type": "report"}).json()
    rest = admin.get("/api/schedules", params={"limit": 2, "job_type": "report", "cursor": first["cursor"]}).json()

    assert [one["name"] for one in first["schedules"] + rest["schedules"]] == ["s0", "s2", "s4"]
    assert rest["cursor"] is None


def test_a_schedule_is_defined_anew_or_in_part(admin: TestClient, nightly: str) -> None:
    whole = {"name": "daily", "job_type": "report", "cron": "0 3 * * *", "priority": 4}

    replaced = admin.put(nightly, json=whole).json()
    changed = admin.patch(nightly, json={"overlap": "skip", "priority": None}).json()

    assert (replaced["name"], replaced["words"], replaced["priority"]) == ("daily", "at 3:00 every day", 4)
    assert (changed["words"], changed["overlap"], changed["priority"]) == ("at 3:00 every day", "skip", 0)
    assert changed["version"] > replaced["version"]


def test_a_change_of_another_version_is_a_conflict(admin: TestClient, nightly: str) -> None:
    assert admin.patch(nightly, json={"priority": 1, "version": 99}).status_code == 409
    assert admin.patch(nightly, json={"priority": 1, "version": 1}).status_code == 200


def test_a_schedule_rests_and_goes_on(admin: TestClient, nightly: str) -> None:
    paused = admin.post(f"{nightly}/pause", json={"note": "the database moves"}).json()
    resumed = admin.post(f"{nightly}/resume", json={}).json()

    assert (paused["paused"], paused["note"], paused["next"]) == (True, "the database moves", None)
    assert (resumed["paused"], resumed["note"]) == (False, None)


def test_a_schedule_is_run_by_hand(admin: TestClient, nightly: str) -> None:
    made = admin.post(f"{nightly}/run", json={}).json()

    assert admin.get(f"/api/jobs/{made['uuid']}").json()["cause"]["kind"] == "manual"


def test_a_deleted_schedule_is_gone(admin: TestClient, nightly: str) -> None:
    assert admin.delete(nightly).status_code == 200
    assert admin.get(nightly).status_code == 404


def test_the_next_fires_of_a_schedule_and_of_a_line(admin: TestClient, nightly: str) -> None:
    query: dict[str, Any] = {"start": "2026-03-28T12:00", "count": 1}

    of_schedule = admin.get(f"{nightly}/next", params=query).json()
    of_line = admin.get("/api/cron", params={**query, "cron": "30 2 * * *", "tz": "Europe/Berlin"}).json()

    assert of_schedule == of_line
    assert of_line["fires"][0]["local"] == "2026-03-29T03:00:00+02:00"
    assert of_line["fires"][0]["note"] == "29 Mar: 02:30 does not exist → 03:00"
    assert admin.get("/api/cron", params={"cron": "* 2 * * *"}).json()["warnings"]
    assert admin.get("/api/cron", params={"cron": "nonsense"}).status_code == 400


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("20260328", "2026-03-28T12:00:00Z"),
        ("2026-03-28", "2026-03-28T12:00:00Z"),
        ("2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z"),
        ("1774699199999", "2026-03-28T12:00:00Z"),
        ("1774699200000", "2026-03-29T12:00:00Z"),
        ("999999999", "1970-01-13T12:00:00Z"),
    ],
)
def test_fires_are_counted_after_a_day_a_time_or_an_instant(admin: TestClient, start: str, expected: str) -> None:
    fires = admin.get("/api/cron", params={"cron": "0 12 * * *", "start": start, "count": 1}).json()["fires"]

    assert [one["instant"] for one in fires] == [_instant(expected)]


def _instant(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def test_a_backfill_is_previewed_made_watched_and_cancelled(admin: TestClient, nightly: str) -> None:
    span = {"start": "2026-01-01", "end": "2026-01-11"}

    preview = admin.post(f"{nightly}/backfills", json={**span, "preview": True}).json()
    assert admin.get("/api/jobs").json()["jobs"] == []
    made = admin.post(f"{nightly}/backfills", json=span).json()
    again = admin.post(f"{nightly}/backfills", json=span).json()
    progress = admin.get(f"{nightly}/backfills/{made['id']}").json()
    cancelled = admin.post(f"{nightly}/backfills/{made['id']}/cancel", json={}).json()

    assert preview["jobs"] == made["jobs"] == 10
    assert (again["jobs"], again["already_made"]) == (0, 10)
    assert progress["jobs"]["queued"] == 10
    assert cancelled["jobs"]["cancelled"] == 10
    assert admin.get(nightly).json()["backfills"][0]["cancelled"]
    assert admin.get(f"{nightly}/backfills/nothing").status_code == 404


def test_every_wish_of_a_backfill_is_heard(admin: TestClient, nightly: str) -> None:
    span = {"start": "2026-01-01", "end": "2026-01-03"}
    path = f"{nightly}/backfills"

    plain = admin.post(path, json=span).json()
    asked = admin.post(path, json={**span, "force": True, "overlap": "allow", "priority": 7}).json()

    assert [plain[key] for key in ("jobs", "force", "overlap", "priority")] == [2, False, "buffer_all", -100]
    assert [asked[key] for key in ("jobs", "force", "overlap", "priority")] == [2, True, "allow", 7]
    assert plain["id"] != asked["id"]
    assert {job["priority"] for job in admin.get("/api/jobs").json()["jobs"]} == {-100, 7}
    assert len(admin.get("/api/jobs").json()["jobs"]) == 4


def test_ticks_are_read_backwards_page_by_page(admin: TestClient, api: Api, kept: Store, job_type: str) -> None:
    path = make(admin, name="often", job_type="report", interval=1_000, overlap="allow")
    ticker = Ticker(kept, api.engine.definitions, node="the-node")
    now = kept.now()
    for step in range(1, 4):
        ticker.run_once(now + step * 1_000)

    rows = admin.get(f"{path}/ticks").json()["ticks"]
    nominals = [row["nominal"] for row in rows]

    assert len(rows) == 3
    assert nominals == sorted(nominals, reverse=True)
    assert admin.get(f"{path}/ticks?limit=2").json()["ticks"] == rows[:2]
    assert admin.get(f"{path}/ticks", params={"before": nominals[1]}).json()["ticks"] == rows[2:]


@pytest.mark.parametrize(
    ("query", "local"),
    [
        ({"cron": "30 2 29 * 1"}, "2026-03-29T03:00:00+02:00"),
        ({"cron": "30 2 29 * 1", "dst": "skip"}, "2026-03-30T02:30:00+02:00"),
        ({"cron": "30 2 29 * 1", "tz": "UTC"}, "2026-03-29T02:30:00+00:00"),
        ({"cron": "30 2 29 * 1", "days": "both"}, "2026-06-29T02:30:00+02:00"),
        ({"cron": "30 2 * * 1"}, "2026-03-30T02:30:00+02:00"),
        ({"cron": "30 4 * * 1", "dialect": "quartz"}, "2026-03-29T04:30:00+02:00"),
        ({"cron": "30 2 * * *", "start": "2026-05-01"}, "2026-05-01T02:30:00+02:00"),
        ({"cron": "30 2 * * *", "start": "1777593600000"}, "2026-05-01T02:30:00+02:00"),
        ({"cron": "30 2 * * *", "start": "20260501"}, "2026-05-01T02:30:00+02:00"),
    ],
)
def test_every_wish_about_a_cron_line_is_heard(admin: TestClient, query: dict[str, str], local: str) -> None:
    asked = {"tz": "Europe/Berlin", "start": "2026-03-28T12:00", "count": "1", **query}

    answer = admin.get("/api/cron", params=asked)

    assert [fire["local"] for fire in answer.json()["fires"]] == [local]


def test_what_stands_in_the_file_is_changed_there_only(admin: TestClient, api: Api, job_type: str) -> None:
    wish = ScheduleRequest(job_type="report", name="of-file", interval=5)
    path = f"/api/schedules/{api.engine.schedules.create(wish, managed_by=MANAGED_BY_FILE).schedule.uuid}"

    assert admin.patch(path, json={"priority": 1}).status_code == 409
    assert admin.put(path, json={"job_type": "report", "interval": 6}).status_code == 409
    assert admin.delete(path).status_code == 409
    assert admin.post(f"{path}/pause", json={}).status_code == 200


def test_a_job_type_with_schedules_is_not_deleted(admin: TestClient, nightly: str, job_type: str) -> None:
    status, error = status_and_error(admin.delete(f"/api/job_types/{job_type}"))

    assert status == 409
    assert "nightly" in error
