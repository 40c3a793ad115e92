"""Lists are cut by bytes as well as by number, and whoever follows the cursor gets all, each once."""

import msgspec
import pytest
from starlette.testclient import TestClient

from rota.model.topics.topic import TopicRecord
from rota.sdk import paging
from rota.sdk.call import Call
from rota.sdk.paging import Found
from rota.server.api import Api
from rota.server.routes import pages

COUNT = 40
TEXT = "x" * 1_000
"""Each thing has it, so that few fit into a page."""


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MAX_PAGE_BYTES", 10_000)
    monkeypatch.setattr(pages, "_FIRST_STEP", 4)
    monkeypatch.setattr(pages, "_STEP", 4)


def names() -> list[str]:
    return [f"one-{number:03}" for number in range(COUNT)]


def all_of(client: TestClient, path: str, noun: str, **query: str) -> tuple[list[str], int]:
    """What the pages of a list have, and the most that one has."""
    found: list[str] = []
    most = 0
    while True:
        page = client.get(path, params=query).json()
        found += [one["name"] for one in page[noun]]
        most = max(most, len(page[noun]))
        if page.get("cursor") is None:
            return found, most
        query["cursor"] = page["cursor"]


def make_job_types(client: TestClient) -> None:
    for name in names():
        body = {"name": name, "executor": "bash", "metadata": {"command": ["echo", TEXT]}}
        assert client.post("/api/job_types", json=body).status_code == 200


def test_job_types_are_cut(admin: TestClient) -> None:
    make_job_types(admin)

    found, most = all_of(admin, "/api/job_types", "job_types")

    assert found == names()
    assert most < COUNT / 2


def test_job_types_that_fit_have_no_cursor(admin: TestClient) -> None:
    assert admin.get("/api/job_types").json() == {"job_types": []}


def test_schedules_are_cut(admin: TestClient) -> None:
    admin.post("/api/job_types", json={"name": "a", "executor": "log"})
    for name in names():
        body = {"name": name, "job_type_uuid": "a", "interval": 60_000, "arguments": {"text": TEXT}}
        assert admin.post("/api/schedules", json=body).status_code == 200

    found, most = all_of(admin, "/api/schedules", "schedules")

    assert found == names()
    assert most < COUNT / 2


def test_configurations_are_cut(admin: TestClient) -> None:
    for name in names():
        waits = [{"type": "FILE", "resourceId": TEXT, "lifeDuration": 60}]
        assert admin.post("/api/configurations", json={"name": name, "dependencies": waits}).status_code == 200

    found, most = all_of(admin, "/api/configurations", "configurations")

    assert found == names()
    assert most < COUNT / 2


def test_the_audit_log_is_cut(admin: TestClient) -> None:
    make_job_types(admin)

    found, most = all_of(admin, "/api/audit", "changes", kind="job type")

    assert found == names()[::-1]
    assert most < COUNT / 2


def test_records_of_a_topic_are_cut(admin: TestClient, api: Api) -> None:
    api.engine.topics.publish("t", [TopicRecord(id=name, key=name, value=TEXT, time=0) for name in names()])
    found: list[str] = []
    offset, most = 0, 0
    while page := admin.get("/api/topics/t", params={"offset": offset}).json():
        if not page["records"]:
            break
        found += [one["key"] for one in page["records"]]
        offset, most = page["following"], max(most, len(page["records"]))

    assert found == names()
    assert most < COUNT / 2


def test_a_client_follows_the_pages_of_job_types(admin: TestClient) -> None:
    make_job_types(admin)
    following = paging.list_job_types()
    asked = next(following)
    requests = 0
    while isinstance(asked, Call):
        requests += 1
        page = admin.get(asked.path, params=asked.query).json()
        asked = following.send(msgspec.convert(page, asked.answer))

    assert requests > 2
    assert isinstance(asked, Found)
    assert [one.name for one in asked.item] == names()
