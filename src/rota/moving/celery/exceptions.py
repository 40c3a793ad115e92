"""What Celery's programs catch."""

import builtins


class CeleryError(Exception):
    """Any of these."""


class TimeoutError(CeleryError, builtins.TimeoutError):
    """The result was not there in time."""


class TaskRevokedError(CeleryError):
    """The result was asked for of a job that was cancelled."""


class MaxRetriesExceededError(CeleryError):
    """A task asked to be retried more often than it may be."""


class Retry(CeleryError):
    """What `self.retry()` raises: this attempt is over, and another follows."""

    def __init__(self, message: str | None = None, exc: Exception | None = None, delay_ms: int | None = None) -> None:
        super().__init__(message or "the task asked to be retried")
        self.exc = exc
        self.delay_ms = delay_ms


class SoftTimeLimitExceeded(CeleryError):
    """Raised in the code of a task that takes longer than its `soft_time_limit`."""


class Reject(CeleryError):
    """Raised by a task: it failed for good."""


class Ignore(CeleryError):
    """Raised by a task: its result does not count."""
