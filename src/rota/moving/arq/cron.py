"""Functions that run by themselves: `cron(update, hour={9, 12}, minute=0)`."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from msgspec import Struct

from rota.errors import InvalidInput
from rota.moving.common.imports import function_of
from rota.moving.common.refusing import Options, refuse_value

_CRON = Options(
    of="cron",
    carried=("name", "month", "day", "weekday", "hour", "minute", "second", "timeout", "max_tries"),
    harmless=("microsecond", "keep_result", "keep_result_forever"),
    instead={"job_id": "a schedule is known by its name, and each of its times happens once"},
)
_WEEKDAYS = ("mon", "tues", "wed", "thurs", "fri", "sat", "sun")
"""arq's names, from Monday on."""
Field = int | set[int] | None


class CronJob(Struct, frozen=True, kw_only=True):
    """A function, and a cron line with seconds."""

    name: str
    function: Callable[..., Any]
    line: str
    timeout: float | timedelta | None
    max_tries: int


def cron(
    coroutine: Callable[..., Any] | str,
    *,
    name: str | None = None,
    month: Field = None,
    day: Field = None,
    weekday: Field | str = None,
    hour: Field = None,
    minute: Field = None,
    second: Field = 0,
    run_at_startup: bool = False,
    unique: bool = True,
    timeout: float | timedelta | None = None,
    max_tries: int | None = 1,
    **options: object,
) -> CronJob:
    """What is not given is any, but for the second."""
    _CRON.check(options)
    refuse_value("run_at_startup", run_at_startup, allowed=(False,), instead="enqueue it in on_startup")
    refuse_value("unique", unique, allowed=(True,), instead="each time happens once, on any number of workers")
    function = function_of("coroutine", coroutine)
    fields = (second, minute, hour, day, month)
    line = " ".join([*(_field(one) for one in fields), _weekday(weekday)])
    named = name or f"cron:{getattr(function, '__qualname__', '')}"
    return CronJob(name=named, function=function, line=line, timeout=timeout, max_tries=max_tries or 1)


def _field(value: Field) -> str:
    if value is None:
        return "*"
    return str(value) if isinstance(value, int) else ",".join(str(one) for one in sorted(value))


def _weekday(value: Field | str) -> str:
    if value is None:
        return "*"
    if isinstance(value, str):
        if value.lower() not in _WEEKDAYS:
            raise InvalidInput("weekday", f"must be one of {', '.join(_WEEKDAYS)}, got {value!r:.100}")
        return value.lower()[:3]
    numbers = [value] if isinstance(value, int) else sorted(value)
    if not all(0 <= one <= 6 for one in numbers):
        raise InvalidInput("weekday", f"must be from 0, Monday, to 6, got {value!r:.100}")
    return ",".join(_WEEKDAYS[one][:3] for one in numbers)
