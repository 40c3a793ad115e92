"""The examination of an installation by its server."""

from collections.abc import Iterable
from contextlib import closing

import pytest
from starlette.testclient import TestClient

from rota.engine.access.keys.access import Role, read_scopes
from rota.engine.access.keys.named_keys import make_key
from rota.server.api import Api
from rota.store import Store, open_store
from rota.store.records.unreadable import SET_ASIDE_EVENT
from tests.contract.raw_records import change_records
from tests.server.serving import make_api, served
from tests.servers import RedisServer, raw_command


def test_a_redis_with_a_password_is_examined_and_its_password_is_not_told() -> None:
    with RedisServer() as server:
        raw_command(server.port, "CONFIG", "SET", "requirepass", "s3cret-word")
        with closing(open_store(f"redis://:s3cret-word@{server.address}/0")) as store:
            with served(make_api(store)) as client:
                answer = client.get("/api/doctor")

            assert answer.status_code == 200, answer.text
            assert "s3cret-word" not in answer.text + store.url


@pytest.fixture
def unreadable(api: Api, admin: TestClient, kept: Store) -> dict[str, str]:
    """A job, a schedule, a configuration and an event that cannot be read: kind to id."""
    admin.post("/api/job_types", json={"name": "one", "executor": "log", "metadata": {}}).raise_for_status()
    admin.post("/api/schedules", json={"name": "one", "job_type": "one", "interval": 60_000}).raise_for_status()
    needs = [{"type": "FILE", "resourceId": "/in", "lifeDuration": 60}]
    admin.post("/api/configurations", json={"name": "one", "dependencies": needs}).raise_for_status()
    job_type = api.engine.definitions.job_type("one").uuid
    job_id = admin.post("/api/jobs", json={"job_type_uuid": job_type}).json()["uuid"]
    found = {
        "job": job_id,
        "schedule": kept.schedule_uuid("one") or "",
        "configuration": kept.configuration_uuid("one") or "",
    }
    for kind, key in found.items():
        change_records(kept, "spec" if kind == "job" else kind, key, lambda _: b"{")
    kept.put_setting(SET_ASIDE_EVENT + "some", "{")
    return {**found, "event": "some"}


def test_what_a_repair_forgets_is_in_the_audit_log(admin: TestClient, kept: Store, unreadable: dict[str, str]) -> None:
    before = {entry.id for entry in kept.list_audit(limit=100)}

    admin.post("/api/doctor", json={"forget_unreadable": True}).raise_for_status()

    entries = [entry for entry in kept.list_audit(limit=100) if entry.id not in before]
    assert {entry.kind: entry.uuid for entry in entries if entry.action == "delete"} == unreadable
    assert {(entry.who, entry.is_done) for entry in entries} == {("admin", True)}
    assert kept.find_jobs([unreadable["job"]]) == [None]


def test_what_is_not_forgotten_leaves_no_entry(admin: TestClient, kept: Store, unreadable: dict[str, str]) -> None:
    before = len(kept.list_audit(limit=100))

    admin.get("/api/doctor").raise_for_status()
    admin.post("/api/doctor", json={}).raise_for_status()

    assert len(kept.list_audit(limit=100)) == before


@pytest.mark.parametrize(
    ("repair", "needed"),
    [
        ("forget_unreadable", ["types:w", "jobs:w", "sched:w", "config:w", "events:w"]),
        ("set_back", ["types:w", "sched:w"]),
    ],
)
def test_a_repair_needs_the_scopes_of_what_it_changes(kept: Store, repair: str, needed: list[str]) -> None:
    enough = headers_with(kept, "enough", needed)
    too_little = {lacking: headers_with(kept, lacking, set(needed) - {lacking}) for lacking in needed}

    with served(make_api(kept)) as client:
        answers = {
            lacking: client.post("/api/doctor", json={repair: True}, headers=headers)
            for lacking, headers in too_little.items()
        }
        assert client.post("/api/doctor", json={repair: True}, headers=enough).status_code == 200

    assert {answer.status_code for answer in answers.values()} == {403}
    assert all(f"lacks the scope {lacking}" in answer.text for lacking, answer in answers.items())


def headers_with(store: Store, name: str, scopes: Iterable[str]) -> dict[str, str]:
    """Of a new key with these scopes."""
    given = read_scopes(scopes, Role.ADMIN)
    key, _ = make_key(store, name, role=Role.ADMIN, scopes=given, expires_at=None, now=1)
    return {"Authorization": f"Bearer {key}"}
