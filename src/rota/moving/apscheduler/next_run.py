"""When a job runs next, if that is said: now, at a time, or not before it is resumed."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from rota.clock import STEP_MS, as_millis
from rota.errors import InvalidInput
from rota.moving.apscheduler.triggers.base import date_field


def is_due(when: object, zone: str, now: int) -> bool:
    """Whether a job is to run at once, because its next run is now or was before. The clock of the program that says so
    may be a little ahead of the store's."""
    return isinstance(when, datetime) and _instant(when, zone) <= now + STEP_MS


def next_run(when: Any, *, is_interval: bool, zone: str, now: int) -> dict[str, object]:
    """A job without a next run is paused; one in time to come is carried for intervals. An interval that is due goes on
    from there, and its run of now is made apart."""
    if when is None:
        return {"paused": True}
    is_now = is_due(when, zone, now)
    if is_interval:
        start = _instant(when, zone) if isinstance(when, datetime) else date_field("next_run_time", when)
        return {"paused": False, "start": min(_instant(when, zone), now - 1) if is_now else start}
    if not is_now:
        raise InvalidInput("next_run_time", "is carried for intervals, and as now; give the job another trigger")
    return {"paused": False}


def _instant(when: datetime, zone: str) -> int:
    """A time without a zone is in the scheduler's, as in APScheduler, whatever that of the trigger."""
    return as_millis(when if when.tzinfo else when.replace(tzinfo=ZoneInfo(zone)))
