"""How many fires are planned, hour by hour: when it will be crowded."""

from collections.abc import Iterable
from itertools import islice

from msgspec import Struct

from rota.model.triggers.trigger import nominals_between
from rota.store.contract.schedules import ScheduleEntry

HOUR_MS = 3_600_000


class Planned(Struct, frozen=True, kw_only=True):
    since: int
    """When the first hour began."""
    fires: list[int]
    """Of each hour, by schedules that fire at most once an hour on average."""
    schedules: int
    """That were counted."""
    often: int
    """Schedules that fire more often; they are in no hour's number."""


def planned_fires(entries: Iterable[ScheduleEntry], now: int, hours: int) -> Planned:
    """Of schedules that are to fire, from the present hour on."""
    since = now // HOUR_MS * HOUR_MS
    fires, counted, often = [0] * hours, 0, 0
    for entry in entries:
        if entry.state.nominal is None:  # it is paused, or over
            continue
        trigger, progress = entry.schedule.trigger, entry.schedule.progress(entry.state)
        found = nominals_between(trigger, since - 1, since + hours * HOUR_MS - 1, progress)
        instants = list(islice(found, hours + 1))
        if len(instants) > hours:
            often += 1
            continue
        counted += 1
        for instant in instants:
            fires[(instant - since) // HOUR_MS] += 1
    return Planned(since=since, fires=fires, schedules=counted, often=often)
