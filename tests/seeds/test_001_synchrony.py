"""Seed 001, Synchrony: its document from top to bottom, with curl, against `rota up` on SQLite and on Redis.

The schedules' part has a file of its own.
"""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import RotaProcess
from tests.seeds.curling import Answer, Curl
from tests.servers import RedisServer, wait_until

JOB_TYPE_KEYS = {"uuid", "name", "executor", "metadata", "unique", "node_type", "timeout"}
JOB_KEYS = {
    "uuid",
    "job_type_uuid",
    "arguments",
    "executing_node",
    "enqueued_at",
    "started_at",
    "ended_at",
    "results",
    "errors",
}
TEST_JOB_TYPE = {
    "name": "test_job_type",
    "executor": "bash",
    "metadata": {"command": "echo 'test'"},
    "unique": False,
    "node_type": "default",
    "timeout": None,
}
UNKNOWN = "b30833c1-83b0-4dda-a439-97e3c97bbaa5"

Ended = Callable[[str], Any]


@pytest.fixture(params=["sqlite", "redis"])
def environment(request: pytest.FixtureRequest) -> dict[str, str]:
    """The document's own variables: `STORE_TYPE`, and where Redis is."""
    if request.param == "sqlite":
        return {"STORE_TYPE": "sqlite"}
    server: RedisServer = request.getfixturevalue("redis_server")
    server.flush()
    return {"STORE_TYPE": "redis", "REDIS_HOST": "127.0.0.1", "REDIS_PORT": str(server.port)}


@pytest.fixture
def node(environment: dict[str, str], tmp_path: Path) -> Iterator[RotaProcess]:
    with RotaProcess(["up", "--no-demo", "--port", "0", "--json"], tmp_path, **environment) as up:
        yield up
        assert up.stop() == 0


@pytest.fixture
def address(node: RotaProcess) -> str:
    return str(node.banner()["address"])


@pytest.fixture
def curl(address: str) -> Curl:
    """A client with the document's default key."""
    return Curl(address, "dev_key")


@pytest.fixture
def queue(curl: Curl) -> str:
    """The uuid of the node type `default`."""
    wait_until(lambda: bool(curl.get("/api/node_types")["node_types"]), "the default node type")
    wait_until(lambda: bool(curl.get("/api/nodes")["nodes"]), "the first beat")
    (found,) = curl.get("/api/node_types")["node_types"]
    return str(found["uuid"])


@pytest.fixture
def ended(curl: Curl, queue: str) -> Ended:
    """Waits for the end of a job; returns it as the document shows it."""

    def wait(job: str) -> Any:
        path = f"/api/jobs/{queue}/{job}"
        wait_until(lambda: curl("GET", path).status == 200, f"the end of job {job}")
        return curl.get(path)

    return wait


def is_error(answer: Answer, status: int) -> bool:
    """Whether it is refused, in JSON and with a reason."""
    return answer.status == status and answer.json["status"] == "error" and bool(answer.json["error"])


def test_every_request_but_health_needs_the_key(address: str) -> None:
    wait_until(lambda: Curl(address, None)("GET", "/health") == Answer(200, "ok"), "it to be well")
    for key in (None, "another"):
        stranger = Curl(address, key)

        assert stranger("GET", "/health").status in (200, 503)
        assert is_error(stranger("GET", "/api/job_types"), 401)
        assert is_error(stranger("POST", "/api/jobs", {"job_type_uuid": UNKNOWN, "arguments": {}}), 401)


def test_post_requests_must_be_json(curl: Curl) -> None:
    wish = {"job_type_uuid": UNKNOWN, "arguments": {}}

    for header in ("Content-Type: text/plain", "Content-Type: application/x-www-form-urlencoded", "Content-Type:"):
        assert is_error(curl("POST", "/api/jobs", wish, header=header), 415)
    # Accepted as JSON, and refused for another reason: there is no such job type.
    assert is_error(curl("POST", "/api/jobs", wish), 404)
    assert is_error(curl("POST", "/api/jobs", wish, header="Content-Type: application/json; charset=utf-8"), 404)


def test_a_job_type_is_created_listed_and_shown(curl: Curl, queue: str) -> None:
    assert curl.get("/api/job_types") == {"job_types": []}

    created = curl.post("/api/job_types", TEST_JOB_TYPE)

    assert set(created) == {"status", "uuid"}
    assert created["status"] == "ok"
    shown = curl.get(f"/api/job_types/{created['uuid']}")
    assert set(shown) >= JOB_TYPE_KEYS
    assert {key: shown[key] for key in TEST_JOB_TYPE} == TEST_JOB_TYPE
    assert shown["uuid"] == created["uuid"]
    assert curl.get("/api/job_types") == {"job_types": [shown]}
    assert is_error(curl("GET", f"/api/job_types/{UNKNOWN}"), 404)
    assert is_error(curl("GET", "/api/job_types/no-such-name"), 404)


