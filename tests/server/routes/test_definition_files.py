"""Files of definitions over HTTP."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from rota.engine.access.keys.access import Role
from rota.server.api import Api
from rota.server.app import make_app
from rota.store import Store
from tests.server.auth.test_authorisation import shown
from tests.server.serving import BASE

FILE = {
    "node_types": [{"name": "big", "thread_count": 3}],
    "job_types": [{"name": "report", "executor": "bash", "metadata": {"command": ["true"]}, "node_type": "big"}],
    "schedules": [{"name": "nightly", "job_type": "report", "cron": "0 2 * * *"}],
    "configurations": [
        {
            "name": "arrivals",
            "job": {"job_type": "report"},
            "dependencies": [{"type": "FILE", "resourceId": "/in/", "lifeDuration": 60}],
        }
    ],
}


def sent(client: TestClient, verb: str, file: object = FILE, **more: object) -> Any:
    return client.post(f"/api/definitions/{verb}", json={"owner": "shop", "file": file, **more})


def changes(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [f"{one['action']} {one['kind']} {one['name']}" for one in answer.json()["changes"]]


def test_a_file_is_compared_applied_and_owned(admin: TestClient) -> None:
    before = changes(sent(admin, "diff"))
    nothing = admin.get("/api/schedules").json()["schedules"]
    applied = changes(sent(admin, "apply"))

    assert before == applied
    assert before == [
        "create node type big",
        "create job type report",
        "create schedule nightly",
        "create configuration arrivals",
    ]
    assert nothing == []
    assert admin.get("/api/schedules/nightly").json()["managed_by"] == "file:shop"
    assert admin.delete("/api/schedules/nightly").status_code == 409
    assert changes(sent(admin, "diff")) == []


def test_what_the_owners_file_no_longer_has_goes_and_nothing_else(admin: TestClient) -> None:
    sent(admin, "apply")
    other = {"job_types": [{"name": "other", "executor": "log"}]}

    assert changes(sent(admin, "apply", other, owner="depot")) == ["create job type other"]
    assert changes(sent(admin, "diff", {})) == [
        "delete node type big",
        "delete job type report",
        "delete schedule nightly",
        "delete configuration arrivals",
    ]
    assert "delete job type other" in changes(sent(admin, "diff", {}, prune=True))


def test_bad_input_is_named_and_nothing_is_changed(admin: TestClient) -> None:
    bad = {**FILE, "schedules": [{"name": "nightly", "job_type": "report", "cron": "0 25 * * *"}]}

    refused = sent(admin, "apply", bad)

    assert refused.status_code == 400
    assert refused.json()["error"].startswith("file: schedules[0].cron: ")
    assert admin.get("/api/job_types").json()["job_types"] == []
    assert "did you mean 'job_types'" in sent(admin, "apply", {"job_type": []}).json()["error"]
    assert sent(admin, "apply", owner="").status_code == 400
    assert sent(admin, "apply", owner="app:shop").status_code == 400


def test_what_looks_like_a_slip_is_told(admin: TestClient) -> None:
    file = {
        "job_types": [{"name": "report", "executor": "log"}],
        "schedules": [{"name": "rare", "job_type": "report", "cron": "0 0 29 2 *"}],
    }

    hints = sent(admin, "diff", file).json()["hints"]

    assert len(hints) == 1
    assert hints[0].startswith("schedule rare: ")


def test_the_audit_log_names_the_key_that_applied_a_file(admin: TestClient) -> None:
    sent(admin, "apply")

    entries = [one for one in admin.get("/api/audit").json()["changes"] if one["name"] != "default"]
    assert {one["kind"] for one in entries} == {"node type", "job type", "schedule", "configuration"}
    assert {one["who"] for one in entries} == {"admin"}
    assert all(one["origin"].startswith("api ") for one in entries)


@pytest.mark.parametrize("missing", ["sched:w", "config:w", "jobs:w", "events:w"])
@pytest.mark.parametrize("verb", ["diff", "apply"])
def test_a_key_that_may_not_define_all_applies_nothing(api: Api, kept: Store, verb: str, missing: str) -> None:
    scopes = [one for one in ("types:w", "sched:w", "config:w", "jobs:w", "events:w") if one != missing]
    client = TestClient(make_app(api), BASE, headers=shown(kept, "some", Role.ADMIN, *scopes))

    refused = sent(client, verb)

    assert refused.status_code == 403
    assert missing in refused.json()["error"]
    assert kept.list_job_types() == []
    api.close()
