"""Configurations live with the queue of their jobs, so they follow their job type when it is given to other nodes."""

from msgspec import structs

from rota.store.events import ConfigurationChange, ConfigurationEntry
from rota.store.store import Store

_PAGE = 500
_TRIES = 100
"""A move that lost a race against an event is made again upon the newer state."""


def move_configurations(store: Store, job_type: str, queue: str) -> None:
    """Bring all configurations of a job type to the queue in which its jobs wait now."""
    cursor: str | None = None
    while True:
        page = store.list_configurations(limit=_PAGE, cursor=cursor)
        for entry in page.entries:
            if entry.configuration.job_type == job_type:
                _move(store, entry, queue)
        cursor = page.cursor
        if cursor is None:
            return


def _move(store: Store, entry: ConfigurationEntry, queue: str) -> None:
    found: ConfigurationEntry | None = entry
    for _ in range(_TRIES):
        if found is None or found.configuration.queue == queue:
            return
        moved = structs.replace(found.configuration, queue=queue)
        state = structs.replace(found.state, version=found.state.version + 1)
        if store.put_configurations([ConfigurationChange(moved, state, found.state.version)])[0]:
            return
        found = store.find_configurations([entry.configuration.uuid])[0]
