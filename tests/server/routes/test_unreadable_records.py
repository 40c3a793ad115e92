"""The API answers beside records that cannot be read, and shows those that have a place of their own."""

from starlette.testclient import TestClient

from rota.engine.access.keys.access import Role, read_scopes
from rota.engine.access.keys.named_keys import make_key
from rota.server.api import Api
from rota.store import Store
from tests.contract.raw_records import change_records
from tests.server.serving import make_api, served


def break_it(record: bytes) -> bytes:
    return b"{"


def test_every_listing_answers_beside_broken_records(api: Api, admin: TestClient, kept: Store) -> None:
    for name in ("good", "bad"):
        admin.post("/api/job_types", json={"name": name, "executor": "log", "metadata": {}}).raise_for_status()
        admin.post("/api/schedules", json={"name": name, "job_type": "good", "interval": 60_000}).raise_for_status()
        needs = [{"type": "FILE", "resourceId": f"/{name}", "lifeDuration": 60}]
        admin.post("/api/configurations", json={"name": name, "dependencies": needs}).raise_for_status()
    job_type = api.engine.definitions.job_type("good").uuid
    jobs = [admin.post("/api/jobs", json={"job_type_uuid": job_type}).json()["uuid"] for _ in range(2)]
    bad_job = jobs[1]
    queue = api.engine.definitions.node_type("default").uuid
    broken = {
        "spec": bad_job,
        "job type": api.engine.definitions.job_type("bad").uuid,
        "schedule": kept.schedule_uuid("bad") or "",
        "configuration": kept.configuration_uuid("bad") or "",
    }
    for kind, key in broken.items():
        change_records(kept, kind, key, break_it, queue=queue)
    api.engine.definitions.define_node_type(
        api.engine.definitions.node_type("default")
    )  # so that definitions are read anew

    answers = {
        path: admin.get(f"/api/{path}")
        for path in ("jobs", "job_types", "schedules", "configurations", "queues", "nodes")
    }

    assert {answer.status_code for answer in answers.values()} == {200}
    shown = admin.get(f"/api/jobs/{bad_job}").json()
    assert (shown.get("job") or shown)["cause"]["kind"] == "unreadable"
    posted = admin.post(
        "/events", json={"eventType": "FILE", "eventResourceId": "/good", "eventTimestamp": "2021-01-01T00:00:00Z"}
    )
    assert posted.status_code == 200
    assert [one["configuration"] for one in posted.json()["validated"]] == ["good"]


def test_a_broken_key_keeps_nobody_else_out(kept: Store) -> None:
    kept.put_setting("key:broken", "{")
    key, _ = make_key(kept, "reader", role=Role.VIEWER, scopes=read_scopes([], Role.VIEWER), expires_at=None, now=0)

    with served(make_api(kept), key=key) as client:
        assert client.get("/api/jobs").status_code == 200
