"""The API takes the words that files and the command line have."""

import pytest
from starlette.testclient import TestClient


@pytest.fixture(autouse=True)
def job_type(admin: TestClient) -> None:
    admin.post("/api/job_types", json={"name": "report", "executor": "log"})


def schedule(client: TestClient, **fields: object) -> dict[str, object]:
    answer = client.post("/api/schedules", json={"job_type": "report", **fields})
    assert answer.status_code == 200, answer.text
    shown: dict[str, object] = client.get(f"/api/schedules/{answer.json()['uuid']}").json()
    return shown


@pytest.mark.parametrize("word", ["interval", "every"])
@pytest.mark.parametrize("value", ["90s", 90_000])
def test_every_and_interval_are_the_same(admin: TestClient, word: str, value: object) -> None:
    assert schedule(admin, **{word: value})["interval"] == 90_000


@pytest.mark.parametrize("word", ["arguments", "job_arguments"])
def test_arguments_of_a_schedule_have_two_names(admin: TestClient, word: str) -> None:
    assert schedule(admin, every="90s", **{word: {"a": 1}})["job_arguments"] == {"a": 1}


def test_two_words_for_the_same_are_one_too_many(admin: TestClient) -> None:
    answer = admin.post("/api/schedules", json={"job_type": "report", "every": "5s", "interval": "5s"})

    assert answer.status_code == 400
    assert answer.json()["error"] == "every: means the same as interval; give one of them"


@pytest.mark.parametrize("word", ["job_type", "job_type_uuid"])
def test_a_job_is_enqueued_by_the_words_of_any_surface(admin: TestClient, word: str) -> None:
    answer = admin.post("/api/jobs", json={word: "report", "timeout": "1m", "delay": "2h"})

    job = admin.get(f"/api/jobs/{answer.json()['uuid']}").json()
    assert (job["job_type"], job["timeout"]) == ("report", 60_000)
    assert job["available_at"] - job["enqueued_at"] == 7_200_000


def test_the_job_type_of_a_schedule_is_a_name_under_either_word(admin: TestClient) -> None:
    answer = admin.post("/api/schedules", json={"job_type_uuid": "report", "interval": 5_000})

    assert admin.get(f"/api/schedules/{answer.json()['uuid']}").json()["job_type"] == "report"


def test_a_timeout_is_a_duration_in_every_body(admin: TestClient) -> None:
    admin.post("/api/job_types", json={"name": "slow", "executor": "log", "timeout": "1m"})
    changed = admin.patch("/api/job_types/slow", json={"timeout": "90s"}).json()
    cleared = admin.patch("/api/job_types/slow", json={"timeout": None}).json()
    kept = admin.patch("/api/job_types/report", json={"timeout": "5s"}).json()
    later = admin.patch("/api/job_types/report", json={"unique": True}).json()

    assert (changed["timeout"], cleared["timeout"], kept["timeout"], later["timeout"]) == (90_000, None, 5_000, 5_000)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("60", 'timeout: "60" has no unit; write 60s for seconds'),
        ("2 years", 'timeout: "2 years" is not a duration'),
        ("366d", "timeout: must be from 1 millisecond to 365 days, got 366 days"),
    ],
)
def test_a_bad_duration_is_told_in_words(admin: TestClient, value: str, said: str) -> None:
    answer = admin.post("/api/job_types", json={"name": "slow", "executor": "log", "timeout": value})

    assert answer.status_code == 400
    assert answer.json()["error"].startswith(said)
