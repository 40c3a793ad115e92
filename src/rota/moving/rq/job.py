"""A job as RQ's programs see it."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

import msgspec

from rota.clock import as_datetime
from rota.engine.jobs.intake import JobRequest
from rota.errors import InvalidInput, NotFound
from rota.model.job import Job as EngineJob
from rota.model.job import JobState
from rota.model.runs.failure import failure_words
from rota.moving.common.identity import job_id_of
from rota.moving.rq.apps import FunctionApp, app_for, app_met_last, app_of_worker
from rota.moving.rq.dependencies import gate_of
from rota.moving.rq.exceptions import NoSuchJobError
from rota.moving.rq.extras import split_arguments
from rota.sdk.tasks.current_job import current_job
from rota.sdk.tasks.handle import Handle


class JobStatus(StrEnum):
    """Where a job is, in RQ's words."""

    QUEUED = "queued"
    FINISHED = "finished"
    FAILED = "failed"
    STARTED = "started"
    SCHEDULED = "scheduled"
    DEFERRED = "deferred"
    CANCELED = "canceled"


_STATUS = {
    JobState.DELAYED: JobStatus.SCHEDULED,
    JobState.QUEUED: JobStatus.QUEUED,
    JobState.RUNNING: JobStatus.STARTED,
    JobState.SUCCEEDED: JobStatus.FINISHED,
    JobState.FAILED: JobStatus.FAILED,
    JobState.CANCELLED: JobStatus.CANCELED,
}


