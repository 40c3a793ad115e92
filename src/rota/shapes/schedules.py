"""The native JSON of schedules, ticks, backfills and fires: Synchrony's keys, and ours beside them.

The HTTP API and the command line give the same. Times are epoch milliseconds; what is absent is null.
"""

from collections.abc import Mapping
from datetime import UTC
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Struct

from rota.clock import as_datetime
from rota.engine.schedules.backfill import BackfillPlan
from rota.model.schedules.schedule import Backfill, Overlap, Schedule, Tick, TickStatus
from rota.model.triggers.catch_up import CatchUpMode
from rota.model.triggers.trigger import IntervalTrigger
from rota.model.triggers.words.words import trigger_words
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


def schedule_shape(entry: ScheduleEntry, job_type_names: Mapping[str, str]) -> ScheduleShape:
    schedule, state = entry.schedule, entry.state
    policy = schedule.catch_up
    return ScheduleShape(
        uuid=schedule.uuid,
        name=schedule.name,
        interval=_interval(schedule),
        last_scheduled_by=state.last_scheduled_by,
        last_scheduled_at=state.last_scheduled_at,
        job_type_uuid=schedule.job_type,
        job_type=job_type_names.get(schedule.job_type),
        job_arguments=schedule.arguments,
        trigger=msgspec.to_builtins(schedule.trigger),
        words=trigger_words(schedule.trigger, schedule.progress(state)),
        zone=schedule.trigger.zone,
        next=state.nominal,
        next_due=state.due,
        cursor=state.cursor,
        runs=state.runs,
        max_runs=schedule.max_runs,
        counts=state.counts,
        live_jobs=list(entry.live_jobs),
        overlap=schedule.overlap,
        catch_up=CatchUpShape(policy.mode, policy.window_ms, policy.max_fires),
        exclude=list(schedule.excluded),
        priority=schedule.priority,
        paused=schedule.paused,
        note=schedule.pause_note or None,
        pause_on_failure=schedule.pause_on_failure,
        backfills=[backfill_shape(one) for one in state.backfills],
        created_at=schedule.created_at,
        version=state.version,
        managed_by=schedule.managed_by or None,
    )


def _interval(schedule: Schedule) -> int | None:
    return schedule.trigger.every_ms if isinstance(schedule.trigger, IntervalTrigger) else None


def tick_shape(tick: Tick) -> TickShape:
    return TickShape(
        nominal=tick.nominal,
        until=tick.until,
        count=tick.count,
        status=tick.status,
        reason=tick.reason or None,
        job=tick.job,
        decided_at=tick.decided_at,
        by=tick.by or None,
    )


def backfill_shape(backfill: Backfill) -> BackfillShape:
    return BackfillShape(**{name: getattr(backfill, name) for name in BackfillShape.__struct_fields__})


def backfill_plan_shape(plan: BackfillPlan) -> BackfillPlanShape:
    instants = [instant for _, instant in plan.instants]
    return BackfillPlanShape(
        **{name: getattr(plan.backfill, name) for name in BackfillShape.__struct_fields__},
        jobs=len(instants),
        first=instants[0] if instants else None,
        last=instants[-1] if instants else None,
        already_fired=plan.already_fired,
        already_made=plan.already_made,
        excluded=plan.excluded,
        known_from=plan.known_from,
    )


def fire_shape(instant: int, zone: str, note: str | None = None) -> FireShape:
    moment = as_datetime(instant)
    precision = "milliseconds" if instant % 1000 else "seconds"
    utc = moment.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")
    local = moment.astimezone(ZoneInfo(zone)).isoformat(timespec=precision)
    return FireShape(instant=instant, utc=utc, local=local, zone=zone, note=note)
