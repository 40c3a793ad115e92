"""What became of a task: one job, or those of a canvas."""

import builtins
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

from rota.clock import as_datetime
from rota.errors import JobFailed, NotFound
from rota.model.job import Job, JobState
from rota.moving.celery.current import current_app
from rota.moving.celery.exceptions import TaskRevokedError, TimeoutError
from rota.moving.common.failures import original_error
from rota.moving.common.identity import job_id_of
from rota.sdk.tasks.flow_handle import FlowHandle
from rota.sdk.tasks.handle import Handle
from rota.sdk.tasks.loading import app_of

R = TypeVar("R")
_STATES = {
    JobState.DELAYED: "PENDING",
    JobState.QUEUED: "PENDING",
    JobState.RUNNING: "STARTED",
    JobState.SUCCEEDED: "SUCCESS",
    JobState.FAILED: "FAILURE",
    JobState.CANCELLED: "REVOKED",
}


class AsyncResult(Generic[R]):
    """One job. As in Celery, one that nobody knows is PENDING."""

    def __init__(self, id: str, *, app: object = None, flow: FlowHandle[Any] | None = None) -> None:
        """Without an app, the one that was made last."""
        self.id = id
        self._app = app_of(app) or current_app()
        self._flow = flow
        """Of the last job of a chain: what comes before it."""

    @property
    def task_id(self) -> str:
        return self.id

    def __repr__(self) -> str:
        return f"<AsyncResult: {self.id}>"

    @property
    def state(self) -> str:
        job = self._job
        if job is None:
            return "PENDING"
        return "RETRY" if job.state is JobState.DELAYED and job.attempts else _STATES[job.state]

    status = state

    def ready(self) -> bool:
        job = self._job
        return job is not None and job.state.is_final

    def successful(self) -> bool:
        return self.state == "SUCCESS"

    def failed(self) -> bool:
        return self.state == "FAILURE"

    def get(self, timeout: float | None = None, propagate: bool = True, interval: float = 0.5) -> R:
        """Wait for the end. A built-in exception of the task is raised as it was, any other as `rota.JobFailed`;
        without `propagate` it is returned. `interval` makes no difference."""
        try:
            return self._handle.get_when_made(timeout) if self._flow is None else self._flow.get(timeout)
        except builtins.TimeoutError as error:
            raise TimeoutError(str(error)) from None
        except JobFailed as failed:
            raised = _error_of(failed)
            if propagate:
                raise raised from failed
            return raised  # type: ignore[return-value]

    wait = get

    @property
    def result(self) -> Any:
        """What it returned, or the exception that it raised; None while it has not ended."""
        return self.get(propagate=False) if self.ready() else None

    info = result

    @property
    def traceback(self) -> str | None:
        errors = None if self._job is None else self._job.errors
        return str(errors["traceback"]) if isinstance(errors, dict) and "traceback" in errors else None

    @property
    def date_done(self) -> datetime | None:
        ended_at = None if self._job is None else self._job.ended_at
        return None if ended_at is None else as_datetime(ended_at)

    def revoke(self, terminate: bool = False) -> None:
        """Cancel it. A running one is cancelled only with `terminate`."""
        job = self._job
        if job is not None and (terminate or job.state is not JobState.RUNNING):
            self._handle.cancel()

    @property
    def _handle(self) -> Handle[R]:
        return self._app.handle(job_id_of("task_id", self.id))

    @property
    def _job(self) -> Job | None:
        try:
            return self._handle.job
        except NotFound:
            return None


class GroupResult:
    """The jobs of a group, or what became of the chains in it."""

    def __init__(
        self, id: str, results: "Sequence[AsyncResult[Any] | GroupResult]", flow: FlowHandle[list[Any]] | None
    ) -> None:
        self.id = id
        self.results = list(results)
        self._flow = flow

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> "Iterator[AsyncResult[Any] | GroupResult]":
        return iter(self.results)

    def ready(self) -> bool:
        return all(one.ready() for one in self.results)

    def successful(self) -> bool:
        return all(one.successful() for one in self.results)

    def failed(self) -> bool:
        return any(one.failed() for one in self.results)

    def completed_count(self) -> int:
        return sum(one.successful() for one in self.results)

    def get(self, timeout: float | None = None, propagate: bool = True) -> list[Any]:
        """The results of all, in order, once all have ended."""
        if self._flow is None or not propagate:
            return [one.get(timeout, propagate=propagate) for one in self.results]
        try:
            return self._flow.get(timeout)
        except builtins.TimeoutError as error:
            raise TimeoutError(str(error)) from None
        except JobFailed as failed:
            raise _error_of(failed) from failed

    join = get

    def revoke(self, terminate: bool = False) -> None:
        for one in self.results:
            one.revoke(terminate)


def _error_of(failed: JobFailed) -> Exception:
    return TaskRevokedError(str(failed)) if failed.state == JobState.CANCELLED.value else original_error(failed)