def test_a_job_type_of_an_unknown_node_type_or_executor_is_refused(curl: Curl, queue: str) -> None:
    changes: list[dict[str, object]] = [
        {"node_type": "nowhere"},
        {"executor": "nothing"},
        {"metadata": {}},
        {"timeout": 0},
    ]
    for change in changes:
        assert is_error(curl("POST", "/api/job_types", {**TEST_JOB_TYPE, **change}), 400)

    assert curl.get("/api/job_types") == {"job_types": []}


def test_a_job_is_enqueued_run_and_shown_with_its_results(curl: Curl, queue: str, ended: Ended) -> None:
    job_type = curl.post("/api/job_types", TEST_JOB_TYPE)["uuid"]

    enqueued = curl.post("/api/jobs", {"job_type_uuid": job_type, "arguments": {}})
    job = ended(enqueued["uuid"])

    assert enqueued["status"] == "ok"
    assert set(job) >= JOB_KEYS
    assert (job["uuid"], job["job_type_uuid"], job["arguments"]) == (enqueued["uuid"], job_type, {})
    assert job["results"] == {"stdout": "test\n", "stderr": "", "exit_code": 0}
    assert job["errors"] is None
    assert job["enqueued_at"] <= job["started_at"] <= job["ended_at"]
    assert job["executing_node"] in [node["uuid"] for node in curl.get("/api/nodes")["nodes"]]


def test_finished_jobs_say_only_whether_they_have_results_and_errors(curl: Curl, queue: str, ended: Ended) -> None:
    job_type = curl.post("/api/job_types", TEST_JOB_TYPE)["uuid"]
    job = ended(curl.post("/api/jobs", {"job_type_uuid": job_type, "arguments": {}})["uuid"])

    (listed,) = curl.get(f"/api/jobs/{queue}/finished")["jobs"]

    assert set(listed) >= JOB_KEYS
    assert listed == {**job, "results": True, "errors": False}


def test_a_failing_command_has_a_result_and_no_errors(curl: Curl, queue: str, ended: Ended) -> None:
    failing = {**TEST_JOB_TYPE, "metadata": {"command": "echo out; echo err >&2; exit 3"}}
    job_type = curl.post("/api/job_types", failing)["uuid"]

    job = ended(curl.post("/api/jobs", {"job_type_uuid": job_type, "arguments": {}})["uuid"])

    assert job["results"] == {"stdout": "out\n", "stderr": "err\n", "exit_code": 3}
    assert job["errors"] is None
    assert job["state"] == "failed"


def test_the_jobs_own_command_and_environment_join_those_of_its_type(curl: Curl, queue: str, ended: Ended) -> None:
    greeting = {"command": 'echo "$GREETING"', "environment": {"GREETING": "hello", "OTHER": "type"}}
    job_type = curl.post("/api/job_types", {**TEST_JOB_TYPE, "metadata": greeting})["uuid"]
    arguments = {"command": ["big world", ";", "exit 7"], "environment": {"GREETING": "good day"}}

    job = ended(curl.post("/api/jobs", {"job_type_uuid": job_type, "arguments": arguments})["uuid"])

    assert job["results"]["stdout"] == "good day big world ; exit 7\n"


def test_waiting_and_running_jobs_are_listed_in_their_places(
    curl: Curl, queue: str, ended: Ended, tmp_path: Path
) -> None:
    waiting_command = {"command": f"until [ -e {tmp_path / 'go'} ]; do sleep 0.05; done"}
    only_one = {**TEST_JOB_TYPE, "metadata": waiting_command, "unique": True}
    job_type = curl.post("/api/job_types", only_one)["uuid"]
    first, second = (curl.post("/api/jobs", {"job_type_uuid": job_type, "arguments": {}})["uuid"] for _ in range(2))

    def ids(place: str) -> list[str]:
        return [job["uuid"] for job in curl.get(f"/api/jobs/{queue}/{place}")["jobs"]]

    wait_until(lambda: ids("in_progress") == [first], "the first job to run")
    assert ids("queued") == [second]
    assert ids("finished") == []
    (running,) = curl.get(f"/api/jobs/{queue}/in_progress")["jobs"]
    assert set(running) >= JOB_KEYS
    assert (running["ended_at"], running["results"], running["errors"]) == (None, None, None)
    assert running["executing_node"] in [node["uuid"] for node in curl.get("/api/nodes")["nodes"]]
    assert is_error(curl("GET", f"/api/jobs/{queue}/{first}"), 404)

    (tmp_path / "go").touch()

    # At most one job of a unique type executes; the other waits its turn.
    assert ended(first)["ended_at"] <= ended(second)["started_at"]
    assert ids("finished") == [second, first]


