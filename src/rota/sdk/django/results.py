"""A job as Django sees it: the `TaskResult` of a task."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.tasks import Task, TaskResult, TaskResultStatus
from django.tasks.base import TaskError
from django.utils import timezone
from msgspec import structs

from rota.clock import as_datetime
from rota.engine.jobs.intake import JobRequest
from rota.errors import JobFailed
from rota.model.ids import made_at
from rota.model.job import Job, JobState, PastAttempt
from rota.model.runs.failure import failure_words

_STATUS = {
    JobState.DELAYED: TaskResultStatus.READY,
    JobState.QUEUED: TaskResultStatus.READY,
    JobState.RUNNING: TaskResultStatus.RUNNING,
    JobState.SUCCEEDED: TaskResultStatus.SUCCESSFUL,
    JobState.FAILED: TaskResultStatus.FAILED,
    JobState.CANCELLED: TaskResultStatus.FAILED,
}
_TIMED_OUT = "builtins.TimeoutError"
_NO_EXCEPTION = f"{JobFailed.__module__}.{JobFailed.__qualname__}"
"""What stands for a failure that no exception was: a cancellation, a node that died, a result that is too large."""


def result_of(task: Task, job: Job) -> TaskResult:
    """All that is known of a job now."""
    arguments: dict[str, Any] = job.spec.arguments
    result = TaskResult(
        task=task,
        id=job.id,
        status=_STATUS[job.state],
        enqueued_at=instant(job.spec.enqueued_at),
        started_at=instant(_first_start(job)),
        finished_at=instant(job.ended_at),
        last_attempted_at=instant(_last_start(job)),
        args=arguments["args"],
        kwargs=arguments["kwargs"],
        backend=task.backend,
        errors=[*(_past_error(one) for one in job.past), *_last_error(job)],
        worker_ids=_worker_ids(job),
    )
    if job.state is JobState.SUCCEEDED:
        set_facts(result, _return_value=job.results)
    return result


def waiting_result(task: Task, job_id: str, request: JobRequest, *, reason: str | None = None) -> TaskResult:
    """Of a task that was enqueued, before its job is known. With a reason, it cannot become a job."""
    arguments: dict[str, Any] = request.arguments
    return TaskResult(
        task=task,
        id=job_id,
        status=TaskResultStatus.READY if reason is None else TaskResultStatus.FAILED,
        enqueued_at=instant(made_at(job_id)),
        started_at=None,
        finished_at=None,
        last_attempted_at=None,
        args=arguments["args"],
        kwargs=arguments["kwargs"],
        backend=task.backend,
        errors=[] if reason is None else [TaskError(exception_class_path=_NO_EXCEPTION, traceback=reason)],
        worker_ids=[],
    )


def set_facts(result: TaskResult, **facts: object) -> None:
    """Say more of a result, which is frozen for those who get it."""
    for name, value in facts.items():
        object.__setattr__(result, name, value)


def instant(ms: int | None) -> datetime | None:
    """A time as the project has times: with a zone, or in its own."""
    if ms is None:
        return None
    moment = as_datetime(ms)
    return moment if settings.USE_TZ else timezone.make_naive(moment)


def begun(job: Job, now: int) -> Job:
    """A job as it is for the code that it runs: the store may hear of its beginning only later."""
    return structs.replace(job, state=JobState.RUNNING, started_at=job.started_at or now)


def error_of(errors: object, words: str = "") -> TaskError:
    """What a job failed with: its exception, or what stands for it."""
    if isinstance(errors, dict) and "traceback" in errors:
        path = errors.get("class", f"builtins.{errors['type']}")
        return TaskError(exception_class_path=path, traceback=errors["traceback"])
    is_late = isinstance(errors, dict) and errors.get("type") == "timeout"
    path = _TIMED_OUT if is_late else _NO_EXCEPTION
    return TaskError(exception_class_path=path, traceback=failure_words(errors) or words)


def _first_start(job: Job) -> int | None:
    return next((one.started_at for one in job.past if one.started_at is not None), job.started_at)


def _last_start(job: Job) -> int | None:
    starts = [one.started_at for one in job.past if one.started_at is not None]
    return job.started_at or (starts[-1] if starts else None)


def _worker_ids(job: Job) -> list[str]:
    """The nodes that began it, one for each attempt that is kept."""
    past = [one.node for one in job.past]
    return [*past, job.node or ""] if job.started_at is not None else past


def _past_error(attempt: PastAttempt) -> TaskError:
    """Of attempts before the last one only the words are kept."""
    return TaskError(exception_class_path=_NO_EXCEPTION, traceback=attempt.error)


def _last_error(job: Job) -> list[TaskError]:
    is_failed = _STATUS[job.state] is TaskResultStatus.FAILED
    return [error_of(job.errors, job.state.value)] if is_failed else []
