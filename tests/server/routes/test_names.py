"""Names: what people call things, in paths and bodies wherever a uuid is taken."""

from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from rota.model.ids import new_id
from tests.server.serving import BASE

HUMAN = "Nightly report (EU)"
NAMES = [HUMAN, "team/report", "50 % off?", "日報", "0123456789ABCDEFabcdef0123456789"]


def at(noun: str, name: str, rest: str = "") -> str:
    return f"/api/{noun}/{quote(name, safe='')}{rest}"


@pytest.mark.parametrize("name", NAMES)
def test_a_job_type_is_found_changed_and_removed_by_its_name(admin: TestClient, name: str) -> None:
    uuid = admin.post("/api/job_types", json={"name": name, "executor": "log"}).json()["uuid"]

    shown = admin.get(at("job_types", name)).json()
    changed = admin.patch(at("job_types", name), json={"timeout": 5}).json()
    put = admin.put(at("job_types", name), json={"name": name, "executor": "log", "timeout": 7}).json()
    removed = admin.delete(at("job_types", name)).json()

    assert (shown["uuid"], shown["name"]) == (uuid, name)
    assert (changed["timeout"], put["timeout"], put["uuid"]) == (5, 7, uuid)
    assert removed == {"status": "ok", "uuid": uuid}
    assert admin.get(at("job_types", name)).status_code == 404


@pytest.mark.parametrize("name", NAMES)
def test_a_node_type_is_made_and_used_by_its_name(admin: TestClient, name: str) -> None:
    made = admin.post(at("node_types", name), json={"name": name, "thread_count": 2})
    uuid = admin.get(at("node_types", name)).json()["uuid"]
    again = admin.post(at("node_types", name), json={"name": name, "thread_count": 3})

    assert made.status_code == again.status_code == 200
    assert admin.get(at("node_types", uuid)).json()["thread_count"] == 3
    assert admin.post(at("node_types", name, "/pause"), json={}).json()["uuid"] == uuid
    assert admin.post(at("node_types", name, "/resume"), json={}).json()["uuid"] == uuid
    for place in ("queued", "in_progress", "finished"):
        assert admin.get(at("jobs", name, f"/{place}")).json() == {"jobs": [], "cursor": None}
    assert admin.delete(at("node_types", name)).json()["uuid"] == uuid


def test_a_node_type_that_is_there_keeps_its_name_unless_another_is_given(admin: TestClient) -> None:
    uuid = admin.get("/api/node_types/default").json()["uuid"]

    by_name = admin.post("/api/node_types/default", json={"thread_count": 5})
    by_uuid = admin.post(at("node_types", uuid), json={"thread_count": 7})

    assert by_name.status_code == by_uuid.status_code == 200
    assert admin.get("/api/node_types/default").json()["thread_count"] == 7
    assert admin.post("/api/node_types/defualt", json={"thread_count": 5}).status_code == 404
    assert admin.post(at("node_types", new_id(1)), json={"thread_count": 5}).status_code == 400


def test_a_node_type_that_is_not_there_is_not_made_under_another_name(admin: TestClient) -> None:
    answer = admin.post("/api/node_types/fast", json={"name": "slow", "thread_count": 2})

    assert answer.status_code == 404
    assert admin.get("/api/node_types/slow").status_code == 404


def test_a_new_node_type_has_the_uuid_that_its_body_names(admin: TestClient) -> None:
    """In lower case, as all are."""
    uuid = new_id(1)

    made = admin.post("/api/node_types/fast", json={"name": "fast", "uuid": uuid.upper(), "thread_count": 2})

    assert made.status_code == 200, made.text
    assert admin.get("/api/node_types/fast").json()["uuid"] == uuid
    again = admin.post("/api/node_types/fast", json={"name": "fast", "uuid": new_id(2), "thread_count": 2})
    assert again.status_code == 400


def test_a_job_that_has_not_ended_or_is_another_queues_is_no_finished_one(admin: TestClient) -> None:
    admin.post("/api/node_types/other", json={"name": "other", "thread_count": 1})
    admin.post("/api/job_types", json={"name": "a", "executor": "log"})
    waiting, ended = (admin.post("/api/jobs", json={"job_type_uuid": "a"}).json()["uuid"] for _ in range(2))
    admin.post(f"/api/jobs/{ended}/cancel", json={})

    statuses = {path: admin.get(f"/api/jobs/{path}").status_code for path in (f"default/{waiting}", f"other/{ended}")}

    assert set(statuses.values()) == {404}
    assert admin.get(f"/api/jobs/default/{ended}").status_code == 200


