"""The native JSON of schedules, ticks, backfills and fires: Synchrony's keys, and ours beside them.

The HTTP API and the command line give the same. Times are epoch milliseconds; what is absent is null.
"""

from collections.abc import Mapping
from datetime import UTC
from functools import partial
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Struct

from rota.clock import as_datetime
from rota.engine.schedules.backfill import BackfillPlan
from rota.model.schedules.schedule import Backfill, Overlap, Schedule, ScheduleState, Tick, TickStatus
from rota.model.triggers.catch_up import CatchUp, CatchUpMode
from rota.model.triggers.trigger import IntervalTrigger, Trigger
from rota.model.triggers.words.words import trigger_words
from rota.shapes.codec import As, Codec, as_list, or_null
from rota.store.contract.schedules import ScheduleEntry


class CatchUpShape(Struct, frozen=True):
    """What happens with ticks that nobody was there for."""

    mode: CatchUpMode
    window: int | None
    max: int


class BackfillShape(Struct, frozen=True, kw_only=True):
    """A past range (start, end] for which jobs were made."""

    id: str
    start: int
    end: int
    count: int
    """Instants in the range."""
    overlap: Overlap
    priority: int
    force: bool
    cancelled: bool
    made_at: int


class BackfillPlanShape(BackfillShape, frozen=True, kw_only=True):
    """A backfill and what it makes."""

    jobs: int
    first: int | None
    last: int | None
    already_fired: int
    already_made: int
    excluded: int
    known_from: int | None
    """Of older instants nobody knows whether they fired."""


class ScheduleShape(Struct, frozen=True, kw_only=True):
    """What makes jobs by itself, and how far it has come."""

    uuid: str
    name: str
    interval: int | None
    last_scheduled_by: str | None
    last_scheduled_at: int | None
    job_type_uuid: str
    job_type: str | None
    job_arguments: dict[str, object]
    trigger: dict[str, object]
    words: str
    zone: str
    """In which its times are told to people."""
    next: int | None
    """The next nominal instant."""
    next_due: int | None
    """When it is decided: the nominal instant and its jitter."""
    cursor: int | None
    """The last nominal instant that was decided."""
    runs: int
    max_runs: int | None
    counts: dict[str, int]
    live_jobs: list[str]
    overlap: Overlap
    catch_up: CatchUpShape
    exclude: list[str]
    priority: int
    paused: bool
    note: str | None
    pause_on_failure: bool
    backfills: list[BackfillShape]
    created_at: int
    version: int
    managed_by: str | None


class TickShape(Struct, frozen=True, kw_only=True):
    """What became of one nominal instant, or of several in a row."""

    nominal: int
    until: int | None
    count: int
    status: TickStatus
    reason: str | None
    job: str | None
    decided_at: int
    by: str | None


class FireShape(Struct, frozen=True, kw_only=True):
    """One instant, in UTC and in a zone."""

    instant: int
    utc: str
    local: str
    zone: str
    note: str | None = None
    """What a clock change does here."""


_BACKFILL = Codec(Backfill, BackfillShape)
_PLAN = Codec(BackfillPlan, BackfillPlanShape)
_TICK = Codec(Tick, TickShape, reason=or_null("reason"), by=or_null("by"))
_CATCH_UP = Codec(CatchUp, CatchUpShape, window=As("window_ms"), max=As("max_fires"))
_SCHEDULE = Codec(
    Schedule,
    ScheduleShape,
    job_type_uuid=As("job_type"),
    job_arguments=As("arguments"),
    trigger=As("trigger", msgspec.to_builtins, partial(msgspec.convert, type=Trigger)),
    catch_up=As("catch_up", _CATCH_UP.shape, _CATCH_UP.value),
    exclude=as_list("excluded"),
    note=or_null("pause_note"),
    managed_by=or_null("managed_by"),
)
_STATE = Codec(
    ScheduleState,
    ScheduleShape,
    next=As("nominal"),
    next_due=As("due"),
    backfills=as_list("backfills", _BACKFILL.shape, _BACKFILL.value),
)


def schedule_shape(entry: ScheduleEntry, job_type_names: Mapping[str, str]) -> ScheduleShape:
    schedule, state = entry.schedule, entry.state
    told = {
        **_SCHEDULE.told(schedule),
        **_STATE.told(state),
        "interval": _interval(schedule),
        "job_type": job_type_names.get(schedule.job_type),
        "words": trigger_words(schedule.trigger, schedule.progress(state)),
        "zone": schedule.trigger.zone,
        "live_jobs": list(entry.live_jobs),
    }
    return ScheduleShape(**told)


def _interval(schedule: Schedule) -> int | None:
    return schedule.trigger.every_ms if isinstance(schedule.trigger, IntervalTrigger) else None


def schedule_entry_of(shape: ScheduleShape) -> ScheduleEntry:
    """Without where its jobs go, which is not told: whoever keeps the schedule sees to that."""
    jobs = tuple(shape.live_jobs)
    return ScheduleEntry(_SCHEDULE.value(shape, queue=""), _STATE.value(shape, jobs=jobs), jobs)


tick_shape = _TICK.shape
tick_of = _TICK.value
backfill_shape = _BACKFILL.shape
backfill_of = _BACKFILL.value


def backfill_plan_shape(plan: BackfillPlan) -> BackfillPlanShape:
    return _PLAN.shape(plan, **_BACKFILL.told(plan.backfill))


def backfill_plan_of(shape: BackfillPlanShape) -> BackfillPlan:
    return _PLAN.value(shape, backfill=_BACKFILL.value(shape))


def fire_shape(instant: int, zone: str, note: str | None = None) -> FireShape:
    moment = as_datetime(instant)
    precision = "milliseconds" if instant % 1000 else "seconds"
    utc = moment.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")
    local = moment.astimezone(ZoneInfo(zone)).isoformat(timespec=precision)
    return FireShape(instant=instant, utc=utc, local=local, zone=zone, note=note)
