"""Schedules live with the queue of their jobs, so they follow their job type when it is given to other nodes."""

from msgspec import structs

from rota.store.schedules import ScheduleChange, ScheduleEntry
from rota.store.store import Store

_PAGE = 500
_TRIES = 5
"""A move that lost a race against a tick is made again upon the newer state."""


def move_schedules(store: Store, job_type: str, queue: str) -> None:
    """Bring all schedules of a job type to the queue in which its jobs wait now."""
    cursor: str | None = None
    while True:
        page = store.list_schedules(limit=_PAGE, cursor=cursor, job_type=job_type)
        for entry in page.entries:
            move_schedule(store, entry, queue)
        cursor = page.cursor
        if cursor is None:
            return


def move_schedule(store: Store, entry: ScheduleEntry, queue: str) -> None:
    """Bring one schedule to a queue, if it is not there yet."""
    found: ScheduleEntry | None = entry
    for _ in range(_TRIES):
        if found is None or found.schedule.queue == queue:
            return
        moved = structs.replace(found.schedule, queue=queue)
        state = structs.replace(found.state, version=found.state.version + 1)
        if store.put_schedules([ScheduleChange(moved, state, found.state.version)])[0]:
            return
        found = store.find_schedules([entry.schedule.uuid])[0]
