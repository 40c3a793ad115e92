"""Jobs over HTTP: enqueueing with options, finding, changing one and many."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from rota.model.ids import new_id
from rota.model.job import JobState, make_token
from rota.model.job_type import JobType, Unique
from rota.model.node import NodeType
from rota.model.runs.outcome import failed, succeeded
from rota.model.runs.retry import RetryPolicy
from rota.model.runs.settlement import settle
from rota.server.api import Api
from rota.store import Store

NAME = "report"


@pytest.fixture(autouse=True)
def job_type(api: Api) -> str:
    uuid = new_id(api.engine.clock.now())
    api.engine.definitions.define_job_type(JobType(uuid=uuid, name=NAME, executor="log"))
    return uuid


def enqueue(client: TestClient, **wish: object) -> Any:
    answer = client.post("/api/jobs", json={"job_type_uuid": NAME, **wish})
    assert answer.status_code == 200, answer.text
    return answer.json()


def show(client: TestClient, uuid: str) -> Any:
    return client.get(f"/api/jobs/{uuid}").json()


def error_of(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"status", "error"}
    return str(answer.json()["error"])


def run(store: Store, api: Api, *, fails: bool = False, limit: int = 1) -> list[str]:
    """Run the next jobs as a node would; returns their ids."""
    queue, now = api.engine.definitions.node_type("default").uuid, api.engine.clock.now()
    token = make_token(new_id(now), 1)
    claims = store.claim_jobs(queue, token=token, limit=limit, now=now).claims
    outcome = failed("no") if fails else succeeded({"said": "yes"})
    settlements = [settle(one, outcome, policy=RetryPolicy(), started_at=now, now=now, chance=0.0) for one in claims]
    assert store.finish_jobs(queue, settlements, now=now) == frozenset()
    return [one.spec.id for one in claims]


def test_a_job_takes_its_options(admin: TestClient, job_type: str) -> None:
    retries = {"attempts": 5, "delay_ms": 10, "factor": 1.5, "max_delay_ms": 100, "jitter": 0.5}
    made = enqueue(
        admin, arguments={"a": [1, None]}, priority=7, run_at=4_000_000_000_000, timeout=1500, retries=retries
    )

    job = show(admin, made["uuid"])

    assert made["is_new"] is True
    assert (job["job_type_uuid"], job["job_type"], job["state"]) == (job_type, NAME, "delayed")
    assert (job["arguments"], job["priority"], job["run_at"], job["timeout"]) == (
        {"a": [1, None]},
        7,
        4_000_000_000_000,
        1500,
    )
    assert job["retries"] == retries


def test_a_delay_counts_from_now(admin: TestClient) -> None:
    job = show(admin, enqueue(admin, delay=60_000)["uuid"])

    assert job["state"] == "delayed"
    assert job["run_at"] - job["enqueued_at"] == 60_000


def test_the_answer_names_the_surviving_job(admin: TestClient) -> None:
    first = enqueue(admin, unique_key="nightly")

    second = enqueue(admin, unique_key="nightly")

    assert (first["is_new"], second["is_new"]) == (True, False)
    assert first["uuid"] == second["uuid"]


def test_handing_the_same_job_in_again_makes_no_second_one(admin: TestClient) -> None:
    uuid = new_id(1_700_000_000_000)

    answers = [enqueue(admin, uuid=uuid) for _ in range(2)]

    assert [(one["uuid"], one["is_new"]) for one in answers] == [(uuid, True), (uuid, False)]


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({"priority": "high"}, "priority"),
        ({"priority": 10_001}, "priority"),
        ({"priority": 1.5}, "priority"),
        ({"priority": True}, "priority"),
        ({"arguments": []}, "arguments"),
        ({"arguments": {"a": 2**70}}, "arguments.a"),
        ({"delay": -1}, "delay"),
        ({"delay": 5, "run_at": 5}, "run_at"),
        ({"expires": 0}, "expires"),
        ({"expires": 5, "expires_at": 5}, "expires_at"),
        ({"unique_key": ""}, "unique_key"),
        ({"timeout": 0}, "timeout"),
        ({"retries": {"attempts": 0}}, "retries.attempts"),
        ({"retries": {"tries": 1}}, "retries.tries"),
        ({"uuid": "x"}, "uuid"),
        ({"proirity": 1}, "proirity"),
    ],
)
def test_a_bad_field_is_named_and_nothing_is_stored(admin: TestClient, wish: dict[str, object], field: str) -> None:
    answer = admin.post("/api/jobs", json={"job_type_uuid": NAME, **wish})

    assert error_of(answer, 400).startswith(f"{field}: ")
    assert admin.get("/api/jobs").json()["jobs"] == []


@pytest.mark.parametrize("body", [b"", b"{", b"nul", b"[", b"8 9", b'{"job_type_uuid": "report"', b"\xff", b"[" * 9999])
def test_what_is_no_json_is_told_so(admin: TestClient, body: bytes) -> None:
    answer = admin.post("/api/jobs", content=body, headers={"Content-Type": "application/json"})

    assert error_of(answer, 400).startswith("body: ")


def test_whole_numbers_may_be_written_with_a_point(admin: TestClient) -> None:
    text = b'{"job_type_uuid": "report", "priority": 3.0, "arguments": {"x": 3.0}, "retries": {"attempts": 2e0}}'

    answer = admin.post("/api/jobs", content=text, headers={"Content-Type": "application/json"})

    job = show(admin, answer.json()["uuid"])
    assert (job["priority"], job["retries"]["attempts"]) == (3, 2)
    assert isinstance(job["arguments"]["x"], float), "arguments stay as they were given"


def test_a_body_that_is_too_large_is_refused(admin: TestClient) -> None:
    answer = admin.post("/api/jobs", json={"job_type_uuid": NAME, "arguments": {"a": "x" * 1_100_000}})

    assert "1048576 bytes" in error_of(answer, 413)
    pieces = iter([b'{"job_type_uuid": "', b"x" * 700_000, b"x" * 700_000])
    answer = admin.post("/api/jobs", content=pieces, headers={"Content-Type": "application/json"})
    assert error_of(answer, 413)


def test_many_jobs_are_accepted_at_once_with_an_answer_for_each(admin: TestClient) -> None:
    wishes: list[dict[str, object]] = [{"job_type_uuid": NAME, "unique_key": str(n % 3)} for n in range(5)]

    answer = admin.post("/api/jobs/bulk", json={"jobs": wishes}).json()

    assert [one["is_new"] for one in answer["jobs"]] == [True, True, True, False, False]
    assert answer["jobs"][3]["uuid"] == answer["jobs"][0]["uuid"]
    assert len(admin.get("/api/jobs").json()["jobs"]) == 3


@pytest.mark.parametrize(
    ("bad", "status", "said"),
    [
        ({"job_type_uuid": NAME, "priority": 99_999}, 400, "jobs[2].priority"),
        ({"job_type_uuid": NAME, "arguments": {"a": 2**70}}, 400, "jobs[2].arguments.a"),
        ({"job_type_uuid": "unknown"}, 404, "jobs[2]"),
        ({}, 400, "jobs[2].job_type: is missing"),
        ({"job_type": NAME, "job_type_uuid": NAME}, 400, "jobs[2].job_type_uuid: give it or job_type"),
        ({"job_type": NAME, "timeout": "soon"}, 400, "jobs[2].timeout"),
    ],
)
def test_one_bad_job_among_many_is_named_and_none_is_stored(
    admin: TestClient, bad: dict[str, object], status: int, said: str
) -> None:
    good: dict[str, object] = {"job_type_uuid": NAME}

    answer = admin.post("/api/jobs/bulk", json={"jobs": [good, good, bad, good]})

    assert said in error_of(answer, status)
    assert admin.get("/api/jobs").json()["jobs"] == []


def test_no_more_than_ten_thousand_jobs_come_at_once(admin: TestClient) -> None:
    wish = {"job_type_uuid": NAME}

    assert error_of(admin.post("/api/jobs/bulk", json={"jobs": [wish] * 10_001}), 400).startswith("jobs: ")
    assert error_of(admin.post("/api/jobs/bulk", json={"jobs": []}), 400).startswith("jobs: ")


def test_jobs_are_listed_by_what_they_have_in_common(admin: TestClient, api: Api, kept: Store) -> None:
    other = JobType(uuid=new_id(api.engine.clock.now()), name="other", executor="log", unique=Unique.WHILE_RUNNING)
    api.engine.definitions.define_job_type(other)
    done = enqueue(admin)["uuid"]
    assert run(kept, api) == [done]
    later = enqueue(admin, delay=60_000, arguments={"for": "Ada"})["uuid"]
    waiting = enqueue(admin, job_type_uuid="other")["uuid"]
    node = show(admin, done)["executing_node"]

    def found(**query: object) -> list[str]:
        answer = admin.get("/api/jobs", params=query)  # type: ignore[arg-type]
        assert answer.status_code == 200, answer.text
        return [job["uuid"] for job in answer.json()["jobs"]]

    assert found() == [later, waiting, done]
    assert found(state="succeeded") == found(status="succeeded") == [done]
    assert found(state=["succeeded", "delayed"]) == [later, done]
    assert found(job_type="other") == found(job_type=other.uuid) == [waiting]
    assert found(node_type="default") == found(queue="default") == [later, waiting, done]
    assert found(node=node) == [done]
    assert found(search="ada") == [later]
    assert found(since=4_000_000_000_000) == found(until=0) == found(schedule=node) == []
    assert error_of(admin.get("/api/jobs?job_type=nothing"), 404)


@pytest.mark.parametrize("query", ["state=done", "limit=0", "limit=x", "since=null", "limit=1&limit=2", "colour=red"])
def test_a_bad_condition_is_named(admin: TestClient, query: str) -> None:
    assert error_of(admin.get(f"/api/jobs?{query}"), 400).startswith(query.partition("=")[0])


def test_pages_show_every_job_once(admin: TestClient) -> None:
    ids = [enqueue(admin)["uuid"] for _ in range(7)]

    pages = [admin.get("/api/jobs?limit=3").json()]
    while cursor := pages[-1]["cursor"]:
        pages.append(admin.get("/api/jobs", params={"limit": 3, "cursor": cursor}).json())

    assert [job["uuid"] for page in pages for job in page["jobs"]] == ids
    assert error_of(admin.get("/api/jobs?cursor=nonsense"), 400).startswith("cursor: ")


def test_a_waiting_job_is_cancelled_and_brought_back(admin: TestClient) -> None:
    uuid = enqueue(admin)["uuid"]
    cancel, retry = f"/api/jobs/{uuid}/cancel", f"/api/jobs/{uuid}/retry"

    assert error_of(admin.post(retry, json={}), 409)
    assert admin.post(cancel, json={}).json() == {"status": "ok", "uuid": uuid, "answer": "cancelled"}
    assert error_of(admin.post(cancel, json={}), 409)
    assert admin.post(retry, json={}).json() == {"status": "ok", "uuid": uuid}
    assert show(admin, uuid)["state"] == "queued"


def test_changes_need_no_body_but_the_right_type(admin: TestClient) -> None:
    cancel = f"/api/jobs/{enqueue(admin)['uuid']}/cancel"

    assert error_of(admin.post(cancel), 415)
    assert error_of(admin.post(cancel, json={"force": True}), 400).startswith("force: ")
    assert admin.post(cancel, headers={"Content-Type": "application/json"}).status_code == 200


def test_only_ended_jobs_are_deleted(admin: TestClient, api: Api, kept: Store) -> None:
    uuid = enqueue(admin)["uuid"]

    assert error_of(admin.delete(f"/api/jobs/{uuid}"), 409)
    run(kept, api)
    assert admin.delete(f"/api/jobs/{uuid}").json() == {"status": "ok", "uuid": uuid}
    assert error_of(admin.get(f"/api/jobs/{uuid}"), 404)
    assert error_of(admin.delete(f"/api/jobs/{uuid}"), 404)


@pytest.mark.parametrize("verb", ["cancel", "retry"])
def test_an_unknown_job_cannot_be_changed(admin: TestClient, verb: str) -> None:
    assert error_of(admin.post(f"/api/jobs/{new_id(1)}/{verb}", json={}), 404)
    assert error_of(admin.post(f"/api/jobs/no-uuid/{verb}", json={}), 400).startswith("uuid: ")


def test_many_jobs_are_changed_by_what_they_have_in_common(admin: TestClient, api: Api, kept: Store) -> None:
    for _ in range(3):
        enqueue(admin)
        run(kept, api, fails=True)
    waiting = [enqueue(admin)["uuid"] for _ in range(2)]

    def change(verb: str, **conditions: object) -> Any:
        answer = admin.post(f"/api/jobs/{verb}", json=conditions)
        assert answer.status_code == 200, answer.text
        return answer.json()

    done = {"status": "ok", "more": False, "dry_run": False}
    assert change("retry", job_type=NAME, dry_run=True) == {**done, "matched": 3, "changed": 0, "dry_run": True}
    assert kept.count_jobs(api.engine.definitions.node_type("default").uuid)[JobState.FAILED] == 3
    assert change("retry", state=["failed"]) == {**done, "matched": 3, "changed": 3}
    assert change("cancel", search=waiting[0]) == {**done, "matched": 1, "changed": 1}
    dry = {**done, "changed": 0, "dry_run": True}
    assert change("cancel", all=True, dry_run=True) == {**dry, "matched": 4}
    assert change("cancel", all=True) == {**done, "matched": 4, "changed": 4}
    assert change("cancel", all=True) == {**done, "matched": 0, "changed": 0}
    assert change("delete", state=["queued"]) == {**done, "matched": 0, "changed": 0}
    assert change("delete", all=True, dry_run=True) == {**dry, "matched": 5}
    assert change("delete", all=True) == {**done, "matched": 5, "changed": 5}


def test_no_more_jobs_are_changed_than_the_caller_says(admin: TestClient, api: Api, kept: Store) -> None:
    for _ in range(3):
        enqueue(admin)
        run(kept, api, fails=True)

    def change(verb: str, **conditions: object) -> tuple[int, int, bool]:
        answer = admin.post(f"/api/jobs/{verb}", json=conditions).json()
        return answer["matched"], answer["changed"], answer["more"]

    assert change("retry", state=["failed"], limit=2, dry_run=True) == (2, 0, True)
    assert change("retry", state=["failed"], limit=2) == (2, 2, True)
    assert change("cancel", all=True, limit=1) == (1, 1, True)
    assert change("delete", all=True, limit=2) == (2, 2, False)
    assert error_of(admin.post("/api/jobs/cancel", json={"all": True, "limit": 0}), 400).startswith("limit: ")
    assert error_of(admin.post("/api/jobs/cancel", json={"all": True, "limit": 10_001}), 400).startswith("limit: ")


@pytest.mark.parametrize("verb", ["cancel", "retry", "delete"])
def test_changing_everything_must_be_said_aloud(admin: TestClient, verb: str) -> None:
    enqueue(admin)

    assert "all: true" in error_of(admin.post(f"/api/jobs/{verb}", json={}), 400)
    assert error_of(admin.post(f"/api/jobs/{verb}", json={"stat": ["failed"]}), 400).startswith("stat: ")
    assert len(admin.get("/api/jobs?state=queued").json()["jobs"]) == 1


def test_the_lists_of_a_queue_have_its_own_jobs_of_their_states_only(admin: TestClient, api: Api, kept: Store) -> None:
    other = new_id(api.engine.clock.now())
    api.engine.definitions.define(
        [NodeType(uuid=other, name="other")],
        [JobType(uuid=new_id(api.engine.clock.now()), name="elsewhere", executor="log", node_type="other")],
    )
    elsewhere = enqueue(admin, job_type_uuid="elsewhere")["uuid"]
    queue, now = api.engine.definitions.node_type("default").uuid, api.engine.clock.now()
    done = enqueue(admin)["uuid"]
    run(kept, api)
    failed_one = enqueue(admin)["uuid"]
    run(kept, api, fails=True)
    running = enqueue(admin)["uuid"]
    kept.claim_jobs(queue, token=make_token(new_id(now), 1), limit=1, now=api.engine.clock.now())
    waiting = enqueue(admin)["uuid"]
    later = enqueue(admin, delay=60_000)["uuid"]

    def listed(path: str, of: str = queue) -> Any:
        return admin.get(f"/api/jobs/{of}/{path}").json()["jobs"]

    assert sorted(job["uuid"] for job in listed("queued")) == sorted([waiting, later])
    assert [job["uuid"] for job in listed("in_progress")] == [running]
    finished = {job["uuid"]: (job["results"], job["errors"]) for job in listed("finished")}
    assert finished == {done: (True, False), failed_one: (False, True)}
    assert [job["uuid"] for job in listed("queued", other)] == [elsewhere]
    assert listed("finished", other) == listed("in_progress", other) == []
    shown = admin.get(f"/api/jobs/{queue}/{done}").json()
    assert (shown["uuid"], shown["results"]) == (done, {"said": "yes"})
    for path in (f"{other}/{done}", f"{queue}/{running}", f"{queue}/{waiting}", f"{queue}/{new_id(1)}"):
        assert error_of(admin.get(f"/api/jobs/{path}"), 404)


def test_every_option_of_a_job_among_many_is_kept(admin: TestClient) -> None:
    retries = {"attempts": 5, "delay_ms": 10, "factor": 1.5, "max_delay_ms": 100, "jitter": 0.5}
    uuid = new_id(1_700_000_000_000)
    wish = {"arguments": {"a": 1}, "priority": 7, "timeout": 1500, "unique_key": "k", "retries": retries, "uuid": uuid}

    answer = admin.post("/api/jobs/bulk", json={"jobs": [{"job_type_uuid": NAME, "delay": 60_000, **wish}]}).json()

    assert answer == {"status": "ok", "jobs": [{"uuid": uuid, "is_new": True}]}
    job = show(admin, uuid)
    assert {key: job[key] for key in wish} == wish
    assert job["run_at"] - job["enqueued_at"] == 60_000


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_a_job_is_not_brought_back_beside_a_live_one_of_its_key(
    admin: TestClient, api: Api, kept: Store, state: str
) -> None:
    first = enqueue(admin, unique_key="k")["uuid"]
    if state == "failed":
        run(kept, api, fails=True)
    else:
        admin.post(f"/api/jobs/{first}/cancel", json={})
    enqueue(admin, unique_key="k")

    error = error_of(admin.post(f"/api/jobs/{first}/retry", json={}), 409)

    assert error == f"another live job has the unique key of job {first}"


def test_a_running_job_is_asked_to_end_and_keeps_its_record(admin: TestClient, api: Api, kept: Store) -> None:
    uuid = enqueue(admin)["uuid"]
    queue, now = api.engine.definitions.node_type("default").uuid, api.engine.clock.now()
    kept.claim_jobs(queue, token=make_token(new_id(now), 1), limit=1, now=now)

    assert admin.post(f"/api/jobs/{uuid}/cancel", json={}).json() == {
        "status": "ok",
        "uuid": uuid,
        "answer": "requested",
    }
    assert (show(admin, uuid)["state"], show(admin, uuid)["cancel_requested"]) == ("running", True)
    assert "is running" in error_of(admin.delete(f"/api/jobs/{uuid}"), 409)
    assert "is running" in error_of(admin.post(f"/api/jobs/{uuid}/retry", json={}), 409)


def test_a_page_of_big_jobs_is_cut_by_its_size_and_none_is_left_out(admin: TestClient, api: Api) -> None:
    big = {"text": "a" * 250_000}
    ids = [enqueue(admin, arguments=big)["uuid"] for _ in range(80)]
    queue = api.engine.definitions.node_type("default").uuid

    for path in ("/api/jobs", f"/api/jobs/{queue}/queued"):
        found: list[str] = []
        cursor = ""
        while True:
            answer = admin.get(path, params={"limit": 1_000, **({"cursor": cursor} if cursor else {})})
            assert len(answer.content) < 8 * 1024 * 1024 + 128 * 300_000
            found += [job["uuid"] for job in answer.json()["jobs"]]
            cursor = answer.json()["cursor"]
            if cursor is None:
                break
            assert len(answer.json()["jobs"]) < 80
        assert found == ids