def test_a_job_that_takes_too_long_is_ended_by_force(curl: Curl, queue: str, ended: Ended) -> None:
    slow = {**TEST_JOB_TYPE, "metadata": {"command": "sleep 60"}, "timeout": 200}
    job_type = curl.post("/api/job_types", slow)["uuid"]

    job = ended(curl.post("/api/jobs", {"job_type_uuid": job_type, "arguments": {}})["uuid"])

    assert (job["errors"]["type"], job["errors"]["timeout_ms"]) == ("timeout", 200)


def test_lists_of_an_unknown_node_type_are_not_found(curl: Curl, queue: str) -> None:
    for place in ("queued", "in_progress", "finished", UNKNOWN):
        assert is_error(curl("GET", f"/api/jobs/{UNKNOWN}/{place}"), 404)
    assert is_error(curl("GET", f"/api/jobs/{queue}/{UNKNOWN}"), 404)


def test_a_job_without_a_job_type_or_with_other_faults_is_refused(curl: Curl, queue: str) -> None:
    assert is_error(curl("POST", "/api/jobs", {"job_type_uuid": UNKNOWN, "arguments": {}}), 404)
    for body in ("", "{", "[]", "null", '{"arguments": {}}', f'{{"job_type_uuid": "{UNKNOWN}", "arguments": []}}'):
        assert is_error(curl("POST", "/api/jobs", body), 400)


def test_node_types_are_listed_shown_created_and_changed(curl: Curl, queue: str) -> None:
    (default,) = curl.get("/api/node_types")["node_types"]
    assert set(default) >= {"uuid", "name", "thread_count"}
    assert default["name"] == "default"
    made = {"uuid": str(uuid.uuid4()), "name": "second", "thread_count": 16}

    assert curl.post(f"/api/node_types/{made['uuid']}", made) == {"status": "ok"}
    changed = {**made, "thread_count": 3}
    assert curl.post(f"/api/node_types/{made['uuid']}", changed) == {"status": "ok"}

    shown = curl.get(f"/api/node_types/{made['uuid']}")
    assert {key: shown[key] for key in made} == changed
    assert [one["name"] for one in curl.get("/api/node_types")["node_types"]] == ["default", "second"]
    assert is_error(curl("POST", f"/api/node_types/{UNKNOWN}", made), 400)
    assert is_error(curl("GET", f"/api/node_types/{UNKNOWN}"), 404)


def test_jobs_wait_in_the_queue_of_their_own_node_type(curl: Curl, queue: str) -> None:
    made = {"uuid": str(uuid.uuid4()), "name": "second", "thread_count": 1}
    curl.post(f"/api/node_types/{made['uuid']}", made)
    job_type = curl.post("/api/job_types", {**TEST_JOB_TYPE, "node_type": "second"})["uuid"]

    job = curl.post("/api/jobs", {"job_type_uuid": job_type, "arguments": {}})["uuid"]

    assert [one["uuid"] for one in curl.get(f"/api/jobs/{made['uuid']}/queued")["jobs"]] == [job]
    assert curl.get(f"/api/jobs/{queue}/queued")["jobs"] == []


def test_nodes_are_listed_and_shown(curl: Curl, node: RotaProcess, queue: str) -> None:
    me = node.banner()["node"]

    wait_until(lambda: bool(curl.get("/api/nodes")["nodes"]), "the first beat")
    (listed,) = curl.get("/api/nodes")["nodes"]

    assert set(listed) >= {"uuid", "node_type_uuid", "last_ping"}
    assert (listed["uuid"], listed["node_type_uuid"]) == (me, queue)
    assert curl.get(f"/api/nodes/{me}")["uuid"] == me
    assert is_error(curl("GET", f"/api/nodes/{UNKNOWN}"), 404)


def test_a_second_node_shares_the_work(
    curl: Curl, queue: str, ended: Ended, environment: dict[str, str], tmp_path: Path, node: RotaProcess
) -> None:
    command = f"until [ -e {tmp_path / 'go'} ]; do sleep 0.1; done"
    job_type = curl.post("/api/job_types", {**TEST_JOB_TYPE, "metadata": {"command": command}})["uuid"]
    with RotaProcess(["worker", "--json"], tmp_path, **environment) as second:
        nodes = {node.banner()["node"], second.banner()["node"]}
        wait_until(lambda: {one["uuid"] for one in curl.get("/api/nodes")["nodes"]} == nodes, "both nodes")

        wishes = {"jobs": [{"job_type_uuid": job_type, "arguments": {}} for _ in range(40)]}
        made = [one["uuid"] for one in curl.post("/api/jobs/bulk", wishes)["jobs"]]
        running = f"/api/jobs/{queue}/in_progress"
        wait_until(lambda: {one["executing_node"] for one in curl.get(running)["jobs"]} == nodes, "jobs on both")
        (tmp_path / "go").touch()
        jobs = [ended(one) for one in made]
        assert second.stop() == 0

    assert {job["executing_node"] for job in jobs} == nodes
