"""A job as RQ's programs see it."""

from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from rota.clock import as_datetime
from rota.errors import NotFound
from rota.model.job import Job as EngineJob
from rota.model.job import JobState
from rota.model.runs.failure import failure_words
from rota.moving.common.identity import job_id_of
from rota.moving.rq.apps import FunctionApp, app_for, app_met_last
from rota.moving.rq.exceptions import NoSuchJobError
from rota.sdk.tasks.current_job import current_job
from rota.sdk.tasks.handle import Handle


class JobStatus(StrEnum):
    """Where a job is, in RQ's words."""

    QUEUED = "queued"
    FINISHED = "finished"
    FAILED = "failed"
    STARTED = "started"
    SCHEDULED = "scheduled"
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
        try:
            return self.handle.job
        except NotFound:
            raise NoSuchJobError(f"no such job: {self.id}") from None

    def refresh(self) -> None:
        self._seen = self._look()

    def get_status(self, refresh: bool = True) -> JobStatus:
        if refresh:
            self.refresh()
        return _STATUS[self._seen.state]

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
    def is_canceled(self) -> bool:
        return self.get_status() is JobStatus.CANCELED

    def return_value(self, refresh: bool = False) -> Any:
        """What the function returned; None while it has not, and if it failed."""
        if refresh or not self._seen.state.is_final:
            self.refresh()
        return self._seen.results if self._seen.state is JobState.SUCCEEDED else None

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
        return self._app.rota.engine.definitions.job_type(self._seen.spec.job_type).name

    @property
    def kwargs(self) -> dict[str, object]:
        """All arguments: jobs carry them by name."""
        return self._seen.spec.arguments

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

    def cancel(self) -> None:
        self.handle.cancel()

    def requeue(self) -> None:
        """Bring a failed or cancelled job back."""
        self._app.rota.engine.jobs.retry(self._look().id)

    def delete(self) -> None:
        """Cancel it if it has not ended, and forget it."""
        self.handle.cancel()
        self._app.rota.engine.jobs.delete(self._look().id)


def get_current_job(connection: object = None) -> Job | None:
    """The job that the calling code is part of; None outside a job."""
    try:
        found = current_job().id
    except RuntimeError:
        return None
    return Job.fetch(found, connection)
