"""Each verb of the client as the request that it makes, and what is done with an answer that is none."""

from typing import Any

import pytest

from rota.errors import InvalidInput, StoreError
from rota.sdk import calls, event_calls
from rota.sdk.call import Call
from rota.sdk.inputs import NewJob, Which
from rota.sdk.log_events import LogEvents

FAILED = Which(state=["failed"], job_type="report")
CONDITIONS = {"state": ["failed"], "job_type": "report"}
UUID = "018f4e6a-0000-7000-8000-000000000001"


@pytest.mark.parametrize(
    ("call", "method", "path"),
    [
        (calls.get_job_type("a"), "GET", "/api/job_types/a"),
        (calls.delete_job_type("a"), "DELETE", "/api/job_types/a"),
        (calls.list_node_types(), "GET", "/api/node_types"),
        (calls.get_node_type("a"), "GET", "/api/node_types/a"),
        (calls.delete_node_type("a"), "DELETE", "/api/node_types/a"),
        (calls.pause_node_type("a"), "POST", "/api/node_types/a/pause"),
        (calls.resume_node_type("a"), "POST", "/api/node_types/a/resume"),
        (calls.list_nodes(), "GET", "/api/nodes"),
        (calls.get_node("a"), "GET", "/api/nodes/a"),
        (calls.drain_node("a"), "POST", "/api/nodes/a/drain"),
        (calls.get_job("a"), "GET", "/api/jobs/a"),
        (calls.why_job("a"), "GET", "/api/jobs/a/why"),
        (calls.cancel_job("a"), "POST", "/api/jobs/a/cancel"),
        (calls.retry_job("a"), "POST", "/api/jobs/a/retry"),
        (calls.delete_job("a"), "DELETE", "/api/jobs/a"),
        (calls.get_schedule("a"), "GET", "/api/schedules/a"),
        (calls.delete_schedule("a"), "DELETE", "/api/schedules/a"),
        (calls.pause_schedule("a"), "POST", "/api/schedules/a/pause"),
        (calls.resume_schedule("a"), "POST", "/api/schedules/a/resume"),
        (calls.why_schedule("a"), "GET", "/api/schedules/a/why"),
        (calls.why_queue("a"), "GET", "/api/queues/a/why"),
        (event_calls.get_configuration("a"), "GET", "/api/configurations/a"),
        (event_calls.delete_configuration("a"), "DELETE", "/api/configurations/a"),
        (event_calls.explain_configuration("a"), "GET", "/api/configurations/a/explain"),
        (event_calls.why_configuration("a"), "GET", "/api/configurations/a/why"),
        (calls.get_job("a/b ?#ä"), "GET", "/api/jobs/a%2Fb%20%3F%23%C3%A4"),
        (calls.get_job(".."), "GET", "/api/jobs/%2E%2E"),
        (calls.get_job("."), "GET", "/api/jobs/%2E"),
        (calls.get_job("a.b"), "GET", "/api/jobs/a.b"),
    ],
)
def test_a_verb_for_one_thing_names_it_in_its_path(call: Call[Any], method: str, path: str) -> None:
    assert (call.method, call.path, call.query, call.body) == (method, path, {}, None)
    assert call.content == (b"{}" if method == "POST" else None)


@pytest.mark.parametrize(
    ("change", "verb"), [(calls.cancel_jobs, "cancel"), (calls.retry_jobs, "retry"), (calls.delete_jobs, "delete")]
)
def test_many_jobs_are_changed_by_conditions_and_all_only_if_there_are_none(change: Any, verb: str) -> None:
    found = [change(FAILED), change(FAILED, dry_run=True), change(Which())]

    assert {(one.method, one.path) for one in found} == {("POST", f"/api/jobs/{verb}")}
    assert [one.body for one in found] == [
        {**CONDITIONS, "dry_run": False},
        {**CONDITIONS, "dry_run": True},
        {"all": True, "dry_run": False},
    ]


@pytest.mark.parametrize("ask", [calls.cancel_jobs, calls.retry_jobs, calls.delete_jobs, calls.list_jobs])
def test_an_empty_list_of_states_does_not_mean_all_jobs(ask: Any) -> None:
    with pytest.raises(InvalidInput, match="state: names no state"):
        ask(Which(state=[]))