class Job:
    """One job. Its facts are those of the last look; `refresh` looks again, as some calls do by themselves."""

    def __init__(self, app: FunctionApp, id: str) -> None:
        self.id = id
        self._app = app
        self._seen = self._look()

    @classmethod
    def fetch(cls, id: str, connection: object = None) -> Self:
        """The job with this id; `NoSuchJobError` if there is none."""
        return cls(app_for(connection) if connection is not None else app_met_last(), id)

    def __repr__(self) -> str:
        return f"Job({self.id!r})"

    @property
    def handle(self) -> Handle[Any]:
        """The same job as Rota's own programs have it."""
        return self._app.rota.handle(job_id_of("job_id", self.id))

    def _look(self) -> EngineJob:
        """The job or, while it waits for others, its gate."""
        job_id = job_id_of("job_id", self.id)
        found = self._find(job_id) or self._find(gate_of(job_id))
        if found is None or (found.id != job_id and found.state is JobState.SUCCEEDED):
            found = self._find(job_id)  # its gate has made it, perhaps between the two looks
        if found is None:
            raise NoSuchJobError(f"no such job: {self.id}")
        return found

    def _find(self, job_id: str) -> EngineJob | None:
        try:
            return self._app.rota.handle(job_id).job
        except NotFound:
            return None

    @property
    def _request(self) -> JobRequest | None:
        """What it will be, if the last look found its gate."""
        is_gate = self._seen.id == gate_of(job_id_of("job_id", self.id))
        return msgspec.convert(self._seen.spec.arguments["request"], JobRequest) if is_gate else None

    def refresh(self) -> None:
        self._seen = self._look()

    def get_status(self, refresh: bool = True) -> JobStatus:
        if refresh:
            self.refresh()
        is_deferred = self._request is not None and not self._seen.state.is_final
        return JobStatus.DEFERRED if is_deferred else _STATUS[self._seen.state]

    @property
    def is_finished(self) -> bool:
        return self.get_status() is JobStatus.FINISHED

    @property
    def is_failed(self) -> bool:
        return self.get_status() is JobStatus.FAILED

    @property
    def is_queued(self) -> bool:
        return self.get_status() is JobStatus.QUEUED

    @property
    def is_started(self) -> bool:
        return self.get_status() is JobStatus.STARTED

    @property
    def is_scheduled(self) -> bool:
        return self.get_status() is JobStatus.SCHEDULED

    @property
    def is_deferred(self) -> bool:
        """Whether it waits for other jobs."""
        return self.get_status() is JobStatus.DEFERRED

    @property
    def is_canceled(self) -> bool:
        return self.get_status() is JobStatus.CANCELED

    def return_value(self, refresh: bool = False) -> Any:
        """What the function returned; None while it has not, and if it failed."""
        if refresh or not self._seen.state.is_final:
            self.refresh()
        has_result = self._request is None and self._seen.state is JobState.SUCCEEDED
        return self._seen.results if has_result else None

    @property
    def result(self) -> Any:
        return self.return_value()

    @property
    def exc_info(self) -> str | None:
        """The traceback of the last failure."""
        errors = self._seen.errors
        found = errors.get("traceback") if isinstance(errors, dict) else None
        return str(found) if found else failure_words(errors, self._seen.results)

    @property
    def func_name(self) -> str:
        request = self._request
        name = self._seen.spec.job_type if request is None else request.job_type
        return self._app.rota.engine.definitions.job_type(name).name

    @property
    def args(self) -> tuple[object, ...]:
        """None: jobs carry their arguments by name."""
        return ()

    @property
    def kwargs(self) -> dict[str, object]:
        """All arguments: jobs carry them by name."""
        return split_arguments(self._arguments)[0]

    @property
    def meta(self) -> dict[str, Any]:
        """What it was enqueued with."""
        return split_arguments(self._arguments)[1].meta

    def save_meta(self) -> None:
        """Refused: what a job was enqueued with does not change."""
        reason = "is kept as it was enqueued; rota.current_job().progress(done, total, message) tells how far a job is"
        raise InvalidInput("meta", reason)

    save = save_meta

    @property
    def _arguments(self) -> dict[str, object]:
        request = self._request
        return self._seen.spec.arguments if request is None else request.arguments

    @property
    def dependency_ids(self) -> list[str]:
        """Of the jobs that it was enqueued to wait for."""
        return split_arguments(self._arguments)[1].after

    @property
    def origin(self) -> str:
        """The name of its queue."""
        return self._app.rota.engine.definitions.node_type(self._seen.spec.queue).name

    @property
    def enqueued_at(self) -> datetime:
        return as_datetime(self._seen.spec.enqueued_at)

    @property
    def started_at(self) -> datetime | None:
        return None if self._seen.started_at is None else as_datetime(self._seen.started_at)

    @property
    def ended_at(self) -> datetime | None:
        return None if self._seen.ended_at is None else as_datetime(self._seen.ended_at)

    def fetch_dependencies(self) -> "list[Job]":
        """The jobs that it waited for."""
        return [Job(self._app, one) for one in self.dependency_ids]

    @property
    def dependency(self) -> "Job | None":
        """The first of them."""
        return next(iter(self.fetch_dependencies()), None)

    def cancel(self) -> None:
        self._app.rota.handle(self._look().id).cancel()

    def requeue(self) -> None:
        """Bring a failed or cancelled job back."""
        self._app.rota.engine.jobs.retry(self._look().id)

    def delete(self) -> None:
        """Cancel it if it has not ended, and forget it."""
        self.cancel()
        self._app.rota.engine.jobs.delete(self._look().id)


class Dependency:
    """Jobs that another one waits for; with `allow_failure`, whatever becomes of them."""

    def __init__(
        self, jobs: "Job | str | Iterable[Job | str]", allow_failure: bool = False, enqueue_at_front: bool = False
    ) -> None:
        found = list(jobs) if isinstance(jobs, Iterable) and not isinstance(jobs, str) else [jobs]
        if not found or not all(isinstance(one, Job | str) for one in found):
            raise InvalidInput("depends_on", f"must be jobs or their ids, at least one, got {jobs!r:.100}")
        self.dependencies = found
        self.allow_failure = allow_failure
        self.enqueue_at_front = enqueue_at_front

    def job_ids(self) -> list[str]:
        """As Rota has them."""
        return [job_id_of("depends_on", one.id if isinstance(one, Job) else one) for one in self.dependencies]


def job_waiting_at(gate: EngineJob) -> str:
    """The id of the job that a gate is for."""
    return str(msgspec.convert(gate.spec.arguments["request"], JobRequest).id)


def get_current_job(connection: object = None) -> Job | None:
    """The job that the calling code is part of; None outside a job."""
    try:
        found = current_job().id
    except RuntimeError:
        return None
    return Job(app_for(connection) if connection is not None else app_of_worker(), found)
