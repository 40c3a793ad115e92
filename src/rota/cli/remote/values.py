"""From the native JSON of a server back to the values that it tells of."""

from typing import Any

import msgspec
from msgspec import UNSET, structs

from rota.model.events.configuration import Dependency, default_match
from rota.model.job import Job, JobSpec, PastAttempt, make_token
from rota.model.job_type import JobType, Unique
from rota.model.node import Node, NodeType
from rota.model.rate import parse_rate
from rota.model.runs.progress import Progress
from rota.model.runs.retry import RetryPolicy
from rota.model.schedules.schedule import Backfill, Schedule, ScheduleState, Tick
from rota.model.topics.topic import MESSAGE_ID, TopicRecord
from rota.model.triggers.catch_up import CatchUp
from rota.model.triggers.trigger import Trigger
from rota.model.why.answer import Answer, Reason
from rota.shapes.events import DependencyShape
from rota.shapes.jobs import AttemptShape, JobShape, JobTypeShape, NodeShape, NodeTypeShape, ProgressShape, RetryShape
from rota.shapes.schedules import ScheduleShape, TickShape
from rota.shapes.topics import RecordShape
from rota.shapes.why import ReasonShape, WhyShape
from rota.store.contract.schedules import ScheduleEntry
from rota.store.contract.topics import TopicRow

_OF_A_SERVER = 0
"""The serial of a token: a server tells only which node had the job."""


def job_of(shape: JobShape) -> Job:
    spec = JobSpec(
        id=shape.uuid,
        job_type=shape.job_type_uuid,
        queue=shape.node_type_uuid,
        enqueued_at=shape.enqueued_at,
        arguments=shape.arguments,
        priority=shape.priority,
        run_at=shape.run_at,
        unique_key=shape.unique_key,
        timeout_ms=shape.timeout,
        retry=_policy(shape.retries) if shape.retries else None,
        cause=shape.cause,
    )
    return Job(
        spec=spec,
        state=shape.state,
        attempts=shape.attempt,
        deaths=shape.deaths,
        token=make_token(shape.executing_node, _OF_A_SERVER) if shape.executing_node else "",
        available_at=shape.available_at,
        started_at=shape.started_at,
        ended_at=shape.ended_at,
        results=shape.results,
        errors=shape.errors,
        cancel_requested=shape.cancel_requested,
        past=tuple(_past(one) for one in (shape.attempts[:-1] if shape.started_at is not None else shape.attempts)),
    )


def _past(one: AttemptShape) -> PastAttempt:
    return PastAttempt(
        number=one.attempt,
        ended_at=one.ended_at or 0,
        error=one.error or "",
        started_at=one.started_at,
        node=one.node or "",
    )


def _policy(shape: RetryShape) -> RetryPolicy:
    return RetryPolicy(**structs.asdict(shape))


def progress_of(shape: ProgressShape) -> Progress:
    return Progress(done=shape.done, total=shape.total, message=shape.message, time=shape.time, attempt=shape.attempt)


def job_type_of(shape: JobTypeShape) -> JobType:
    return JobType(
        uuid=shape.uuid,
        name=shape.name,
        executor=shape.executor,
        metadata=shape.metadata,
        unique=_unique(shape.unique),
        node_type=shape.node_type,
        timeout_ms=shape.timeout,
        retry=_policy(shape.retries),
        on_node_death=shape.on_node_death,
        rate=parse_rate("rate", shape.rate) if shape.rate else None,
        rate_key=shape.rate_key or "",
        managed_by=shape.managed_by or "",
    )


def _unique(unique: bool | str) -> Unique:
    """Synchrony knows true and false only."""
    if isinstance(unique, bool):
        return Unique.WHILE_RUNNING if unique else Unique.NONE
    return Unique(unique)


def node_type_of(shape: NodeTypeShape) -> NodeType:
    return NodeType(
        uuid=shape.uuid, name=shape.name, thread_count=shape.thread_count, managed_by=shape.managed_by or ""
    )


def node_of(shape: NodeShape) -> Node:
    return Node(
        uuid=shape.uuid,
        node_type=shape.node_type_uuid,
        last_ping=shape.last_ping,
        started_at=shape.started_at,
        host=shape.host,
        pid=shape.pid,
        version=shape.version,
        roles=tuple(shape.roles),
        slots=shape.slots,
        running=shape.running,
        draining=shape.draining,
        trouble=shape.trouble,
    )


def schedule_entry_of(shape: ScheduleShape) -> ScheduleEntry:
    """Where its jobs go is not told: a server sees to that."""
    policy = shape.catch_up
    schedule = Schedule(
        uuid=shape.uuid,
        name=shape.name,
        trigger=msgspec.convert(shape.trigger, Trigger),
        queue="",
        job_type=shape.job_type_uuid,
        arguments=shape.job_arguments,
        priority=shape.priority,
        max_runs=shape.max_runs,
        overlap=shape.overlap,
        catch_up=CatchUp(mode=policy.mode, window_ms=policy.window, max_fires=policy.max),
        paused=shape.paused,
        pause_note=shape.note or "",
        pause_on_failure=shape.pause_on_failure,
        excluded=tuple(shape.exclude),
        created_at=shape.created_at,
        managed_by=shape.managed_by or "",
    )
    state = ScheduleState(
        version=shape.version,
        cursor=shape.cursor,
        nominal=shape.next,
        due=shape.next_due,
        runs=shape.runs,
        last_scheduled_at=shape.last_scheduled_at,
        last_scheduled_by=shape.last_scheduled_by,
        jobs=tuple(shape.live_jobs),
        counts=shape.counts,
        backfills=tuple(Backfill(**structs.asdict(one)) for one in shape.backfills),
    )
    return ScheduleEntry(schedule, state, tuple(shape.live_jobs))


def tick_of(shape: TickShape) -> Tick:
    return Tick(
        nominal=shape.nominal,
        status=shape.status,
        decided_at=shape.decided_at,
        reason=shape.reason or "",
        job=shape.job,
        until=shape.until,
        count=shape.count,
        by=shape.by or "",
    )


def topic_row_of(shape: RecordShape) -> TopicRow:
    """Its id is among the headers, if it is told at all."""
    record = TopicRecord(
        id=shape.headers.get(MESSAGE_ID, ""),
        value=shape.value,
        key=shape.key,
        headers=shape.headers,
        time=shape.timestamp,
    )
    return TopicRow(shape.offset, record)


def answer_of(shape: WhyShape) -> Answer:
    return Answer(_reason(shape), tuple(_reason(one) for one in shape.also))


def _reason(shape: ReasonShape) -> Reason:
    known: dict[str, Any] = {
        name: value
        for name, value in structs.asdict(shape).items()
        if value is not UNSET and name in Reason.__struct_fields__
    }
    known["nodes"] = tuple(known.get("nodes", ()))
    if isinstance(shape.dependency, DependencyShape):
        known["dependency"] = dependency_of(shape.dependency)
    return Reason(**known)


def dependency_of(shape: DependencyShape) -> Dependency:
    return Dependency(
        type=shape.type,
        resource=shape.resource_id,
        life_s=shape.life_duration,
        match=default_match(shape.type, shape.resource_id) if shape.match is UNSET else shape.match,
        outcome=None if shape.outcome is UNSET else shape.outcome,
    )
