"""What a shape tells is read back as it was: nothing that both have is left out, in either direction."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec import Struct, structs

from rota.engine.events.events import EventAnswer, Ignored, Preview, Triggered, Validated
from rota.engine.events.request import BadEvent
from rota.model.access.audit import AuditEntry
from rota.model.events.configuration import (
    ClockKind,
    Configuration,
    Dependency,
    Group,
    Late,
    Match,
    first_state,
)
from rota.model.events.evaluation import Evaluation, Row, Verdict
from rota.model.events.event import EventRef
from rota.model.events.explanation import Expiry, Explanation
from rota.model.job import Cause, Job, JobSpec, JobState, PastAttempt
from rota.model.job_type import JobType, OnNodeDeath, Unique
from rota.model.node import Node, NodeType
from rota.model.runs.log import LogEntry
from rota.model.runs.retry import RetryPolicy
from rota.model.schedules.schedule import Backfill, Overlap, ScheduleState, Tick, TickStatus
from rota.model.topics.topic import MESSAGE_ID, TopicRecord
from rota.model.triggers.make_trigger import make_cron, read_bounds
from rota.model.why.answer import Answer, Code, Reason
from rota.shapes.audit import AuditShape, audit_entry_of, audit_shape
from rota.shapes.codec import As, Codec, as_list, or_null
from rota.shapes.definitions import (
    JobTypeShape,
    NodeTypeShape,
    job_type_of,
    job_type_shape,
    node_type_of,
    node_type_shape,
)
from rota.shapes.events.configurations import ConfigurationShape, configuration_entry_of, configuration_shape
from rota.shapes.events.evaluations import (
    EvaluationShape,
    ExplanationShape,
    explanation_of_shape,
    explanation_shape,
    preview_of,
    preview_shape,
)
from rota.shapes.events.events import EventReportShape, ValidationShape, report_shape, validation_of, validation_shape
from rota.shapes.events.events import answer_of as answer_of_events
from rota.shapes.jobs import JobShape, LogShape, job_of, job_shape, log_of, log_shape
from rota.shapes.nodes import NodeShape, node_of, node_shape
from rota.shapes.schedules import ScheduleShape, TickShape, schedule_entry_of, schedule_shape, tick_of, tick_shape
from rota.shapes.topics import RecordShape, TopicShape, record_shape, topic_of, topic_row_of, topic_shape
from rota.shapes.why import WhyShape, answer_of, why_shape
from rota.store.contract.events import ConfigurationEntry, Validation
from rota.store.contract.schedules import ScheduleEntry
from rota.store.contract.topics import TopicEntry, TopicRow
from tests.shapes.whole import whole_schedule

RETRY = RetryPolicy(attempts=3, delay_ms=4, factor=5.0, max_delay_ms=6, jitter=0.7)
JOB = Job(
    spec=JobSpec(
        id="id",
        job_type="jt",
        queue="q",
        enqueued_at=1,
        arguments={"a": 2},
        priority=3,
        run_at=4,
        unique_key="u",
        timeout_ms=5,
        retry=RETRY,
        cause=Cause("schedule", "nightly", 6),
    ),
    state=JobState.FAILED,
    attempts=7,
    deaths=8,
    token="node/0",
    available_at=9,
    started_at=10,
    ended_at=11,
    results={"r": 12},
    errors="e",
    cancel_requested=True,
    past=(PastAttempt(number=1, ended_at=2, error="x", started_at=1, node="n"),),
)
WAITING = structs.replace(JOB, state=JobState.QUEUED, token="", started_at=None, ended_at=None, errors=None)
ENTRY = ScheduleEntry(
    whole_schedule(make_cron("30 2 * * *", read_bounds(tz="Europe/Berlin"))),
    ScheduleState(
        version=7,
        cursor=8,
        nominal=9,
        due=10,
        runs=11,
        last_scheduled_at=12,
        last_scheduled_by="node",
        jobs=("a", "b"),
        counts={"fired": 13},
        backfills=(
            Backfill(id="b", start=1, end=2, made_at=3, count=4, overlap=Overlap.ALLOW, priority=5, force=True),
        ),
    ),
    ("a", "b"),
)
DEPENDENCY = Dependency(type="JOB", resource="report", life_s=60, match=Match.EXACT, outcome="failed")
FILE = Dependency(type="FILE", resource="/in/", life_s=60, match=Match.DIRECTORY)
EVENT = EventRef("e", "/in/a", 1_500_000, 2, stated_time=2_000_000)
EVALUATION = Evaluation(
    event=EVENT,
    type="FILE",
    verdict=Verdict.WAITING,
    at=1_600_000,
    matrix=(
        Row(dependency=FILE, is_met=True, is_hit=True, event=EVENT, age_us=100_001, is_newer=True),
        Row(dependency=DEPENDENCY, is_met=False),
    ),
    last_execution=1_000_000,
    job="j",
)
EXPLANATION = Explanation(
    sentence="s",
    verdict=Verdict.WAITING,
    last=EVALUATION,
    standing=EVALUATION.matrix[:1],
    missing=(DEPENDENCY,),
    missing_words="JOB load",
    expires_next=Expiry(FILE, 61_500_000),
)
CONFIGURATION = Configuration(
    uuid="u",
    name="n",
    queue="",
    job_type="report",
    dependencies=(FILE, DEPENDENCY, structs.replace(FILE, resource="/out/")),
    rule=Group((0, Group((1, 2), any_of=True))),
    arguments={"a": 1},
    priority=2,
    clock=ClockKind.RECEPTION,
    late=Late.JOIN,
    created_at=3,
    managed_by="file",
)
CONFIGURED = ConfigurationEntry(
    CONFIGURATION,
    structs.replace(first_state(CONFIGURATION, 4), last_execution=5, last_execution_wall=6, evaluated=7, triggered=8),
)
REASON = Reason(
    code=Code.BEHIND, sentence="s", since=1, until=2, nodes=("n",), ahead=3, error={"x": 1}, dependency=DEPENDENCY
)

ROUND_TRIPS: list[tuple[object, Callable[[Any], Struct], type, Callable[[Any], object]]] = [
    (JOB, lambda one: job_shape(one, {}, {}), JobShape, job_of),
    (WAITING, lambda one: job_shape(one, {}, {}), JobShape, job_of),
    (LogEntry(1, "text", "error", 2), log_shape, LogShape, log_of),
    (
        JobType(
            uuid="u",
            name="n",
            executor="bash",
            metadata={"command": ["true"]},
            unique=Unique.WHILE_PENDING,
            node_type="big",
            timeout_ms=1,
            retry=RETRY,
            on_node_death=OnNodeDeath.FAIL,
            managed_by="file",
        ),
        job_type_shape,
        JobTypeShape,
        job_type_of,
    ),
    (JobType(uuid="u", name="n", executor="x", unique=Unique.WHILE_RUNNING), job_type_shape, JobTypeShape, job_type_of),
    (NodeType(uuid="u", name="n", thread_count=3, managed_by="file"), node_type_shape, NodeTypeShape, node_type_of),
    (
        Node(
            uuid="u",
            node_type="t",
            last_ping=1,
            started_at=2,
            host="h",
            pid=3,
            version="v",
            roles=("worker", "server"),
            slots=4,
            running=5,
            draining=True,
            trouble="hot",
        ),
        lambda one: node_shape(one, {"t": "big"}, 1),
        NodeShape,
        node_of,
    ),
    (ENTRY, lambda one: schedule_shape(one, {}), ScheduleShape, schedule_entry_of),
    (
        Tick(nominal=1, status=TickStatus.SKIPPED, decided_at=2, reason="overlap", job="j", until=3, count=4, by="n"),
        tick_shape,
        TickShape,
        tick_of,
    ),
    (TopicEntry("t", 1, 2), topic_shape, TopicShape, topic_of),
    (
        TopicRow(3, TopicRecord(id="m", value={"v": 1}, key="k", headers={MESSAGE_ID: "m"}, time=4)),
        record_shape,
        RecordShape,
        topic_row_of,
    ),
    (
        AuditEntry(
            id="i",
            is_done=False,
            time=1,
            who="w",
            origin="o",
            key="k",
            action="a",
            kind="k2",
            name="n",
            uuid="u",
            before={"b": 1},
            after={"c": 2},
        ),
        audit_shape,
        AuditShape,
        audit_entry_of,
    ),
    (Preview("c", EVALUATION), preview_shape, EvaluationShape, preview_of),
    (EXPLANATION, lambda one: explanation_shape("c", one), ExplanationShape, explanation_of_shape),
    (CONFIGURED, lambda one: configuration_shape(one, {}), ConfigurationShape, configuration_entry_of),
    (
        Validation(EVENT, 1),
        lambda one: validation_shape(one, CONFIGURATION),
        ValidationShape,
        lambda shape: validation_of(shape, CONFIGURATION),
    ),
    (
        EventAnswer(
            [Validated(0, "c", FILE)],
            [Triggered(1, "c", "j")],
            [Ignored(2, "d", Verdict.OLDER, 5), Ignored(3, "e", Verdict.DUPLICATE, None)],
            {0, 1, 2, 3},
            [BadEvent(5, "eventType", "is none")],
        ),
        lambda one: report_shape(one, range(5), one.refused),
        EventReportShape,
        lambda shape: answer_of_events(shape, 6),
    ),
    (Answer(REASON, (Reason(code=Code.PAUSED, sentence="p", note="why"),)), why_shape, WhyShape, answer_of),
]


@pytest.mark.parametrize(
    ("value", "write", "shape", "read"), ROUND_TRIPS, ids=[type(one[0]).__name__ for one in ROUND_TRIPS]
)
def test_a_value_comes_back_as_it_was(
    value: object, write: Callable[[Any], Struct], shape: type, read: Callable[[Any], object]
) -> None:
    wire = msgspec.json.encode(write(value))

    assert read(msgspec.json.decode(wire, type=shape)) == value


class Thing(Struct):
    name: str
    size_ms: int
    parts: tuple[int, ...]
    note: str = ""
    own: int = 7


class ThingShape(Struct):
    name: str
    size: int
    parts: list[int]
    note: str | None
    words: str


def test_only_what_differs_is_said() -> None:
    codec = Codec(Thing, ThingShape, size=As("size_ms"), parts=as_list("parts"), note=or_null("note"))

    shape = codec.shape(Thing("a", 1, (2, 3)), words="w")

    assert shape == ThingShape("a", 1, [2, 3], None, "w")
    assert codec.value(shape, own=8) == Thing("a", 1, (2, 3), "", 8)


def test_a_name_that_means_something_else_in_the_value_is_not_copied() -> None:
    class Kind(Struct):
        kind: str

    class KindShape(Struct):
        kind_uuid: str
        kind: str | None

    codec = Codec(Kind, KindShape, kind_uuid=As("kind"))

    assert codec.shape(Kind("u"), kind="its name") == KindShape("u", "its name")
    assert codec.value(KindShape("u", "its name")) == Kind("u")
    with pytest.raises(TypeError):
        codec.shape(Kind("u"))  # nobody said its name
