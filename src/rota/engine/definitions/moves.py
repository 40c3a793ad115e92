"""Schedules and configurations live with the queue of their jobs, so they follow their job type when it is given to
other nodes."""

from collections.abc import Callable
from typing import TypeVar

from msgspec import structs

from rota.store.contract.events import ConfigurationChange, ConfigurationEntry
from rota.store.contract.schedules import ScheduleChange, ScheduleEntry
from rota.store.contract.store import Store

_PAGE = 500
_TRIES = 100
"""A move that lost a race against a tick or an event is made again upon the newer state."""

Entry = TypeVar("Entry")


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


def move_configurations(store: Store, job_type: str, queue: str) -> None:
    """Bring all configurations of a job type to the queue in which its jobs wait now."""
    cursor: str | None = None
    while True:
        page = store.list_configurations(limit=_PAGE, cursor=cursor)
        for entry in page.entries:
            if entry.configuration.job_type == job_type:
                move_configuration(store, entry, queue)
        cursor = page.cursor
        if cursor is None:
            return


def move_schedule(store: Store, entry: ScheduleEntry, queue: str) -> None:
    """Bring one schedule to a queue, if it is not there yet."""

    def move(found: ScheduleEntry) -> bool:
        if found.schedule.queue == queue:
            return True
        moved = structs.replace(found.schedule, queue=queue)
        state = structs.replace(found.state, version=found.state.version + 1)
        return store.put_schedules([ScheduleChange(moved, state, found.state.version)])[0]

    _move(entry, move, lambda: store.find_schedules([entry.schedule.uuid])[0])


def move_configuration(store: Store, entry: ConfigurationEntry, queue: str) -> None:
    """Bring one configuration to a queue, if it is not there yet."""

    def move(found: ConfigurationEntry) -> bool:
        if found.configuration.queue == queue:
            return True
        moved = structs.replace(found.configuration, queue=queue)
        state = structs.replace(found.state, version=found.state.version + 1)
        return store.put_configurations([ConfigurationChange(moved, state, found.state.version)])[0]

    _move(entry, move, lambda: store.find_configurations([entry.configuration.uuid])[0])


def _move(entry: Entry, move: Callable[[Entry], bool], find_again: Callable[[], Entry | None]) -> None:
    """Move an entry, upon its newer state when somebody else was faster, or not at all once it is gone."""
    found: Entry | None = entry
    for _ in range(_TRIES):
        if found is None or move(found):
            return
        found = find_again()
