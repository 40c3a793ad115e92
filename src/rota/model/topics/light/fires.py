"""When a task definition fires: at S + k * P, where S is its start and P its frequency; once, at S, without one.

A start in the past only says where the series is anchored: the first fire is the next one from now on. What becomes due
while nobody is there is sent late: all of the last ten minutes, and of what is older the latest if it is all there is.
"""

from urllib.parse import quote

from msgspec import Struct, structs

from rota.model.topics.light.definition import TaskDefinition, TaskKey
from rota.model.triggers.catch_up import MAX_FIRES, CatchUp, CatchUpMode
from rota.model.triggers.durations import MINUTE_MS
from rota.model.triggers.interval import next_in_series, next_unit

WINDOW_MS = 10 * MINUTE_MS
"""Enough for another instance to notice a death and to restore a million definitions, without losing a fire."""


class DueFires(Struct, frozen=True):
    """What is to be sent now."""

    instants: tuple[int, ...]
    """Nominal instants, oldest first."""
    following: int | None
    """The next fire after now; None when the definition is done, and is to be removed."""


def settled(definition: TaskDefinition, now: int) -> TaskDefinition:
    """The definition with its start: the one given, to the millisecond; else the next exact unit after now, in UTC;
    else, for a task that is sent once, now."""
    if definition.start is not None:
        return definition
    unit = definition.unit
    return structs.replace(definition, start=now if unit is None else next_unit(now, unit))


def first_fire(definition: TaskDefinition, now: int, fired: int | None = None) -> int:
    """The first nominal instant of a settled definition that begins to count now.

    `fired` is the last instant that was sent for its key, under an earlier definition too: it is not sent again, so
    that a change within the same millisecond repeats nothing. A task that is sent once is due at its start, also if
    that has passed.
    """
    start = _start_of(definition)
    if definition.frequency is None:
        return start
    after = now - 1 if fired is None else max(now - 1, fired)
    return next_in_series(start, definition.frequency.period_ms, after)


def due_fires(definition: TaskDefinition, due: int, now: int) -> DueFires:
    """What to send of a settled definition whose next fire is `due`, and when it fires again.

    All instants from `due` up to now, but none older than ten minutes unless it is the latest. The fire of a task that
    is sent once is never too old.
    """
    if due > now:
        return DueFires((), due)
    if definition.frequency is None:
        return DueFires((due,), None)
    period = definition.frequency.period_ms
    following = next_in_series(due, period, now)
    return DueFires(tuple(range(first_due(due, period, now), following, period)), following)


def first_due(due: int, period_ms: int, now: int) -> int:
    """The oldest instant that is still sent, of a series whose next one is `due`: not after now."""
    oldest = now - WINDOW_MS
    if due >= oldest:
        return due
    return min(next_in_series(due, period_ms, oldest - 1), next_in_series(due, period_ms, now) - period_ms)


def catch_up_of(period_ms: int) -> CatchUp:
    """The same rule as the policy of a schedule, which fires at most `MAX_FIRES` at a time: the latest."""
    if period_ms > WINDOW_MS:
        return CatchUp(mode=CatchUpMode.LAST, window_ms=None)
    return CatchUp(mode=CatchUpMode.ALL, window_ms=WINDOW_MS, max_fires=MAX_FIRES)


def due_task(definition: TaskDefinition, instant: int) -> TaskDefinition:
    """What is sent to the topic: the definition, with the nominal instant as its start, so that whoever executes it can
    judge its age."""
    return structs.replace(definition, start=instant)


def message_id(key: TaskKey, instant: int) -> str:
    """The name of one fire, the same whoever sends it and how often."""
    return f"{quote(key.host, safe='')}/{quote(key.name, safe='')}/{instant}"


def _start_of(definition: TaskDefinition) -> int:
    if definition.start is None:
        raise ValueError("the definition is not settled: it has no start")
    return definition.start
