"""Synchrony's JSON, to and from the model. Fields that others add are ignored; those of Rota's own are not shown."""

import re
from typing import TypeVar

import msgspec
from msgspec import Struct

from rota.errors import InvalidInput
from rota.model.job import Job
from rota.model.job_type import JobType, Unique
from rota.model.limits import is_name
from rota.model.node import Node, NodeType
from rota.model.schedules.schedule import Schedule, ScheduleState
from rota.model.triggers.interval import Anchor
from rota.model.triggers.trigger import IntervalTrigger
from rota.shapes.codec import As, Codec

MAX_BYTES = 1024 * 1024
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._:/-]+")
_encode = msgspec.json.Encoder().encode


class NodeTypeRecord(Struct, frozen=True, kw_only=True):
    uuid: str
    name: str
    thread_count: int


class JobTypeRecord(Struct, frozen=True, kw_only=True):
    uuid: str
    name: str
    executor: str
    metadata: dict[str, object] = {}
    unique: bool = False
    node_type: str = "default"
    timeout: int | None = None


class JobRecord(Struct, frozen=True, kw_only=True):
    uuid: str
    job_type_uuid: str
    arguments: dict[str, object]
    executing_node: str | None = None
    enqueued_at: int | None = None
    started_at: int | None = None
    ended_at: int | None = None
    results: object = None
    errors: object = None


class NodeRecord(Struct, frozen=True, kw_only=True):
    uuid: str
    node_type_uuid: str
    last_ping: int


class ScheduleRecord(Struct, frozen=True, kw_only=True):
    uuid: str
    interval: int
    last_scheduled_by: str | None = None
    last_scheduled_at: int | None = None
    job_type_uuid: str
    job_arguments: dict[str, object] = {}


Record = TypeVar("Record", NodeTypeRecord, JobTypeRecord, JobRecord, ScheduleRecord)


def read_record(text: bytes, kind: type[Record]) -> Record:
    """A record as somebody wrote it, or `InvalidInput` that says what is wrong."""
    if len(text) > MAX_BYTES:
        raise InvalidInput("entry", f"is {len(text)} bytes, the limit is {MAX_BYTES}")
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InvalidInput("entry", str(error)) from None


def node_type_text(node_type: NodeType, uuid: str) -> bytes:
    """`uuid` may be the one by which others know it."""
    return _encode(_NODE_TYPE.shape(node_type, uuid=uuid))


def job_type_text(job_type: JobType) -> bytes:
    return _encode(_JOB_TYPE.shape(job_type))


def is_unique(unique: Unique) -> bool:
    """Synchrony knows one kind: at most one executes at a time."""
    return unique is Unique.WHILE_RUNNING


_JOB_TYPE = Codec(JobType, JobTypeRecord, unique=As("unique", is_unique), timeout=As("timeout_ms"))
_NODE_TYPE = Codec(NodeType, NodeTypeRecord)
_NODE = Codec(Node, NodeRecord, node_type_uuid=As("node_type"))


def node_text(node: Node) -> bytes:
    return _encode(_NODE.shape(node))


def schedule_text(schedule: Schedule, state: ScheduleState) -> bytes | None:
    """None for a schedule that Synchrony has no words for: it knows intervals since the last scheduling only."""
    trigger = schedule.trigger
    if not isinstance(trigger, IntervalTrigger) or trigger.anchor is not Anchor.SCHEDULED:
        return None
    return _encode(
        ScheduleRecord(
            uuid=schedule.uuid,
            interval=trigger.every_ms,
            last_scheduled_by=state.last_scheduled_by,
            last_scheduled_at=state.last_scheduled_at,
            job_type_uuid=schedule.job_type,
            job_arguments=schedule.arguments,
        )
    )


def job_text(job: Job) -> bytes:
    return _encode(
        JobRecord(
            uuid=job.id,
            job_type_uuid=job.spec.job_type,
            arguments=job.spec.arguments,
            executing_node=job.node,
            enqueued_at=job.spec.enqueued_at,
            started_at=job.started_at,
            ended_at=job.ended_at,
            results=job.results,
            errors=job.errors,
        )
    )


def dead_letter(key: str, entry: bytes, reason: str, now: int) -> bytes:
    """An entry that is no job, as it is kept. A huge one is cut."""
    text = entry[:MAX_BYTES].decode("utf-8", "backslashreplace")
    return _encode({"list": key, "entry": text, "reason": reason, "time": now})


def plain_name(text: str) -> str:
    """The name as somebody gave it; one that Rota cannot have is made fit."""
    if is_name(text):
        return text
    name = _NOT_IN_NAMES.sub("-", text).lstrip(".:/-")
    return name[:100] or "_"
