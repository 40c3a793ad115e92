"""What may be said about a task, and about one call of it; read and checked here."""

import difflib
from collections.abc import Mapping
from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Literal, TypedDict

from rota.clock import as_millis
from rota.errors import InvalidInput
from rota.model.job_type import Unique
from rota.model.runs.retry import RetryPolicy
from rota.model.triggers.durations import parse_duration

if TYPE_CHECKING:
    import sqlite3

    from rota.sdk.outbox.database import DatabaseConnection

Duration = float | str | timedelta
"""Seconds, a text such as `90s` or `1h30m`, or a timedelta."""


class TaskOptions(TypedDict, total=False):
    """Of `@app.task(...)`."""

    name: str
    """Of its job type; without it, the module's and the function's."""
    queue: str
    """The node type whose workers run it."""
    retries: int | RetryPolicy
    """How often it is tried again after a failure, or a policy with its waits."""
    timeout: Duration
    unique: Literal["none", "while_running", "while_pending"]
    priority: int
    """Higher runs first."""
    cron: str
    """When it runs by itself. Its function must need no arguments."""
    every: Duration
    """How often it runs by itself, instead of `cron`."""
    tz: str | tzinfo
    """The zone of `cron`."""
    rate: str
    """How many may start within a period, whatever the worker: `10/m`, `100/90s`."""
    rate_key: str
    """What the rate is for: `{customer}` has a rate for each value of that argument; a plain name is shared."""
    process: bool
    """Run it in a process of its own, where it can be killed."""


class CallOptions(TypedDict, total=False):
    """Of `task.options(...)`, for the jobs that are enqueued with them."""

    priority: int
    delay: Duration
    """Not before this long."""
    run_at: datetime
    """Not before this."""
    unique_key: str
    """While a live job has this key, no other is made."""
    timeout: Duration
    retries: int | RetryPolicy
    queue: str
    """The node type whose workers run it, instead of the task's own."""
    expires: Duration | datetime
    """A job that has not begun by then is cancelled instead."""
    id: str
    """A UUID of your own for the job: enqueueing it again makes no second one."""
    connection: "sqlite3.Connection"
    """The program's own connection to the file that is the store: the job is made by its transaction."""
    outbox: "DatabaseConnection"
    """The program's own connection to any database with an outbox: a relay makes the job when its transaction is
    committed."""


def refuse_unknown(given: Mapping[str, object], known: type) -> None:
    """A type checker sees a misspelt option; this is for those who have none."""
    for name in given:
        if name not in known.__annotations__:
            nearest = difflib.get_close_matches(name, known.__annotations__, n=1)
            hint = f"did you mean {nearest[0]!r}?" if nearest else f"known are {', '.join(known.__annotations__)}"
            raise InvalidInput(name, f"is not an option; {hint}")


def read_duration(field: str, value: Duration) -> int:
    """Milliseconds."""
    if isinstance(value, str):
        return parse_duration(field, value)
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.001 <= value < float("inf"):
        raise InvalidInput(field, f"must be seconds, a text such as 90s or a timedelta of 1 ms or more, got {value!r}")
    return round(value * 1000)


def read_instant(field: str, value: datetime) -> int:
    """Epoch milliseconds. A time without a zone could be meant in any, so it is refused."""
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise InvalidInput(field, f"must be a datetime with a zone, such as datetime.now(UTC), got {value!r}")
    return as_millis(value)


def read_retries(field: str, value: int | RetryPolicy) -> RetryPolicy:
    """`3` is three tries after the first."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = RetryPolicy(attempts=value + 1)
    if not isinstance(value, RetryPolicy):
        raise InvalidInput(field, f"must be a number or a RetryPolicy, got {value!r}")
    value.check(field)
    return value


def read_unique(field: str, value: str) -> Unique:
    try:
        return Unique(value)
    except ValueError:
        raise InvalidInput(field, f"must be one of {', '.join(Unique)}, got {value!r}") from None


def read_zone(field: str, value: str | tzinfo) -> str:
    """The name of a zone."""
    name = value if isinstance(value, str) else getattr(value, "key", None)
    if name is None:
        raise InvalidInput(field, f"must be a zone with a name, such as ZoneInfo('Europe/Berlin'), got {value!r}")
    return str(name)
