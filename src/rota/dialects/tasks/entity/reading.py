"""Reads tasks as programs write them: Python's spelling or JavaScript's, and the older form with `expire`."""

from collections.abc import Mapping
from difflib import get_close_matches

from msgspec import UNSET, structs

from rota.dialects.tasks.entity.task import Task
from rota.dialects.tasks.entity.writing import iso
from rota.dialects.tasks.names import DEFAULT_TRIES, MAX_TRIES, check_task_id
from rota.errors import InvalidInput
from rota.model.limits import check_range, encode_json
from rota.model.triggers.cron.parser import parse_cron_line
from rota.model.triggers.durations import MAX_INTERVAL_MS
from rota.model.triggers.make_trigger import Bounds, read_bounds
from rota.model.triggers.zones.zones import parse_zone

MAX_DATA_BYTES = 200 * 1024
"""As JSON; a job's arguments hold the data and what else a task has."""
_MOST_RUNS = 1 << 53
_OPTIONS = {
    "startDate": "start_date",
    "endDate": "end_date",
    "maxRuns": "max_runs",
    "maxTries": "max_tries",
    "utc": "utc",
    "tz": "tz",
}
_NESTED = "scheduleOptions"
_WHAT = ("id", "data", "schedule", "delay", "runs")
_OLDER = ("expire", "reschedule")
_FIELDS = {name: name for name in _WHAT} | {name: name for name in _OPTIONS.values()} | _OPTIONS
TOLD = (
    *("key", "queue", "status", "errors", "errorCount", "totalErrors", "firstRun", "lastRun", "nextRun", "job"),
    *("executionTime", "executionAverage"),
)
"""What a stored task shows beyond what was asked; it is no part of a request."""


def read_task(given: "Task | Mapping[str, object]", *, is_foreign: bool = False) -> Task:
    """A task, checked. What another program wrote may have more keys than are known here."""
    if isinstance(given, Task):
        return _checked(given)
    if not isinstance(given, Mapping):
        raise InvalidInput("task", f"must be a Task or a mapping, got {type(given).__name__}")
    flat = dict(given)
    nested = flat.pop(_NESTED, flat.pop("schedule_options", None))
    if isinstance(nested, Mapping):
        flat = {**nested, **flat}
    if not is_foreign:
        _refuse_unknown(flat)
    if "id" not in flat:
        raise InvalidInput("id", "is missing; a task is known by it, and adding it again changes nothing")
    fields = {name: flat[key] for key, name in _FIELDS.items() if key in flat}
    return _checked(Task(**_from_older_form(fields, flat)))  # type: ignore[arg-type]


def _refuse_unknown(given: Mapping[str, object]) -> None:
    known = [*_FIELDS, *_OLDER, *TOLD]
    for key in given:
        if key not in known:
            close = get_close_matches(str(key), known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"what the handler needs goes into data: {{{key!r}: ...}}"
            raise InvalidInput(str(key), f"is no option of a task; {hint}")


def _from_older_form(fields: dict[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """`reschedule: true` is any number of runs with `expire` ms between them, a number is that many, and without it
    there is one run after `expire` ms. A `schedule` goes before both."""
    expire, again = given.get("expire"), given.get("reschedule", False)
    if not expire or fields.get("schedule"):
        return fields
    check_range("expire", expire, 1, MAX_INTERVAL_MS)
    if again is False or again is None:
        return {"delay": expire, **fields}
    runs = None if again is True else check_range("reschedule", again, 1, _MOST_RUNS)
    return {"max_runs": runs, **fields, "schedule": expire}


def _checked(task: Task) -> Task:
    check_task_id(task.id)
    encode_json("data", task.data, MAX_DATA_BYTES)
    if not isinstance(task.utc, bool):
        raise InvalidInput("utc", f"must be true or false, got {task.utc!r:.100}")
    tz: object = task.tz
    if tz is not None and not isinstance(tz, str):
        parse_zone("tz", tz)  # also where it is not used: it is stored
    task = structs.replace(task, schedule=_schedule(task.schedule), max_tries=_tries(task.max_tries))
    if task.max_runs is not UNSET and task.max_runs not in (None, -1):
        check_range("maxRuns", task.max_runs, 1, _MOST_RUNS)
    check_range("runs", task.runs, 0, _MOST_RUNS)
    if task.delay is not None:
        check_range("delay", task.delay, 0, MAX_INTERVAL_MS)
    bounds = bounds_of(task)
    return structs.replace(task, start_date=iso(bounds.start), end_date=iso(bounds.end))


def bounds_of(task: Task) -> Bounds:
    """Its dates as instants, and its zone."""
    return read_bounds(start=task.start_date, end=task.end_date, tz=task.zone, utc=task.utc)


def _schedule(given: object) -> int | str | None:
    """Milliseconds, or a cron line; 0 is none."""
    if given is None or given == 0 or given == "":
        return None
    if isinstance(given, str):
        parse_cron_line(given, where="schedule")
        return given
    return check_range("schedule", given, 1, MAX_INTERVAL_MS)


def _tries(given: object) -> int:
    if given in (None, -1):
        return MAX_TRIES
    return check_range("maxTries", DEFAULT_TRIES if given is UNSET else given, 1, MAX_TRIES)
