"""A claimed job in a worker's hands, and how it is run to an outcome."""

import asyncio
from collections.abc import Callable
from enum import Enum, auto

from rota.engine.bridge.store_thread import StoreThread
from rota.engine.definitions.definitions import Definitions
from rota.engine.executors.executor import RETRY_BESIDE, Run, checked
from rota.engine.executors.interpreter.isolated import run_isolated
from rota.engine.executors.output import LogCap
from rota.engine.executors.python.function import outcome_of_error
from rota.engine.executors.registry import ExecutorRegistry
from rota.engine.observation.happenings import ExecutorFailed
from rota.engine.observation.observers import Observers
from rota.engine.worker.logs.log_stream import AttemptLog, LogStream
from rota.errors import InvalidInput, NodeStrained, NotFound, StoreError
from rota.model.job import Claim, JobSpec
from rota.model.runs.outcome import (
    INTERRUPTED,
    Outcome,
    OutcomeKind,
    cancelled,
    expired,
    refused,
    runs_on,
    succeeded,
    timed_out,
)
from rota.model.runs.retry import RetryPolicy
from rota.model.runs.settlement import has_expired, is_suspect
from rota.store.records.unreadable import UNREADABLE


class Stop(Enum):
    """Why a run is stopped from outside."""

    TIMEOUT = auto()
    CANCELLED = auto()
    INTERRUPTED = auto()
    """The node stops: the job goes back to its queue."""
    LOST = auto()
    """The claim is no longer ours: whatever comes of the run, it is not recorded."""


class Attempt:
    """A claimed job in this worker's hands."""

    __slots__ = ("claim", "claimed_at", "heir", "is_known_to_run", "reason", "run", "started_at", "task")

    def __init__(self, claim: Claim, claimed_at: float) -> None:
        self.claim = claim
        self.claimed_at = claimed_at
        self.is_known_to_run = claim.is_begun
        """Whether the store has it as running; it has what was claimed ahead as queued, until it is told."""
        self.started_at: int | None = None
        self.task: asyncio.Task[None] | None = None
        self.run: Run | None = None
        self.reason: Stop | None = None
        self.heir: Attempt | None = None
        """The next attempt at the same job in this worker, which waits for the end of this one."""

    @property
    def can_be_stopped(self) -> bool:
        return self.run is None or self.run.can_be_stopped

    def shorten_grace(self, grace_s: float) -> None:
        """Whatever was asked to end must have ended after so long."""
        if self.run is not None:
            self.run.stop_grace_s = min(self.run.stop_grace_s, grace_s)

    def not_begun(self) -> Outcome:
        """It could not be started, and is not to blame: it goes back as it came."""
        self.started_at = None
        return INTERRUPTED

    def stop(self, reason: Stop) -> None:
        """End the run; a second reason changes nothing. A run that has not begun will not."""
        if self.reason is None:
            self.reason = reason
            if self.run is not None:
                self.run.should_stop = True
            if self.task is not None:
                self.task.cancel()


_ONCE = RetryPolicy()


