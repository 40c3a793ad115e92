"""A job as arq's programs see it."""

import asyncio
from enum import StrEnum
from typing import Any

from rota.errors import JobFailed, NotFound
from rota.model.job import JobState
from rota.moving.common.failures import original_error
from rota.moving.common.identity import job_id_of
from rota.moving.common.refusing import refused_method
from rota.sdk.tasks.app import Rota
from rota.sdk.tasks.handle import Handle


class JobStatus(StrEnum):
    """Where a job is, in arq's words."""

    deferred = "deferred"
    queued = "queued"
    in_progress = "in_progress"
    complete = "complete"
    not_found = "not_found"


_STATUS = {
    JobState.DELAYED: JobStatus.deferred,
    JobState.QUEUED: JobStatus.queued,
    JobState.RUNNING: JobStatus.in_progress,
}


class ResultNotFound(RuntimeError):
    """Nobody knows the job."""


class Job:
    """One job, by its id."""

    def __init__(self, job_id: str, redis: Any) -> None:
        self.job_id = job_id
        self._app: Rota = redis.__rota_app__

    def __repr__(self) -> str:
        return f"<arq job {self.job_id}>"

    @property
    def _handle(self) -> Handle[Any]:
        return self._app.handle(job_id_of("job_id", self.job_id))

    async def status(self) -> JobStatus:
        try:
            state = (await asyncio.to_thread(lambda: self._handle.job)).state
        except NotFound:
            return JobStatus.not_found
        return _STATUS.get(state, JobStatus.complete)

    async def result(self, timeout: float | None = None, *, poll_delay: float = 0.5) -> Any:
        """Wait for the end. A built-in exception of the function is raised as it was, any other as `rota.JobFailed`."""
        try:
            return await self._handle.aget(timeout)
        except NotFound:
            raise ResultNotFound(f"no job {self.job_id}") from None
        except JobFailed as failed:
            raise original_error(failed) from failed

    info = refused_method("info", "rota job ID tells all that is known of a job")
    result_info = refused_method("result_info", "status and result tell how it ended, rota job ID the rest")

    async def abort(self, *, timeout: float | None = None, poll_delay: float = 0.5) -> bool:
        """Cancel it. Whether there was something to cancel."""
        return await asyncio.to_thread(lambda: self._handle.cancel())
