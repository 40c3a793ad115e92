"""The native JSON of schedules, ticks, backfills and fires: seed 001's keys, and ours beside them.

The HTTP API and the command line give the same. Times are epoch milliseconds; what is absent is null.
"""

from collections.abc import Mapping
from datetime import UTC
from zoneinfo import ZoneInfo

import msgspec

from rota.clock import as_datetime
from rota.engine.backfill import BackfillPlan
from rota.model.schedule import Backfill, Schedule, Tick
from rota.model.triggers.trigger import IntervalTrigger
from rota.model.triggers.words import trigger_words
from rota.server.shapes import Shape
from rota.store.schedules import ScheduleEntry


def schedule_shape(entry: ScheduleEntry, job_type_names: Mapping[str, str]) -> Shape:
    schedule, state = entry.schedule, entry.state
    return {
        "uuid": schedule.uuid,
        "name": schedule.name,
        "interval": _interval(schedule),
        "last_scheduled_by": state.last_scheduled_by,
        "last_scheduled_at": state.last_scheduled_at,
        "job_type_uuid": schedule.job_type,
        "job_type": job_type_names.get(schedule.job_type),
        "job_arguments": schedule.arguments,
        "trigger": msgspec.to_builtins(schedule.trigger),
        "words": trigger_words(schedule.trigger, schedule.progress(state)),
        "next": state.nominal,
        "next_due": state.due,
        "cursor": state.cursor,
        "runs": state.runs,
        "max_runs": schedule.max_runs,
        "counts": state.counts,
        "live_jobs": list(entry.live_jobs),
        "overlap": schedule.overlap.value,
        "catch_up": _catch_up_shape(schedule),
        "exclude": list(schedule.excluded),
        "priority": schedule.priority,
        "paused": schedule.paused,
        "note": schedule.pause_note or None,
        "pause_on_failure": schedule.pause_on_failure,
        "backfills": [backfill_shape(one) for one in state.backfills],
        "created_at": schedule.created_at,
        "version": state.version,
        "managed_by": schedule.managed_by or None,
    }


def _interval(schedule: Schedule) -> int | None:
    return schedule.trigger.every_ms if isinstance(schedule.trigger, IntervalTrigger) else None


def _catch_up_shape(schedule: Schedule) -> Shape:
    policy = schedule.catch_up
    return {"mode": policy.mode.value, "window": policy.window_ms, "max": policy.max_fires}


def tick_shape(tick: Tick) -> Shape:
    return {
        "nominal": tick.nominal,
        "until": tick.until,
        "count": tick.count,
        "status": tick.status.value,
        "reason": tick.reason or None,
        "job": tick.job,
        "decided_at": tick.decided_at,
        "by": tick.by or None,
    }


def backfill_shape(backfill: Backfill) -> Shape:
    return {
        "id": backfill.id,
        "start": backfill.start,
        "end": backfill.end,
        "count": backfill.count,
        "overlap": backfill.overlap.value,
        "priority": backfill.priority,
        "force": backfill.force,
        "cancelled": backfill.cancelled,
        "made_at": backfill.made_at,
    }


def backfill_plan_shape(plan: BackfillPlan) -> Shape:
    instants = [instant for _, instant in plan.instants]
    return {
        **backfill_shape(plan.backfill),
        "jobs": len(instants),
        "first": instants[0] if instants else None,
        "last": instants[-1] if instants else None,
        "already_fired": plan.already_fired,
        "excluded": plan.excluded,
        "known_from": plan.known_from,
    }


def fire_shape(instant: int, zone: str) -> Shape:
    """One instant, in UTC and in a zone."""
    moment = as_datetime(instant)
    precision = "milliseconds" if instant % 1000 else "seconds"
    return {
        "instant": instant,
        "utc": moment.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z"),
        "local": moment.astimezone(ZoneInfo(zone)).isoformat(timespec=precision),
        "zone": zone,
    }
