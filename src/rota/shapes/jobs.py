"""The native JSON of jobs, job types, node types, queues and nodes: Synchrony's keys, and ours beside them.

The HTTP API and the command line give the same. Times are epoch milliseconds; what is absent is null.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from rota.model.access.masking import mask_metadata
from rota.model.job import Cause, Job, JobState
from rota.model.job_type import JobType, OnNodeDeath, Unique
from rota.model.node import Node, NodeType
from rota.model.runs.failure import failure_words
from rota.model.runs.log import LogEntry
from rota.model.runs.progress import Progress
from rota.model.runs.retry import RetryPolicy
from rota.store.contract.logs import LogStore

UniqueWord = Literal["none", "while_running", "while_pending"]


class RetryShape(Struct, frozen=True):
    """When a failed attempt is tried again."""

    attempts: int
    delay_ms: int
    factor: float
    max_delay_ms: int
    jitter: float


class JobTypeShape(Struct, frozen=True, kw_only=True):
    """What to run."""

    uuid: str
    name: str
    executor: str
    metadata: dict[str, object]
    unique: bool | UniqueWord
    node_type: str
    timeout: int | None
    retries: RetryShape
    on_node_death: OnNodeDeath
    rate: str | None
    """How many of its jobs may start within a period: `10/m`."""
    rate_key: str | None
    """What the rate is for, with arguments in braces."""
    managed_by: str | None


class NodeTypeShape(Struct, frozen=True, kw_only=True):
    """A queue, and how many jobs one node of the type runs at a time."""

    uuid: str
    name: str
    thread_count: int
    managed_by: str | None


class QueueShape(Struct, frozen=True, kw_only=True):
    """A queue with its jobs by state."""

    uuid: str
    name: str
    thread_count: int
    paused: bool
    workers: int
    jobs: dict[str, int]


class NodeShape(Struct, frozen=True, kw_only=True):
    """One process."""

    uuid: str
    node_type_uuid: str
    node_type: str | None
    last_ping: int
    started_at: int
    host: str
    pid: int
    version: str
    roles: list[str]
    slots: int
    running: int
    alive: bool
    draining: bool
    trouble: str | None
    """What is wrong with it, in its own words; null when all is well."""


class AttemptShape(Struct, frozen=True, kw_only=True):
    """One attempt at a job: when, where, and what went wrong, in words."""

    attempt: int
    node: str | None
    started_at: int | None
    ended_at: int | None
    error: str | None


class ProgressShape(Struct, frozen=True, kw_only=True):
    """How far a job said it has come."""

    done: float
    total: float | None
    percent: int | None
    message: str
    time: int
    attempt: int


class JobShape(Struct, frozen=True, kw_only=True):
    """One execution of a job type."""

    uuid: str
    job_type_uuid: str
    job_type: str | None
    node_type_uuid: str
    node_type: str | None
    state: JobState
    arguments: dict[str, object]
    priority: int
    executing_node: str | None
    enqueued_at: int
    run_at: int | None
    available_at: int
    started_at: int | None
    ended_at: int | None
    attempt: int
    """How many attempts were begun."""
    attempts: list[AttemptShape]
    """The latest of them, oldest first. One whose node died has the number of the one after it."""
    deaths: int
    timeout: int | None
    retries: RetryShape | None
    unique_key: str | None
    cancel_requested: bool
    cause: Cause | None
    progress: ProgressShape | None
    """The latest word of the job's own code; null if it never said how far it is."""
    results: object
    errors: object
    """As the executor has them; a command that ended badly has none, but its exit code is in the results."""
    error: str | None
    """What went wrong, in words: `exit code 3`."""


class LogShape(Struct, frozen=True):
    """One line of a log."""

    time: int
    level: str
    message: str
    attempt: int


def job_type_shape(job_type: JobType, *, masked: bool = False) -> JobTypeShape:
    """`masked` is for those who may not define job types: without what may be a secret."""
    return JobTypeShape(
        uuid=job_type.uuid,
        name=job_type.name,
        executor=job_type.executor,
        metadata=mask_metadata(job_type.metadata) if masked else job_type.metadata,
        unique=_unique_shape(job_type.unique),
        node_type=job_type.node_type,
        timeout=job_type.timeout_ms,
        retries=_retry_shape(job_type.retry),
        on_node_death=job_type.on_node_death,
        rate=job_type.rate.text if job_type.rate else None,
        rate_key=job_type.rate_key or None,
        managed_by=job_type.managed_by or None,
    )


