"""A task: something to do, when to do it, and what became of it so far."""

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Struct, UnsetType, structs

from rota.dialects.tasks.names import DEFAULT_TRIES

if TYPE_CHECKING:
    from rota.dialects.tasks.backends.delivery import Delivery

Date = str | int | datetime


class TaskStatus(StrEnum):
    """Where a task is."""

    SCHEDULED = "scheduled"
    """Not stored yet."""
    DELAYED = "delayed"
    """Waits for its time: its first one, its next one, or another try."""
    ENQUEUED = "enqueued"
    """Waits for a worker."""
    ACTIVE = "active"
    """A worker has it."""
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    """It failed as often in a row as it may be tried."""


class TaskError(Struct, frozen=True, kw_only=True):
    """One try that failed."""

    message: str
    at: int
    """Epoch milliseconds."""
    code: int = 599


class Task(Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """What to do and when. Keys of a mapping that becomes a task may be spelt as here or as in JavaScript."""

    id: str
    data: Any = None
    """What the handler needs; anything that JSON can carry."""
    schedule: int | str | None = None
    """Milliseconds from the end of one run to the next, or a cron line; without one, it runs once."""
    start_date: Date | None = None
    """ISO 8601 text, epoch milliseconds or a datetime."""
    end_date: Date | None = None
    max_runs: int | UnsetType | None = UNSET
    """Runs that succeed; None or -1 for any number. Without it, one, or any number if there is a schedule."""
    max_tries: int = DEFAULT_TRIES
    """How often in a row it may fail; None or -1 for as often as can be."""
    utc: bool = False
    """The schedule and dates are in UTC, whatever `tz` says."""
    tz: str | None = None
    """The time zone of a cron line and of dates without one."""
    delay: int | None = None
    """Milliseconds before the first run."""

    runs: int = 0
    """Runs that succeeded."""
    status: TaskStatus = TaskStatus.SCHEDULED
    error_count: int = 0
    """Tries that failed since the last success."""
    errors: tuple[TaskError, ...] = ()
    """The latest of them."""
    next_run: int | None = None
    """Epoch milliseconds; None while nothing is planned."""
    last_run: int | None = None
    execution_time: int | None = None
    """Milliseconds of the last run."""
    job: str | None = None
    """The id of its latest job, whose log `rota logs` shows."""
    delivery: "Delivery | None" = None
    """Of a task that a worker has: how its backend is told of the end."""

    @property
    def attempt(self) -> int:
        """Which try in a row the next, or the current, one is: from 1."""
        return self.error_count + 1

    @property
    def most_runs(self) -> int | None:
        """`max_runs` as it counts: None for any number."""
        if self.max_runs is UNSET:
            return None if self.schedule else 1
        return None if self.max_runs in (None, -1) else self.max_runs

    @property
    def zone(self) -> str | None:
        """`tz` as it counts: with `utc` it is not used, and may be anything."""
        return None if self.utc else self.tz

    def with_changes(self, **changes: Any) -> "Task":
        """The same task with other values."""
        return structs.replace(self, **changes)
