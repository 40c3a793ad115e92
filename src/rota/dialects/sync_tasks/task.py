"""A job as a task, in the original's words."""

from contextlib import suppress
from math import isfinite
from uuid import UUID, uuid5

from msgspec import Struct

from rota.dialects.sync_tasks.names import COLLECTION, SOURCE, Collection
from rota.dialects.sync_tasks.times import iso
from rota.errors import InvalidInput
from rota.model.job import Cause, Job, JobState

LOW_PRIORITY, CRON_PRIORITY, MANUAL_PRIORITY = 100, 200, 300
MAX_BASE_PRIORITY = 9007
"""Redis keeps scores as doubles, which are exact only up to 2^53."""
_PRIORITY_STEP = 10**12
SCHEDULED, RUNNING, FAILED, SUCCESS, CANCELED = STATUSES = ("SCHEDULED", "RUNNING", "FAILED", "SUCCESS", "CANCELED")
_STATUS_OF = {
    JobState.DELAYED: SCHEDULED,
    JobState.QUEUED: SCHEDULED,
    JobState.RUNNING: RUNNING,
    JobState.SUCCEEDED: SUCCESS,
    JobState.FAILED: FAILED,
    JobState.CANCELLED: CANCELED,
}
FOREIGN_CAUSE = "sync_task"
"""The cause of a task that another program made; its name is the id that this program gave to it."""
_FOREIGN_IDS = UUID("5a0f2b0e-6f3c-5c38-8e0e-0d5f3c9a7b11")
"""Fixed for ever: ids of adopted tasks are made with it."""
_UUID_LENGTH = 36


class Task(Struct, frozen=True):
    """A task as the API and the keys show it."""

    id: str
    source: str
    collection: str
    priority: int
    created_at: str
    started_at: str
    finished_at: str
    status: str


def task_of(job: Job) -> Task:
    collection = collection_of_job(job)
    return Task(
        id=task_id(job),
        source=collection.source,
        collection=collection.name,
        priority=score(job),
        created_at=iso(created_at(job)),
        started_at=iso(job.started_at),
        finished_at=iso(job.ended_at),
        status=status_of(job),
    )


def collection_of_job(job: Job) -> Collection:
    return Collection(str(job.spec.arguments.get(SOURCE, "")), str(job.spec.arguments.get(COLLECTION, "")))


def status_of(job: Job) -> str:
    return _STATUS_OF[job.state]


def states_of(status: str) -> frozenset[JobState]:
    """The states of jobs whose tasks have a status."""
    return frozenset(state for state, shown in _STATUS_OF.items() if shown == status)


def task_id(job: Job) -> str:
    cause = job.spec.cause
    if cause is not None and cause.kind == FOREIGN_CAUSE and cause.name:
        return cause.name
    collection = collection_of_job(job)
    return f"{collection.source}_{collection.name}_{job.id}"


def job_ids_of(task_id: str) -> list[str]:
    """The ids that the job of a task may have: the end of its own, or one made of the whole."""
    found = [foreign_job_id(task_id)]
    with suppress(ValueError):  # the id is of another make
        found.append(str(UUID(task_id[-_UUID_LENGTH:])))
    return found


def foreign_job_id(task_id: str) -> str:
    """The id of the job that runs a task which another program made: always the same."""
    return str(uuid5(_FOREIGN_IDS, task_id))


def foreign_cause(task_id: str, created_at: int) -> Cause:
    return Cause(FOREIGN_CAUSE, task_id, created_at)


def created_at(job: Job) -> int:
    """When it was handed in, here or by another program."""
    cause = job.spec.cause
    if cause is not None and cause.kind == FOREIGN_CAUSE and cause.instant is not None:
        return cause.instant
    return job.spec.enqueued_at


def score(job: Job) -> int:
    """The larger, the sooner; in one class the older, the sooner."""
    return job.spec.priority * _PRIORITY_STEP - created_at(job) // 1000


def base_priority(score: float) -> int:
    """The class within a score."""
    found = -int(-score // _PRIORITY_STEP) if isfinite(score) else 0
    if not 1 <= found <= MAX_BASE_PRIORITY:
        raise InvalidInput("priority", f"the score {score:.0f} is of no priority from 1 to {MAX_BASE_PRIORITY}")
    return found