def _retry_shape(retry: RetryPolicy) -> RetryShape:
    return RetryShape(retry.attempts, retry.delay_ms, retry.factor, retry.max_delay_ms, retry.jitter)


def _unique_shape(unique: Unique) -> bool | UniqueWord:
    """Synchrony knows true and false only."""
    if unique is Unique.WHILE_PENDING:
        return "while_pending"
    return unique is Unique.WHILE_RUNNING


def node_type_shape(node_type: NodeType) -> NodeTypeShape:
    return NodeTypeShape(
        uuid=node_type.uuid,
        name=node_type.name,
        thread_count=node_type.thread_count,
        managed_by=node_type.managed_by or None,
    )


def queue_shape(
    node_type: NodeType, counts: Mapping[JobState, int], nodes: list[Node], *, is_paused: bool
) -> QueueShape:
    """`nodes` are those that live."""
    return QueueShape(
        uuid=node_type.uuid,
        name=node_type.name,
        thread_count=node_type.thread_count,
        paused=is_paused,
        workers=sum(node.node_type == node_type.uuid and node.slots > 0 for node in nodes),
        jobs={state.value: count for state, count in counts.items()},
    )


def node_shape(node: Node, queue_names: Mapping[str, str], now: int) -> NodeShape:
    return NodeShape(
        uuid=node.uuid,
        node_type_uuid=node.node_type,
        node_type=queue_names.get(node.node_type),
        last_ping=node.last_ping,
        started_at=node.started_at,
        host=node.host,
        pid=node.pid,
        version=node.version,
        roles=list(node.roles),
        slots=node.slots,
        running=node.running,
        alive=node.is_alive(now),
        draining=node.draining,
        trouble=node.trouble,
    )


def job_shape(
    job: Job, job_type_names: Mapping[str, str], queue_names: Mapping[str, str], progress: Progress | None = None
) -> JobShape:
    spec = job.spec
    return JobShape(
        uuid=spec.id,
        job_type_uuid=spec.job_type,
        job_type=job_type_names.get(spec.job_type),
        node_type_uuid=spec.queue,
        node_type=queue_names.get(spec.queue),
        state=job.state,
        arguments=spec.arguments,
        priority=spec.priority,
        executing_node=job.node,
        enqueued_at=spec.enqueued_at,
        run_at=spec.run_at,
        available_at=job.available_at or spec.available_at,
        started_at=job.started_at,
        ended_at=job.ended_at,
        attempt=job.attempts,
        attempts=_attempt_shapes(job),
        deaths=job.deaths,
        timeout=spec.timeout_ms,
        retries=_retry_shape(spec.retry) if spec.retry else None,
        unique_key=spec.unique_key,
        cancel_requested=job.cancel_requested,
        cause=spec.cause,
        progress=None if progress is None else _progress_shape(progress),
        results=job.results,
        errors=job.errors,
        error=_error_of(job),
    )


def _progress_shape(progress: Progress) -> ProgressShape:
    return ProgressShape(
        done=progress.done,
        total=progress.total,
        percent=progress.percent,
        message=progress.message,
        time=progress.time,
        attempt=progress.attempt,
    )


def progress_of_jobs(store: LogStore, jobs: Sequence[Job]) -> dict[str, Progress]:
    """How far jobs have come that have begun, by id."""
    by_queue: dict[str, list[str]] = {}
    for job in jobs:
        if job.started_at is not None:
            by_queue.setdefault(job.spec.queue, []).append(job.id)
    found: dict[str, Progress] = {}
    for queue, ids in by_queue.items():
        found |= store.read_progress(queue, ids)
    return found


def _attempt_shapes(job: Job) -> list[AttemptShape]:
    past = [
        AttemptShape(
            attempt=one.number, node=one.node or None, started_at=one.started_at, ended_at=one.ended_at, error=one.error
        )
        for one in job.past
    ]
    return [*past, _last_attempt(job)] if job.started_at is not None else past


def _last_attempt(job: Job) -> AttemptShape:
    """The one that runs now, or by which the job ended."""
    return AttemptShape(
        attempt=max(job.attempts, 1),
        node=job.node,
        started_at=job.started_at,
        ended_at=job.ended_at,
        error=_error_of(job),
    )


def _error_of(job: Job) -> str | None:
    return None if job.state is JobState.SUCCEEDED else failure_words(job.errors, job.results)


def log_shape(entry: LogEntry) -> LogShape:
    return LogShape(entry.time, entry.level, entry.message, entry.attempt)
