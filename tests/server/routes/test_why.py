"""Why something does not run, over HTTP. Which situations there are is tested with the engine."""

from starlette.testclient import TestClient

from tests.server.routes.test_definitions import create
from tests.server.routes.test_schedules import make

UNKNOWN = "0190b0c0-0000-7000-8000-000000000001"


def test_a_job_says_why_with_the_facts_and_nothing_that_is_not_known(admin: TestClient) -> None:
    create(admin)
    job = admin.post("/api/jobs", json={"job_type_uuid": "report", "delay": 60_000}).json()["uuid"]

    answer = admin.get(f"/api/jobs/{job}/why")

    assert answer.status_code == 200
    assert answer.json()["code"] == "not_due"
    assert answer.json()["sentence"].startswith("It waits until ")
    assert set(answer.json()) == {"code", "sentence", "until", "also"}
    assert [(one["code"], one["node_type"]) for one in answer.json()["also"]] == [("no_live_node", "default")]


def test_a_schedule_says_why(admin: TestClient) -> None:
    create(admin)
    path = make(admin, name="nightly", job_type="report", cron="30 2 * * *")
    admin.post(f"{path}/pause", json={"note": "audit"})

    answer = admin.get(f"{path}/why").json()

    assert (answer["code"], answer["note"]) == ("paused", "audit")


def test_a_configuration_says_why_and_names_the_dependency(admin: TestClient) -> None:
    dependency = {"type": "FILE", "resourceId": "/in", "lifeDuration": 60}
    admin.post("/api/configurations", json={"name": "arrival", "dependencies": [dependency]})

    answer = admin.get("/api/configurations/arrival/why").json()

    assert (answer["code"], answer["dependency"]) == ("dependency_missing", dependency)


def test_what_is_not_there_is_not_found(admin: TestClient) -> None:
    paths = [f"/api/jobs/{UNKNOWN}/why", f"/api/schedules/{UNKNOWN}/why", "/api/configurations/none/why"]

    assert [admin.get(path).status_code for path in paths] == [404, 404, 404]
