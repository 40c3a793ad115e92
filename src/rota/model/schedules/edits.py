"""Requests for schedules as plain fields: read from outside, told of a schedule that exists, and changed in part."""

import re
from collections.abc import Mapping
from difflib import get_close_matches

import msgspec
from msgspec import structs

from rota.errors import InvalidInput
from rota.model.schedules.request import KINDS, CatchUpRequest, Frequency, ScheduleRequest
from rota.model.schedules.schedule import Schedule
from rota.model.triggers.trigger import CronTrigger, FrequencyTrigger, IntervalTrigger, OnceTrigger, Trigger

FIELDS = ScheduleRequest.__struct_fields__
OTHER_WORDS = {"every": "interval", "arguments": "job_arguments"}
"""What people may say instead, in files, in the API and on the command line."""
_AT_PATH = re.compile(r"(.*) - at `\$\.?(.*)`", re.DOTALL)
_OF_KIND = {"cron": ("dialect", "days", "dst"), "interval": ("anchor", "phase")}
"""Fields that mean something for one kind of times only."""

Fields = Mapping[str, object]


def in_one_word(fields: Fields) -> dict[str, object]:
    """The fields under the names that a request has for them."""
    found = dict(fields)
    for other, own in OTHER_WORDS.items():
        if other not in found:
            continue
        value = found.pop(other)
        if value is not None and found.get(own) is not None:
            raise InvalidInput(other, f"means the same as {own}; give one of them")
        if value is not None or own not in found:
            found[own] = value
    return found


def request_from(fields: Fields) -> ScheduleRequest:
    """The request with these fields; `InvalidInput` names the one that is wrong."""
    fields = in_one_word(fields)
    for name in fields:
        if name not in FIELDS:
            close = get_close_matches(name, FIELDS, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(FIELDS)}"
            raise InvalidInput(name, f"is not a known field; {hint}")
    try:
        return msgspec.convert(fields, ScheduleRequest)
    except msgspec.ValidationError as error:
        found = _AT_PATH.fullmatch(str(error))
        raise InvalidInput(found[2] if found else "schedule", found[1] if found else str(error)) from None


def changed_request(request: ScheduleRequest, changes: Fields) -> ScheduleRequest:
    """A request with some fields changed; None sets one back. Times of another kind take the place of the old ones, and
    an event to emit that of the job type."""
    changes = in_one_word(changes)
    fields: dict[str, object] = msgspec.to_builtins(request)
    given = [kind for kind in KINDS if changes.get(kind) is not None]
    for kind in KINDS if given else ():
        for name in (kind, *(() if kind in given else _OF_KIND.get(kind, ()))):
            fields.pop(name, None)
    if changes.get("emit") is not None:
        fields.pop("job_type", None)
    old, new = fields.get("catch_up"), changes.get("catch_up")
    fields |= changes
    if isinstance(old, dict) and isinstance(new, dict | str):
        fields["catch_up"] = _given(old | (new if isinstance(new, dict) else {"mode": new}))
    return request_from(_given(fields))


def _given(fields: Fields) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}


def request_of(schedule: Schedule) -> ScheduleRequest:
    """The request that would make this schedule again."""
    trigger, policy = schedule.trigger, schedule.catch_up
    common = ScheduleRequest(
        job_type=schedule.job_type,
        name=schedule.name,
        job_arguments=schedule.arguments,
        start=trigger.start,
        end=trigger.end,
        max_runs=schedule.max_runs,
        tz=trigger.tz,
        utc=trigger.utc,
        jitter=trigger.jitter_ms,
        overlap=schedule.overlap.value,
        catch_up=CatchUpRequest(mode=policy.mode, window=policy.window_ms or "none", max=policy.max_fires),
        exclude=list(schedule.excluded),
        priority=schedule.priority,
        paused=schedule.paused,
        note=schedule.pause_note,
        pause_on_failure=schedule.pause_on_failure,
    )
    return structs.replace(common, **_times_of(trigger))


def _times_of(trigger: Trigger) -> dict[str, object]:
    """The part of a request that says when."""
    match trigger:
        case CronTrigger():
            words = {"dialect": trigger.dialect.value, "dst": trigger.dst.value, "days": trigger.days.value}
            return {"cron": trigger.cron, **words}
        case IntervalTrigger():
            return {"interval": trigger.every_ms, "anchor": trigger.anchor.value, "phase": trigger.phase_ms}
        case FrequencyTrigger():
            return {"frequency": Frequency(trigger.unit.value, trigger.time)}
        case OnceTrigger(at=None):
            return {"delay": trigger.delay_ms}
    return {"at": trigger.at}
