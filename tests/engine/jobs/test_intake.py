"""Intake: what is asked for is checked before anything is stored, and the error names the field."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from rota.clock import ManualClock
from rota.engine.jobs.intake import MAX_DELAY_MS, MAX_INSTANT, JobRequest
from rota.errors import InvalidInput, NotFound
from rota.model.ids import new_id
from rota.model.job import MAX_PRIORITY, Cause, JobState
from rota.model.job_type import MAX_TIMEOUT_MS, JobType, Unique
from rota.model.limits import MAX_DEPTH, MAX_PAYLOAD_BYTES
from rota.model.node import NodeType
from rota.model.rate import Rate
from rota.model.runs.retry import RetryPolicy
from rota.store import Store, open_store
from tests.installation import Installation

NOW = 1_700_000_000_000
REPORT = new_id(NOW)


class IntakeInstallation(Installation):
    """With one queue and one job type, `report`."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, ManualClock(NOW))
        self.define("report", uuid=REPORT)

    def refuses(self, field: str, **inputs: object) -> str:
        """The message of the error, which names the field; nothing is stored, not even the good request beside it."""
        bad = JobRequest(**({"job_type": "report"} | inputs))  # type: ignore[arg-type]
        with pytest.raises(InvalidInput) as raised:
            self.intake.enqueue([JobRequest(job_type="report"), bad])
        assert raised.value.field == field
        assert str(raised.value).startswith(f"{field}: ")
        assert self.counts() == {}
        return raised.value.reason


@pytest.fixture
def installation() -> Iterator[IntakeInstallation]:
    store = open_store("sqlite://:memory:")
    yield IntakeInstallation(store)
    store.close()


def nested(depth: int) -> dict[str, object]:
    """An object so many levels deep, itself counted."""
    value: dict[str, object] = {}
    for _ in range(depth - 1):
        value = {"in": value}
    return value


def test_a_plain_request_becomes_a_queued_job(installation: IntakeInstallation) -> None:
    job = installation.job(installation.enqueue(arguments={"day": 1}))

    assert job.state is JobState.QUEUED
    assert job.spec.job_type == REPORT
    assert job.spec.queue == installation.queue
    assert job.spec.arguments == {"day": 1}
    assert job.spec.enqueued_at == NOW


def test_a_job_type_may_be_named_by_its_uuid(installation: IntakeInstallation) -> None:
    assert installation.job(installation.enqueue(REPORT)).spec.job_type == REPORT


def test_an_unknown_job_type_is_not_found_and_the_nearest_is_proposed(installation: IntakeInstallation) -> None:
    with pytest.raises(NotFound, match="no job type 'repotr'; did you mean 'report'"):
        installation.enqueue("repotr")

    assert installation.counts() == {}


def test_an_unknown_job_type_that_is_like_nothing_is_answered_with_what_is_known(
    installation: IntakeInstallation,
) -> None:
    with pytest.raises(NotFound, match="no job type 'xyz'; known: report"):
        installation.enqueue("xyz")


@pytest.mark.parametrize("name", ["", "\ud800", "x" * 100_000, "\0"])
def test_a_job_type_that_cannot_be_a_name_is_not_found(installation: IntakeInstallation, name: str) -> None:
    with pytest.raises(NotFound):
        installation.enqueue(name)


def test_a_job_type_whose_node_type_is_gone_takes_no_jobs(installation: IntakeInstallation) -> None:
    installation.store.put_job_types([JobType(uuid=new_id(NOW), name="lost", executor="log", node_type="nowhere")])

    assert "nowhere" in installation.refuses("job_type", job_type="lost")


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [([], "an array"), ("text", "a string"), (None, "null"), (7, "a number"), (True, "a boolean")],
)
def test_arguments_that_are_no_object_are_refused(
    installation: IntakeInstallation, arguments: object, kind: str
) -> None:
    assert kind in installation.refuses("arguments", arguments=arguments)


def test_arguments_over_the_limit_are_refused_and_up_to_it_accepted(installation: IntakeInstallation) -> None:
    room = MAX_PAYLOAD_BYTES - len(msgspec.json.encode({"text": ""}))

    reason = installation.refuses("arguments", arguments={"text": "x" * (room + 1)})
    job_id = installation.enqueue(arguments={"text": "x" * room})

    assert str(MAX_PAYLOAD_BYTES) in reason
    assert installation.job(job_id).spec.arguments == {"text": "x" * room}


def test_arguments_nested_too_deep_are_refused_and_up_to_the_limit_accepted(installation: IntakeInstallation) -> None:
    assert str(MAX_DEPTH) in installation.refuses("arguments", arguments=nested(MAX_DEPTH + 1))
    installation.refuses("arguments", arguments=nested(50_000))

    assert installation.job(installation.enqueue(arguments=nested(MAX_DEPTH))).spec.arguments == nested(MAX_DEPTH)


