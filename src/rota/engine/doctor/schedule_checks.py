"""Checks for schedules that wait for a time to which a wrong clock sent them."""

from collections.abc import Iterator

from rota.engine.doctor.finding import Finding, ok, problem
from rota.engine.engine import Engine
from rota.model.schedules.ticking import is_ahead
from rota.model.triggers.zones.moments import moment
from rota.store.contract.schedules import ScheduleEntry

_PAGE = 500
_MOST_NAMED = 20


def check_schedules(rota: Engine, *, sets_back: bool) -> Iterator[Finding]:
    """Name those that have come further than the present, or let them go on from now."""
    found = 0
    for entry in _ahead(rota):
        found += 1
        name, zone = entry.schedule.name, entry.schedule.trigger.zone
        if sets_back:
            rota.schedules.set_back(entry.schedule.uuid)
            yield ok("schedules", f"{name} was in the future and goes on from now")
        elif found <= _MOST_NAMED:
            until = "for ever" if entry.state.nominal is None else moment(entry.state.nominal, zone)
            told = f"a clock that was ahead has decided about {name}, which waits until {until}"
            yield problem("schedules", told, f"rota schedule resume {name!r}, or all of them: rota doctor --set-back")
    if found > _MOST_NAMED and not sets_back:
        yield problem("schedules", f"so it is with {found - _MOST_NAMED} more", "rota doctor --set-back")


def _ahead(rota: Engine) -> Iterator[ScheduleEntry]:
    cursor: str | None = None
    while True:
        page = rota.store.list_schedules(limit=_PAGE, cursor=cursor)
        now = rota.clock.now()
        yield from (one for one in page.entries if is_ahead(one.schedule, one.state, now))
        cursor = page.cursor
        if cursor is None:
            return
