"""Job types, node types and nodes over HTTP: changing and removing what is defined."""

import asyncio
from typing import Any

import pytest
from starlette.testclient import TestClient

from rota.engine.definitions.ownership import MANAGED_BY_FILE
from rota.engine.node.node import Node
from rota.engine.node.options import NodeOptions
from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.model.node import Node as NodeRecord
from rota.model.node import NodeType
from rota.server.api import Api
from rota.store import Store
from rota.testing import ManualClock
from tests.contract.building import beat
from tests.server.serving import make_api, served
from tests.servers import wait_until

REPORT: dict[str, Any] = {"name": "report", "executor": "log", "metadata": {"message": "hello"}}


def create(client: TestClient, **changes: object) -> str:
    answer = client.post("/api/job_types", json={**REPORT, **changes})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["uuid"])


def status_and_error(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]


def test_a_name_is_given_to_one_job_type(admin: TestClient) -> None:
    create(admin)

    status, error = status_and_error(admin.post("/api/job_types", json=REPORT))

    assert status == 409
    assert "'report' already" in error


@pytest.mark.parametrize(
    ("given", "shown"), [(True, True), (False, False), ("while_running", True), ("while_pending", "while_pending")]
)
def test_unique_is_a_flag_or_a_word(admin: TestClient, given: object, shown: object) -> None:
    uuid = create(admin, unique=given)

    assert admin.get(f"/api/job_types/{uuid}").json()["unique"] == shown


def test_a_job_type_is_put_back_as_it_was_shown(admin: TestClient) -> None:
    path = f"/api/job_types/{create(admin, timeout=500, retries={'attempts': 4})}"
    shown = admin.get(path).json()

    assert admin.put(path, json={**shown, "timeout": None}).json() == {**shown, "timeout": None, "version": 2}
    assert admin.get(path).json()["timeout"] is None
    status, error = status_and_error(admin.put(path, json={**shown, "uuid": new_id(1)}))
    assert status == 400
    assert error.startswith("uuid: ")


def test_some_fields_of_a_job_type_are_changed(admin: TestClient) -> None:
    path = f"/api/job_types/{create(admin, timeout=500)}"
    before = admin.get(path).json()

    after = admin.patch(path, json={"unique": True, "retries": {"attempts": 3}, "timeout": None}).json()

    assert after["retries"]["attempts"] == 3
    assert (after["unique"], after["timeout"]) == (True, None)
    assert {key for key in before if before[key] != after[key]} == {"unique", "timeout", "retries", "version"}
    assert admin.get(path).json() == after


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_of_two_admins_who_edit_one_version_the_second_is_refused(admin: TestClient, method: str) -> None:
    path = f"/api/job_types/{create(admin)}"
    shown = admin.get(path).json()
    first = admin.request(method, path, json=edit_of(method, shown, timeout=1_000))

    second = admin.request(method, path, json=edit_of(method, shown, timeout=2_000))

    assert (first.status_code, first.json()["version"]) == (200, 2)
    assert status_and_error(second) == (409, "job type 'report' is at version 2, not 1; read it again")
    assert admin.get(path).json() == first.json()
    again = admin.request(method, path, json=edit_of(method, first.json(), timeout=2_000)).json()
    assert (again["timeout"], again["version"]) == (2_000, 3)


def edit_of(method: str, shown: dict[str, Any], **changes: object) -> dict[str, Any]:
    """The whole of it, or only what changes, upon the version that was shown."""
    return {**(shown if method == "PUT" else {"version": shown["version"]}), **changes}


def test_a_change_that_names_no_version_is_made_upon_whatever_is_there(admin: TestClient) -> None:
    path = f"/api/job_types/{create(admin)}"

    for timeout, version in ((1_000, 2), (2_000, 3), (2_000, 3)):
        assert admin.put(path, json={**REPORT, "timeout": timeout}).json()["version"] == version
    assert admin.patch(path, json={"timeout": 3_000}).json()["version"] == 4


def test_a_bad_change_changes_nothing(admin: TestClient) -> None:
    path = f"/api/job_types/{create(admin)}"
    before = admin.get(path).json()

    for change in ({"executor": "nothing"}, {"node_type": "nowhere"}, {"name": "-a"}, {"metadata": {"x": 1}}):
        assert admin.patch(path, json=change).status_code == 400
    assert admin.get(path).json() == before


def test_a_job_type_is_removed_once(admin: TestClient) -> None:
    path = f"/api/job_types/{create(admin)}"

    assert admin.delete(path).json() == {"status": "ok", "uuid": path.rpartition("/")[2]}
    assert admin.delete(path).status_code == 404
    assert admin.put(path, json=REPORT).status_code == 404