def test_arguments_that_contain_themselves_are_refused(installation: IntakeInstallation) -> None:
    circle: dict[str, object] = {}
    circle["in"] = circle

    installation.refuses("arguments", arguments=circle)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_cannot_carry_are_refused_wherever_they_are(
    installation: IntakeInstallation, number: float
) -> None:
    installation.refuses("arguments.ratio", arguments={"ratio": number})
    installation.refuses("arguments.rows[1].x", arguments={"rows": [1, {"x": number}]})


@pytest.mark.parametrize("arguments", [{"text": "\ud800"}, {"\udfff": 1}, {"rows": [["\ud83d"]]}])
def test_lone_surrogates_are_refused_in_keys_and_values(
    installation: IntakeInstallation, arguments: dict[str, object]
) -> None:
    assert "surrogate" in installation.refuses("arguments", arguments=arguments)


@pytest.mark.parametrize("arguments", [{1: "x"}, {None: "x"}, {("a",): "x"}])
def test_keys_that_are_no_strings_are_refused(
    installation: IntakeInstallation, arguments: dict[object, object]
) -> None:
    installation.refuses("arguments", arguments=arguments)


def test_values_that_are_not_json_are_refused(installation: IntakeInstallation) -> None:
    installation.refuses("arguments.thing", arguments={"thing": object()})


def test_any_unicode_text_is_carried_as_it_is(installation: IntakeInstallation) -> None:
    arguments: dict[str, object] = {"text": "\0 \x7f \u2028 \uffff é 😀", "": {"a.b[c]": None}}

    assert installation.job(installation.enqueue(arguments=arguments)).spec.arguments == arguments


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 2**64 - 1, 1e308, -0.0, 5e-324])
def test_large_and_small_numbers_are_carried_exactly(installation: IntakeInstallation, number: float) -> None:
    assert installation.job(installation.enqueue(arguments={"n": number})).spec.arguments == {"n": number}


NOT_WHOLE: list[object] = [1.5, "1", True, float("nan")]


@pytest.mark.parametrize("value", [-MAX_PRIORITY - 1, MAX_PRIORITY + 1, 10**30, None, *NOT_WHOLE])
def test_a_priority_out_of_range_is_refused(installation: IntakeInstallation, value: object) -> None:
    installation.refuses("priority", priority=value)


@pytest.mark.parametrize("value", [-1, MAX_DELAY_MS + 1, 10**30, *NOT_WHOLE])
def test_a_delay_out_of_range_is_refused(installation: IntakeInstallation, value: object) -> None:
    installation.refuses("delay", delay_ms=value)


@pytest.mark.parametrize("value", [-1, MAX_INSTANT + 1, 10**30, *NOT_WHOLE])
def test_a_time_out_of_range_is_refused(installation: IntakeInstallation, value: object) -> None:
    installation.refuses("run_at", run_at=value)


@pytest.mark.parametrize("value", [-1, MAX_INSTANT + 1, 10**30, *NOT_WHOLE])
def test_an_expiry_at_a_time_out_of_range_is_refused(installation: IntakeInstallation, value: object) -> None:
    installation.refuses("expires_at", expires_at=value)


@pytest.mark.parametrize("value", [-1, 0, MAX_DELAY_MS + 1, 10**30, *NOT_WHOLE])
def test_an_expiry_after_a_time_out_of_range_is_refused(installation: IntakeInstallation, value: object) -> None:
    installation.refuses("expires", expires_ms=value)


@pytest.mark.parametrize("value", [-1, 0, MAX_TIMEOUT_MS + 1, 10**30, *NOT_WHOLE])
def test_a_timeout_out_of_range_is_refused(installation: IntakeInstallation, value: object) -> None:
    installation.refuses("timeout", timeout_ms=value)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("attempts", [-1, 0, 1_001, 2**63, 10**30, *NOT_WHOLE]),
        ("delay_ms", [-1, 2**63, 10**30, *NOT_WHOLE]),
        ("max_delay_ms", [-1, 2**63, 10**30, *NOT_WHOLE]),
        ("factor", [-1.0, 0.5, 1e9, float("nan"), float("inf"), "2", True]),
        ("jitter", [-0.1, 1.1, float("nan"), "0", True]),
    ],
)
def test_a_retry_policy_out_of_range_is_refused(
    installation: IntakeInstallation, field: str, values: list[object]
) -> None:
    for value in values:
        installation.refuses(f"retry.{field}", retry=RetryPolicy(**{field: value}))  # type: ignore[arg-type]


def test_a_time_and_a_delay_cannot_both_be_given(installation: IntakeInstallation) -> None:
    assert "delay" in installation.refuses("run_at", run_at=NOW + 1, delay_ms=1)


def test_a_delay_counts_from_now(installation: IntakeInstallation) -> None:
    job = installation.job(installation.enqueue(delay_ms=1_000))

    assert job.state is JobState.DELAYED
    assert job.spec.run_at == NOW + 1_000


