"""The native JSON of jobs, their attempts and their logs: Synchrony's keys, and ours beside them.

The HTTP API and the command line give the same. Times are epoch milliseconds; what is absent is null.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from rota.model.job import Cause, Job, JobSpec, JobState, PastAttempt, make_token
from rota.model.runs.failure import failure_words
from rota.model.runs.log import LogEntry
from rota.model.runs.progress import Progress
from rota.shapes.codec import As, Codec, or_null
from rota.shapes.definitions import RETRIES, RetryShape
from rota.store.contract.logs import LogStore

_OF_A_SERVER = 0
"""The serial of a token: a shape tells only which node had the job."""


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
    expires_at: int | None
    """A job that has not begun by then is cancelled instead."""
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


_ATTEMPT = Codec(PastAttempt, AttemptShape, attempt=As("number"), node=or_null("node"))
_PROGRESS = Codec(Progress, ProgressShape)
_LOG = Codec(LogEntry, LogShape)
_SPEC = Codec(
    JobSpec,
    JobShape,
    uuid=As("id"),
    job_type_uuid=As("job_type"),
    node_type_uuid=As("queue"),
    timeout=As("timeout_ms"),
    retries=As("retry", lambda one: one and RETRIES.told(one), lambda one: one and RETRIES.read(one)),
)
_JOB = Codec(Job, JobShape, attempt=As("attempts"))


def job_shape(
    job: Job, job_type_names: Mapping[str, str], queue_names: Mapping[str, str], progress: Progress | None = None
) -> JobShape:
    spec = job.spec
    told = {
        **_SPEC.told(spec),
        **_JOB.told(job),
        "job_type": job_type_names.get(spec.job_type),
        "node_type": queue_names.get(spec.queue),
        "executing_node": job.node,
        "available_at": job.available_at or spec.available_at,
        "attempts": _attempt_shapes(job),
        "progress": None if progress is None else _PROGRESS.shape(progress, percent=progress.percent),
        "error": _error_of(job),
    }
    return JobShape(**told)


def job_of(shape: JobShape) -> Job:
    """Without what only a store knows of a job: its lock, its flow and its series."""
    past = shape.attempts[:-1] if shape.started_at is not None else shape.attempts
    told = {
        **_JOB.read(shape),
        "spec": JobSpec(**_SPEC.read(shape)),
        "token": make_token(shape.executing_node, _OF_A_SERVER) if shape.executing_node else "",
        "past": tuple(_ATTEMPT.value(one, ended_at=one.ended_at or 0, error=one.error or "") for one in past),
    }
    return Job(**told)


progress_of = _PROGRESS.value
log_shape = _LOG.shape
log_of = _LOG.value


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
    past = [_ATTEMPT.shape(one) for one in job.past]
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
