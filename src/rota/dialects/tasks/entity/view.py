"""A stored task as it is now, put together of its schedule and its latest job."""

from typing import TypeGuard

from msgspec import structs

from rota.dialects.tasks.entity.planning import ARGUMENT
from rota.dialects.tasks.entity.reading import read_task
from rota.dialects.tasks.entity.task import Task, TaskError, TaskStatus
from rota.model.job import Job, JobSpec, JobState
from rota.model.runs.failure import failure_words
from rota.model.schedules.schedule import Schedule, ScheduleState
from rota.model.schedules.ticking import aimed
from rota.store.contract.schedules import ScheduleEntry


def requested_task(arguments: dict[str, object]) -> Task:
    """The task as it was asked for; `runs` are those that it had then."""
    return read_task(arguments[ARGUMENT], is_foreign=True)  # type: ignore[arg-type]


def job_of(entry: ScheduleEntry) -> str | None:
    """The id of its latest job, which tells where the task is."""
    return entry.state.jobs[-1] if entry.state.jobs else None


def stored_task(entry: ScheduleEntry, job: Job | None, now: int) -> Task:
    """The task. `job` is its latest one, if there was any and history knows it."""
    task = requested_task(entry.schedule.arguments)
    unfinished = 0 if job is None or job.state in (JobState.SUCCEEDED, JobState.CANCELLED) else 1
    cancelled = 1 if job is not None and job.state is JobState.CANCELLED else 0
    task = structs.replace(task, runs=task.runs + max(0, entry.state.runs - unfinished - cancelled))
    if job is not None:
        task = _with_job(task, job, now)
    if unfinished:
        return task
    state = next_state(entry.schedule, entry.state, job, now)
    if entry.schedule.paused:
        return structs.replace(task, status=TaskStatus.PAUSED)
    if state.nominal is None:
        return structs.replace(task, status=TaskStatus.COMPLETED)
    status = TaskStatus.DELAYED if state.nominal > now else TaskStatus.ENQUEUED
    return structs.replace(task, status=status, next_run=state.nominal)


def next_state(schedule: Schedule, state: ScheduleState, job: Job | None, now: int) -> ScheduleState:
    """How far the schedule has come once it knows that its latest job ended, which a ticker sees a little later."""
    ended_at = job.ended_at if job is not None else None
    if ended_at is None or state.nominal is not None:
        return state
    return aimed(schedule, structs.replace(state, last_ended=ended_at), now)


def is_over_after(entry: ScheduleEntry, ended_at: int) -> bool:
    """Whether nothing follows a run that ends now."""
    if entry.schedule.paused or entry.state.nominal is not None:
        return False
    return aimed(entry.schedule, structs.replace(entry.state, last_ended=ended_at), ended_at).nominal is None


def says_completed(results: object) -> TypeGuard[dict[str, object]]:
    """Whether a run left as its result that it was the last one."""
    return isinstance(results, dict) and results.get("completed") is True


def is_completed(entry: ScheduleEntry, job: Job | None) -> bool:
    """Whether its latest run was the last one, and the store knows: nothing but history is left of the task."""
    if job is None or job.state is not JobState.SUCCEEDED or not says_completed(job.results):
        return False
    return is_over_after(entry, job.ended_at or 0)


def _with_job(task: Task, job: Job, now: int) -> Task:
    """What the latest job tells: where it is, how its tries failed, how long it took."""
    errors = [TaskError(message=one.error, at=one.ended_at) for one in job.past]
    if job.state is JobState.FAILED:
        words = failure_words(job.errors, job.results) or "it failed without saying why"
        errors.append(TaskError(message=words, at=job.ended_at or 0))
    has_run = job.started_at is not None and job.ended_at is not None
    return structs.replace(
        task,
        status=TaskStatus.ENQUEUED if _is_ready(job, now) else _STATUS.get(job.state, TaskStatus.DELAYED),
        error_count=0 if job.state is JobState.SUCCEEDED else job.attempts - (job.state is JobState.RUNNING),
        errors=tuple(errors) if job.state is not JobState.SUCCEEDED else (),
        next_run=job.available_at if job.state is JobState.DELAYED else None,
        last_run=job.ended_at if job.ended_at is not None else (job.past[-1].ended_at if job.past else None),
        execution_time=(job.ended_at or 0) - (job.started_at or 0) if has_run else None,
        job=job.id,
    )


def _is_ready(job: Job, now: int) -> bool:
    """Whether it waits for a worker. One that is due is made ready when it is claimed; one that was just made waits
    only so that a delay can still be set."""
    is_new = not job.past and not job.attempts
    return job.state is JobState.DELAYED and (is_new or job.available_at <= now)


_STATUS = {
    JobState.QUEUED: TaskStatus.ENQUEUED,
    JobState.RUNNING: TaskStatus.ACTIVE,
    JobState.FAILED: TaskStatus.FAILED,
}


def running_task(spec: JobSpec, attempt: int, entry: ScheduleEntry | None) -> Task:
    """The task as its handler gets it. Without a schedule, its schedule was removed while the job waited."""
    task = requested_task(spec.arguments)
    before = 0 if entry is None else max(0, entry.state.runs - 1)
    return structs.replace(
        task, runs=task.runs + before, status=TaskStatus.ACTIVE, error_count=attempt - 1, job=spec.id
    )