def test_a_finished_job_is_found_by_the_name_of_its_node_type(admin: TestClient) -> None:
    admin.post("/api/job_types", json={"name": "a", "executor": "log"})
    job = admin.post("/api/jobs", json={"job_type_uuid": "a"}).json()["uuid"]
    admin.post(f"/api/jobs/{job}/cancel", json={})

    assert admin.get(f"/api/jobs/default/{job}").json()["uuid"] == job
    assert admin.get(f"/api/jobs/nothing/{job}").status_code == 404


@pytest.mark.parametrize("name", NAMES)
def test_a_schedule_is_found_by_its_name_wherever_its_uuid_is_taken(admin: TestClient, name: str) -> None:
    admin.post("/api/job_types", json={"name": "a", "executor": "log"})
    body = {"name": name, "job_type": "a", "interval": "1h"}
    uuid = admin.post("/api/schedules", json=body).json()["uuid"]

    job = admin.post(at("schedules", name, "/run"), json={}).json()["uuid"]

    assert admin.get(at("schedules", name)).json()["uuid"] == uuid
    assert admin.patch(at("schedules", name), json={"interval": "2h"}).json()["interval"] == 7_200_000
    assert admin.put(at("schedules", name), json=body).json()["interval"] == 3_600_000
    assert admin.post(at("schedules", name, "/pause"), json={"note": "x"}).json()["paused"]
    assert not admin.post(at("schedules", name, "/resume"), json={}).json()["paused"]
    for part in ("why", "ticks", "next"):
        assert admin.get(at("schedules", name, f"/{part}")).status_code == 200
    assert admin.get("/api/jobs", params={"schedule": name}).json()["jobs"] == []
    assert admin.get(f"/api/jobs/{job}").status_code == 200
    assert admin.delete(at("schedules", name)).json()["uuid"] == uuid


def test_jobs_of_a_schedule_are_listed_by_its_name(admin: TestClient) -> None:
    admin.post("/api/job_types", json={"name": "a", "executor": "log"})
    admin.post("/api/schedules", json={"name": HUMAN, "job_type": "a", "cron": "0 * * * *"})
    past = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-01T02:00:00Z"}
    made = admin.post(at("schedules", HUMAN, "/backfills"), json=past).json()

    assert admin.get(at("schedules", HUMAN, f"/backfills/{made['id']}")).status_code == 200
    assert admin.get("/api/jobs", params={"schedule": "nothing"}).status_code == 404


@pytest.mark.parametrize("name", NAMES)
def test_a_configuration_has_a_human_name_too(admin: TestClient, name: str) -> None:
    waits = [{"type": "FILE", "resourceId": "/in/", "lifeDuration": 60}]
    uuid = admin.post("/api/configurations", json={"name": name, "dependencies": waits}).json()["uuid"]

    assert admin.get(at("configurations", name)).json()["uuid"] == uuid
    assert admin.get(at("configurations", name, "/why")).status_code == 200
    assert admin.delete(at("configurations", name)).json()["uuid"] == uuid


def test_a_uuid_that_is_not_there_is_gone_but_a_name_is_a_mistake(admin: TestClient) -> None:
    assert admin.delete("/api/schedules/01890a5d-ac96-774b-bcce-b302099a8057").status_code == 200
    assert admin.delete("/api/schedules/nighly").status_code == 404


def test_a_bad_name_is_told_in_words_and_never_as_a_pattern(admin: TestClient) -> None:
    answer = admin.post("/api/job_types", json={"name": ".hidden", "executor": "log"})

    assert answer.status_code == 400
    assert answer.json()["error"].startswith("name: '.hidden' is not a name: 1 to 128 visible characters on one line")
    for word in ("regex", "[", "^"):
        assert word not in answer.json()["error"]


def test_the_root_links_to_what_is_there(admin: TestClient) -> None:
    for_programs = TestClient(admin.app, BASE).get("/")
    for_browsers = admin.get("/", headers={"Accept": "text/html"})

    assert (for_programs.status_code, for_browsers.status_code) == (200, 200)
    for path in ("/docs", "/openapi.json", "/health"):
        assert f"\n{path}  " in for_programs.text
        assert f'href="{path}"' in for_browsers.text
        assert admin.get(path).status_code == 200