@pytest.mark.parametrize("inputs", [{"delay_ms": 0}, {"run_at": NOW - 1}, {"run_at": 0}])
def test_a_time_that_has_passed_means_at_once(installation: IntakeInstallation, inputs: dict[str, Any]) -> None:
    assert installation.job(installation.enqueue("report", **inputs)).state is JobState.QUEUED


@pytest.mark.parametrize("value", ["", "x", "123", 7, "g" * 36, "\ud800", "0" * 33])
def test_an_id_that_is_no_uuid_is_refused(installation: IntakeInstallation, value: object) -> None:
    installation.refuses("id", id=value)


def test_the_callers_own_id_makes_one_job_however_often_it_is_handed_in(installation: IntakeInstallation) -> None:
    own = new_id(NOW)

    first = installation.intake.enqueue([JobRequest(job_type="report", id=own.upper())])
    second = installation.intake.enqueue([JobRequest(job_type="report", id=own)])

    assert [(one.job_id, one.is_new) for one in first + second] == [(own, True), (own, False)]
    assert installation.counts() == {JobState.QUEUED: 1}


@pytest.mark.parametrize("value", ["", "x" * 513, "\ud800"])
def test_a_unique_key_that_cannot_be_one_is_refused(installation: IntakeInstallation, value: object) -> None:
    installation.refuses("unique_key", unique_key=value)


def test_a_unique_key_admits_one_live_job_and_names_it_to_the_others(installation: IntakeInstallation) -> None:
    requests = [JobRequest(job_type="report", unique_key="today") for _ in range(3)]

    admissions = installation.intake.enqueue(requests)

    assert [one.is_new for one in admissions] == [True, False, False]
    assert len({one.job_id for one in admissions}) == 1
    assert installation.counts() == {JobState.QUEUED: 1}


def test_equal_arguments_are_equal_in_any_order_for_a_type_that_is_unique_while_pending(
    installation: IntakeInstallation,
) -> None:
    unique = JobType(uuid=new_id(NOW), name="sync", executor="log", unique=Unique.WHILE_PENDING)
    installation.definitions.define_job_type(unique)

    first = installation.enqueue("sync", arguments={"a": 1, "b": {"c": 2, "d": 3}})

    assert installation.enqueue("sync", arguments={"b": {"d": 3, "c": 2}, "a": 1}) == first
    assert installation.enqueue("sync", arguments={"a": 1, "b": {"c": 2}}) != first


@pytest.mark.parametrize(
    ("field", "cause"),
    [
        ("cause", Cause("\ud800")),
        ("cause", Cause("event", "\ud800")),
        ("cause", Cause("event", "x" * 10_000_000)),
        ("cause.instant", Cause("event", instant=1.5)),  # type: ignore[arg-type]
        ("cause.instant", Cause("event", instant=10**30)),
        ("cause.kind", Cause(7)),  # type: ignore[arg-type]
    ],
)
def test_a_cause_that_cannot_be_kept_is_refused(installation: IntakeInstallation, field: str, cause: Cause) -> None:
    installation.refuses(field, cause=cause)


def test_a_cause_is_kept(installation: IntakeInstallation) -> None:
    cause = Cause("schedule", "nightly", NOW)

    assert installation.job(installation.enqueue(cause=cause)).spec.cause == cause


def test_no_requests_make_no_jobs(installation: IntakeInstallation) -> None:
    assert installation.intake.enqueue([]) == []


@pytest.mark.parametrize("field", ["priority", "delay_ms", "run_at", "timeout_ms"])
def test_a_number_with_more_digits_than_python_prints_is_refused_like_any_other(
    installation: IntakeInstallation, field: str
) -> None:
    installation.refuses(field.removesuffix("_ms"), **{field: 10**5_000})


def test_an_argument_with_more_digits_than_python_prints_is_refused_like_any_other(
    installation: IntakeInstallation,
) -> None:
    installation.refuses("arguments.n", arguments={"n": 10**5_000})


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ({"unique": Unique.WHILE_RUNNING}, "it is unique while_running"),
        ({"unique": Unique.WHILE_PENDING}, "it is unique while_pending"),
        ({"rate": Rate(10, 60_000)}, "it has a rate"),
    ],
)
def test_a_type_with_rules_that_hold_within_a_queue_takes_no_jobs_for_another(
    installation: IntakeInstallation, rules: dict[str, object], why: str
) -> None:
    installation.definitions.define_node_type(NodeType(uuid=new_id(NOW), name="mail"))
    installation.define("strict", **rules)  # type: ignore[arg-type]

    reason = installation.refuses("node_type", job_type="strict", node_type="mail")

    assert why in reason
    assert installation.enqueue("strict", node_type="default")
    assert installation.enqueue("report", node_type="mail")