@pytest.mark.parametrize(
    ("call", "query"),
    [
        (calls.list_jobs(), {"limit": 100}),
        (calls.list_jobs(FAILED, limit=5, cursor="x"), {**CONDITIONS, "limit": 5, "cursor": "x"}),
        (calls.list_jobs(Which(since=0, until=0, search="")), {"since": 0, "until": 0, "search": "", "limit": 100}),
        (calls.list_job_types(), {}),
        (calls.list_job_types(cursor="x"), {"cursor": "x"}),
        (calls.list_schedules(), {}),
        (calls.list_schedules(limit=5, cursor="x"), {"limit": 5, "cursor": "x"}),
        (calls.list_ticks("a", limit=5, before=7), {"limit": 5, "before": 7}),
        (calls.read_logs("a"), {}),
        (calls.read_logs("a", level="info", after=0), {"level": "info", "after": 0}),
        (event_calls.list_configurations(), {"limit": 100}),
    ],
)
def test_what_is_not_asked_for_is_not_in_the_query(call: Call[Any], query: dict[str, object]) -> None:
    assert (call.method, call.query, call.content) == ("GET", query, None)


@pytest.mark.parametrize(
    ("call", "body"),
    [
        (calls.enqueue("report"), {"job_type_uuid": "report", "arguments": {}}),
        (
            calls.enqueue("report", {"a": 1}, priority=0, delay="5m", expires=9, timeout="1h", uuid=UUID),
            {
                "job_type_uuid": "report",
                "arguments": {"a": 1},
                "priority": 0,
                "delay": "5m",
                "expires": 9,
                "timeout": "1h",
                "uuid": UUID,
            },
        ),
        (
            calls.create_job_type("report", "python"),
            {
                "name": "report",
                "executor": "python",
                "metadata": {},
                "unique": False,
                "node_type": "default",
                "timeout": None,
            },
        ),
        (calls.create_schedule("report", cron="* * * * *"), {"job_type": "report", "cron": "* * * * *"}),
        (calls.create_schedule(UUID, interval=5, tz="UTC"), {"job_type_uuid": UUID, "interval": 5, "tz": "UTC"}),
        (calls.change_job_type("a", timeout=None), {"timeout": None}),
        (calls.put_node_type(UUID, "mails", 4), {"uuid": UUID, "name": "mails", "thread_count": 4}),
    ],
)
def test_what_is_not_said_is_left_to_the_server(call: Call[Any], body: dict[str, object]) -> None:
    found = dict(call.body)
    if call.path == "/api/schedules":
        assert found.pop("job_arguments") == {}

    assert found == body


def test_jobs_of_a_bulk_say_only_what_they_differ_in() -> None:
    call = calls.enqueue_many([NewJob(job_type_uuid="report"), NewJob(job_type_uuid="report", priority=5)])

    assert call.content == b'{"jobs":[{"job_type_uuid":"report"},{"job_type_uuid":"report","priority":5}]}'


def test_text_that_is_no_unicode_is_refused_before_it_is_sent() -> None:
    with pytest.raises(InvalidInput, match=r"^body: holds a lone surrogate"):
        calls.enqueue("report", {"name": "\ud800"}).content  # noqa: B018


@pytest.mark.parametrize("content", [b"", b"<html>", b"[1]", b"{}", b'{"uuid": 5}', b'{"uuid": "\xff"}'])
@pytest.mark.parametrize("call", [calls.get_job("a"), calls.retry_job("a")])
def test_an_answer_of_something_else_is_named_as_such(call: Call[Any], content: bytes) -> None:
    with pytest.raises(StoreError, match=rf"^{call.method} {call.path}: this is not the answer of a Rota server: "):
        call.read(content)


@pytest.mark.parametrize("piece", [b"data: {}\n\n", b"data: \xff\n\n", b"data: nothing\n\n"])
def test_a_line_that_is_none_is_named_as_such(piece: bytes) -> None:
    with pytest.raises(StoreError, match=r"^log of job a: this is not the answer of a Rota server: "):
        list(LogEvents("a").lines(piece))


def test_a_stream_is_asked_for_from_where_the_caller_is() -> None:
    found = LogEvents("a", level="error", after=5).call()

    assert (found.path, found.query) == ("/api/jobs/a/logs/stream", {"level": "error", "after": 5})
