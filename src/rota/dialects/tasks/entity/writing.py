"""Tasks as JSON objects, as the document and the original program have them."""

from rota.clock import as_datetime
from rota.dialects.tasks.entity.task import Task, TaskStatus

_ENDLESS = -1


def write_task(task: Task, prefix: str = "") -> dict[str, object]:
    """A stored task, with the older form's `expire` and `reschedule` beside the newer form's `schedule`."""
    most = task.most_runs
    return {
        "id": task.id,
        "key": f"{prefix}task:{task.id}",
        "queue": f"{prefix}queue",
        "data": task.data,
        "runs": task.runs,
        "status": task.status.value,
        "expire": task.schedule if isinstance(task.schedule, int) else task.delay or 0,
        "reschedule": task.schedule is not None and (True if most is None else most),
        "schedule": task.schedule or 0,
        "scheduleOptions": _schedule_options(task),
        "maxRuns": _ENDLESS if most is None else most,
        "maxTries": task.max_tries,
        "errorCount": task.error_count,
        "errors": [{"code": one.code, "message": one.message, "ts": one.at} for one in task.errors],
        "nextRun": iso(task.next_run if task.status is TaskStatus.DELAYED else None),
        "lastRun": iso(task.last_run),
        "executionTime": task.execution_time,
        "job": task.job,
    }


def write_request(task: Task) -> dict[str, object]:
    """What was asked for, without what became of it; `read_task` reads it."""
    most = task.most_runs
    fields = {
        "id": task.id,
        "data": task.data,
        "schedule": task.schedule,
        "startDate": task.start_date,
        "endDate": task.end_date,
        "maxRuns": _ENDLESS if most is None else most,
        "maxTries": task.max_tries,
        "utc": task.utc or None,
        "tz": task.tz,
        "delay": task.delay,
        "runs": task.runs or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _schedule_options(task: Task) -> dict[str, object]:
    options = {"utc": task.utc or task.tz is None, "tz": task.tz}
    dates = {"startDate": task.start_date, "endDate": task.end_date}
    return {name: value for name, value in (options | dates).items() if value is not None}


def iso(instant: int | None) -> str | None:
    """A date is kept as text in UTC, whatever it was given as."""
    return None if instant is None else as_datetime(instant).isoformat(timespec="milliseconds").replace("+00:00", "Z")
