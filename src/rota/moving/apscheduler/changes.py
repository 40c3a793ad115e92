"""What `modify_job` changes of a schedule."""

from collections.abc import Callable, Mapping
from typing import Any

from rota.moving.apscheduler.next_run import next_run
from rota.moving.apscheduler.options import JobOptions, trigger_of, window_of
from rota.moving.apscheduler.triggers.interval import IntervalTrigger
from rota.moving.common.refusing import Options
from rota.sdk.tasks.parameters import Parameters

_CHANGES = Options(
    of="modify_job",
    carried=("trigger", "args", "kwargs", "coalesce", "misfire_grace_time", "max_instances", "next_run_time"),
    harmless=("name",),
    instead={
        "func": "add the job anew with replace_existing=True",
        "id": "remove the job, and add one with the other id",
        "executor": "make another scheduler",
    },
)
_OF_TRIGGER = ("start", "end", "jitter", "tz")


def changed_fields(
    changes: Mapping[str, Any], parameters: Callable[[], Parameters], *, is_interval: bool, zone: str, now: int
) -> dict[str, object]:
    """The fields of a request for a schedule that these changes are. `parameters` finds what its function takes."""
    _CHANGES.check(changes)
    found: dict[str, object] = {}
    if "trigger" in changes:  # nothing of the old one stays, and a job that was paused runs again
        trigger = trigger_of(changes["trigger"], {})
        found |= {**dict.fromkeys(_OF_TRIGGER), **trigger.fields(zone, now), "paused": False}
        is_interval = isinstance(trigger, IntervalTrigger)
    if "args" in changes or "kwargs" in changes:
        found["job_arguments"] = parameters().arguments(changes.get("args") or (), changes.get("kwargs") or {})
    if changes.keys() & {"coalesce", "misfire_grace_time", "max_instances"}:
        found["catch_up"] = _catch_up(changes)
    if "next_run_time" in changes:
        found |= next_run(changes["next_run_time"], is_interval=is_interval, zone=zone, now=now)
    return found


def _catch_up(changes: Mapping[str, Any]) -> dict[str, object]:
    names = ("coalesce", "misfire_grace_time", "max_instances")
    options = JobOptions(**{name: changes[name] for name in names if name in changes})
    options.fields()  # refuses what is not carried
    found: dict[str, object] = {"mode": "last" if options.coalesce else "all"} if "coalesce" in changes else {}
    if "misfire_grace_time" in changes:
        found["window"] = window_of(changes["misfire_grace_time"])
    return found