def test_what_stands_in_the_file_is_changed_there(admin: TestClient, api: Api) -> None:
    now = api.engine.clock.now()
    fast = NodeType(uuid=new_id(now), name="fast", managed_by=MANAGED_BY_FILE)
    mine = JobType(uuid=new_id(now), name="mine", executor="log", node_type="fast", managed_by=MANAGED_BY_FILE)
    api.engine.definitions.define([fast], [mine])
    job_type, node_type = f"/api/job_types/{mine.uuid}", f"/api/node_types/{fast.uuid}"
    body = {"uuid": fast.uuid, "name": "fast", "thread_count": 1}

    answers = [
        admin.put(job_type, json={**REPORT, "name": "mine"}),
        admin.patch(job_type, json={"timeout": 1}),
        admin.delete(job_type),
        admin.post(node_type, json=body),
        admin.delete(node_type),
        admin.post("/api/job_types", json={**REPORT, "name": "mine"}),
    ]

    assert {(answer.status_code, "configuration file" in answer.json()["error"]) for answer in answers} == {(409, True)}


def test_a_node_type_keeps_its_name_while_job_types_use_it(admin: TestClient) -> None:
    uuid = new_id(1_700_000_000_000)
    path = f"/api/node_types/{uuid}"
    made = {"uuid": uuid, "name": "fast", "thread_count": 2}
    assert admin.post(path, json=made).status_code == 200
    job_type = create(admin, node_type="fast")

    assert admin.post(path, json={**made, "name": "quick"}).status_code == 409
    assert admin.delete(path).status_code == 409
    admin.delete(f"/api/job_types/{job_type}")
    assert admin.post(path, json={**made, "name": "quick"}).status_code == 200
    assert admin.delete(path).json() == {"status": "ok", "uuid": uuid}
    assert admin.get(path).status_code == 404


def test_a_name_belongs_to_one_node_type(admin: TestClient) -> None:
    uuid = new_id(1_700_000_000_000)

    answer = admin.post(f"/api/node_types/{uuid}", json={"uuid": uuid, "name": "default", "thread_count": 1})

    assert answer.status_code == 409


def test_a_queue_is_paused_and_resumed(admin: TestClient, kept: Store) -> None:
    (queue,) = admin.get("/api/queues").json()["queues"]

    assert admin.post(f"/api/node_types/{queue['uuid']}/pause", json={}).json()["uuid"] == queue["uuid"]
    assert kept.paused_queues() == {queue["uuid"]}
    assert [one["paused"] for one in admin.get("/api/queues").json()["queues"]] == [True]
    assert admin.post(f"/api/node_types/{queue['uuid']}/resume", json={}).status_code == 200
    assert kept.paused_queues() == frozenset()
    assert admin.post(f"/api/node_types/{new_id(1)}/pause", json={}).status_code == 404


def test_only_nodes_of_the_last_twenty_seconds_are_listed(kept: Store) -> None:
    api = make_api(kept, clock=ManualClock(kept.now()))
    now = api.engine.clock.now()
    queue = api.engine.definitions.node_type("default").uuid
    alive, silent = (NodeRecord(uuid=new_id(now), node_type=queue, last_ping=now - ms) for ms in (15_000, 21_000))
    beat(kept, alive)
    beat(kept, silent)

    with served(api) as admin:
        assert [one["uuid"] for one in admin.get("/api/nodes").json()["nodes"]] == [alive.uuid]
        both = [one["uuid"] for one in admin.get(f"/api/nodes?since={now - 21_000}").json()["nodes"]]
        assert admin.get(f"/api/nodes?since={now}").json()["nodes"] == []
        shown = admin.get(f"/api/nodes/{silent.uuid}").json()
    assert sorted(both) == sorted([alive.uuid, silent.uuid])
    assert (shown["alive"], shown["node_type"], shown["last_ping"]) == (False, "default", now - 21_000)


def test_a_node_that_is_asked_to_drain_stops_and_leaves_nothing_behind(admin: TestClient, kept: Store) -> None:
    node = Node.open(kept, NodeOptions())

    assert admin.post(f"/api/nodes/{node.uuid}/drain", json={}).status_code == 404

    async def live() -> None:
        running = asyncio.create_task(node.run())
        await asyncio.to_thread(wait_until, lambda: bool(kept.list_nodes(since=0)), "its first beat")
        drained = await asyncio.to_thread(admin.post, f"/api/nodes/{node.uuid}/drain", json={})
        assert drained.json() == {"status": "ok", "uuid": node.uuid}
        await asyncio.wait_for(running, 60)

    asyncio.run(live())

    assert kept.list_nodes(since=0) == []
    assert kept.list_settings("drain:") == {}
