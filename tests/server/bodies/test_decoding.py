"""What clients send: strict, but for whole numbers with a point; names that look like ids; ids in any case."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from rota.errors import InvalidInput
from rota.model.ids import new_id
from rota.server.bodies.decoding import decode_body, decode_path, decode_query
from rota.server.routes.definitions.job_types import JobTypeChange
from rota.server.routes.events import EventQuery
from rota.server.routes.jobs.jobs import JobListQuery, NewJob, NewJobs
from rota.server.routes.schedules.bodies import NewSchedule

UUID = "b30833c1-83b0-4dda-a439-97e3c97bbaa5"


def refusal(raw: bytes, kind: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        decode_body(raw, kind)
    return str(caught.value)


def test_a_whole_number_with_a_point_is_one_wherever_a_whole_number_is_wanted() -> None:
    many = decode_body(b'{"jobs": [{"job_type_uuid": "a", "priority": 3.0, "delay": 5e0}]}', NewJobs)
    change = decode_body(b'{"timeout": 7.0, "retries": {"attempts": 2.0, "factor": 2}}', JobTypeChange)
    schedule = decode_body(b'{"interval": 9.0, "job_type": "a", "frequency": null}', NewSchedule)

    assert (many.jobs[0].priority, many.jobs[0].delay) == (3, 5)
    assert (change.timeout, change.retries.attempts, change.retries.factor) == (7, 2, 2.0)
    assert schedule.interval == 9
    assert [type(one) for one in (many.jobs[0].priority, change.timeout, schedule.interval)] == [int, int, int]


@pytest.mark.parametrize(
    ("raw", "kind", "words"),
    [
        (b'{"job_type_uuid": "a", "priority": 3.5}', NewJob, "priority: expected int, got float"),
        (b'{"job_type_uuid": "a", "priority": 1e400}', NewJob, "body: is no valid JSON: Number out of range"),
        (b'{"job_type_uuid": "a", "priority": "3"}', NewJob, "priority: expected int, got str"),
        (b'{"job_type_uuid": "a", "priority": true}', NewJob, "priority: expected int, got bool"),
        (b'{"job_type_uuid": "a", "priority": 10001.0}', NewJob, "priority: expected int <= 10000"),
        (b'{"jobs": [{"job_type_uuid": "a"}, {"job_type_uuid": 5}]}', NewJobs, "jobs[1].job_type_uuid: expected str"),
        (b'{"job_type": "a", "delay": 315360000001}', NewJob, "delay: must not be more than ten years"),
        (b'{"job_type": "a", "timeout": 31536000001}', NewJob, "timeout: must not be more than 365 days"),
        (b'{"job_type": "a", "run_at": 4102444800001}', NewJob, "run_at: must not be more than the year 2100"),
        (b'{"jobs": [{"job_type_uuid": "a", "x": 1}]}', NewJobs, "jobs[0].x: is not known here"),
        (b'{"job_type_uuid": "a", "uuid": "a"}', NewJob, "uuid: is not a UUID, such as"),
        (b'{"name": null}', JobTypeChange, "name: expected str, got null"),
        (b'{"unique": "sometimes"}', JobTypeChange, "unique: invalid enum value 'sometimes'"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(raw: bytes, kind: Any, words: str) -> None:
    assert refusal(raw, kind).startswith(words)


def test_a_query_has_lists_and_single_values() -> None:
    query = decode_query(b"state=queued&state=failed&limit=5&search=null&job_type=NULL", JobListQuery)

    assert (query.state, query.limit, query.search, query.job_type) == (["queued", "failed"], 5, "null", "NULL")
    for raw, words in (
        (b"limit=5&limit=5", "limit: is given twice"),
        (b"received_at=Null", "received_at: is null; leave it out instead"),
        (b"\xff=1", "query: is not valid UTF-8, percent-encoded"),
        (b"search=%c3%28", "query: is not valid UTF-8, percent-encoded"),
        (b"search=", "search: expected str of length >= 1"),
    ):
        kind = EventQuery if b"received" in raw else JobListQuery
        with pytest.raises(InvalidInput) as caught:
            decode_query(raw, kind)
        assert str(caught.value).startswith(words)


def test_ids_in_a_path_are_read_in_any_case_and_names_as_they_are() -> None:
    assert decode_path({"uuid": UUID.upper(), "node_type": UUID.upper(), "name": "ABC", "id": "X"}) == {
        "uuid": UUID,
        "node_type": UUID,
        "name": "ABC",
        "id": "X",
    }
    with pytest.raises(InvalidInput, match="uuid"):
        decode_path({"uuid": "abc"})


def test_a_path_finds_by_uuid_and_never_by_a_name_that_looks_like_one(admin: TestClient) -> None:
    looks = new_id(1_700_000_000_000)
    job_type = admin.post("/api/job_types", json={"name": looks, "executor": "log"}).json()["uuid"]
    queue = new_id(1_700_000_000_001)
    admin.post(f"/api/node_types/{queue}", json={"uuid": queue.upper(), "name": looks, "thread_count": 1})
    schedule = admin.post("/api/schedules", json={"name": looks, "job_type": job_type, "interval": 5}).json()["uuid"]

    for kind, uuid in (("job_types", job_type), ("node_types", queue), ("schedules", schedule)):
        assert admin.get(f"/api/{kind}/{uuid.upper()}").json()["name"] == looks
        assert admin.get(f"/api/{kind}/{looks}").status_code == 404
        if kind != "schedules":
            assert admin.delete(f"/api/{kind}/{looks}").status_code == 404
        assert admin.get(f"/api/{kind}/{uuid}").status_code == 200


def test_the_uuid_of_a_body_is_that_of_the_path(admin: TestClient) -> None:
    uuid, other = new_id(1_700_000_000_000), new_id(1_700_000_000_001)

    answer = admin.post(f"/api/node_types/{uuid}", json={"uuid": other, "name": "fast", "thread_count": 1})

    assert answer.status_code == 400
    assert answer.json()["error"].startswith("uuid: ")
    assert admin.get(f"/api/node_types/{other}").status_code == admin.get(f"/api/node_types/{uuid}").status_code == 404