class Runner:
    """Runs attempts. What comes of one is always an outcome."""

    def __init__(
        self,
        definitions: Definitions,
        executors: ExecutorRegistry,
        logs: LogStream,
        thread: StoreThread,
        *,
        observers: Observers,
        on_strain: Callable[[NodeStrained], None],
        has_own_task: bool = True,
    ) -> None:
        """`has_own_task` says that the task is there only to run attempts: a cancellation that nobody asked for is then
        the work of the job's own code. Otherwise it is meant for the caller, who gets it."""
        self._definitions = definitions
        self._executors = executors
        self._logs = logs
        self._thread = thread
        self._observers = observers
        self._on_strain = on_strain
        self._has_own_task = has_own_task

    async def run(self, attempt: Attempt) -> Outcome:
        """One attempt, from the job type to an outcome. Never raises, whatever the job's code does; only a cancellation
        that is meant for the caller is passed on. The task may be left with requests to cancel it."""
        try:
            outcome = await self._execute(attempt)
        except asyncio.CancelledError as error:
            outcome = self._after_cancel(attempt, error)
        except NodeStrained as error:
            self._on_strain(error)
            outcome = attempt.not_begun()
        except BaseException as error:  # a slot that ended with it would be lost for all jobs to come
            self._observers.tell(ExecutorFailed(attempt.claim.spec.id, type(error).__name__))
            outcome = outcome_of_error(error)
        if attempt.reason is None:
            return outcome
        # What a run comes to that was stopped is no failure of its own.
        return outcome if outcome.kind is OutcomeKind.SUCCEEDED else self.stopped(attempt)

    async def _execute(self, attempt: Attempt) -> Outcome:
        spec = attempt.claim.spec
        if spec.expires_at is not None and has_expired(attempt.claim, attempt.started_at or 0):
            return expired()
        try:
            job_type = self._definitions.known_job_type(spec.job_type)
            if job_type is None:
                job_type = await self._thread.call(lambda: self._definitions.job_type(spec.job_type))
            executor = self._executors.get(job_type.executor)
        except (NotFound, InvalidInput) as error:
            return self._cannot_run(spec, error)
        except StoreError:
            return attempt.not_begun()
        claim = attempt.claim
        log = LogCap(AttemptLog(self._logs, claim))  # whatever an executor says is made fit for the store, and bounded
        run = attempt.run = Run(spec, job_type, claim.attempt, log, fencing_number=claim.fence)
        # What may have killed its nodes runs where it can hurt nobody else.
        execution = run_isolated(run, self._executors) if is_suspect(claim) else executor.run(run)
        timeout_ms = _timeout_of(run)
        if timeout_ms is None:
            return checked(await execution)
        timer = asyncio.get_running_loop().call_later(timeout_ms / 1000, attempt.stop, Stop.TIMEOUT)
        try:
            return checked(await execution)
        finally:
            timer.cancel()

    def _cannot_run(self, spec: JobSpec, error: NotFound | InvalidInput) -> Outcome:
        """It has no job type, or one that nobody here can run; perhaps because a record cannot be read."""
        if spec.cause is not None and spec.cause.kind == UNREADABLE:
            return refused(UNREADABLE, f"its record cannot be read: {spec.cause.name}")
        job_type = self._definitions.known_job_type(spec.job_type)
        if job_type is not None and job_type.managed_by == UNREADABLE:
            reason = job_type.metadata.get("reason")
            return refused(UNREADABLE, f"its job type {job_type.name!r} cannot be read: {reason}")
        return refused("definition", str(error))

    def _after_cancel(self, attempt: Attempt, error: asyncio.CancelledError) -> Outcome:
        """Somebody stopped the run, or the caller; or the job's code did it by itself, which is an error like any."""
        if attempt.reason is not None:
            return INTERRUPTED
        if not self._has_own_task and attempt.task is not None and attempt.task.cancelling():
            raise error
        return outcome_of_error(error)

    def stopped(self, attempt: Attempt) -> Outcome:
        """The outcome of a run that was stopped from outside."""
        run = attempt.run
        results = checked(succeeded(run.partial_results)).results if run else None
        if attempt.reason is Stop.TIMEOUT and run:
            may_retry = run.can_be_stopped or run.job_type.metadata.get(RETRY_BESIDE) is True
            if may_retry:
                return timed_out(_timeout_of(run) or 0, results)
            return runs_on(_timeout_of(run) or 0, results, survivors=run.survivors)
        return cancelled(results) if attempt.reason is Stop.CANCELLED else INTERRUPTED

    def retry_policy(self, claim: Claim, outcome: Outcome) -> RetryPolicy:
        """The job's own, or its type's. Only a failed attempt is tried again, and only for that is it looked up."""
        if outcome.kind is not OutcomeKind.FAILED:
            return _ONCE
        if claim.spec.retry is not None:
            return claim.spec.retry
        job_type = self._definitions.known_job_type(claim.spec.job_type)
        return job_type.retry if job_type else _ONCE


def _timeout_of(run: Run) -> int | None:
    return run.spec.timeout_ms if run.spec.timeout_ms is not None else run.job_type.timeout_ms
