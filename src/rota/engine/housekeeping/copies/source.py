"""The store that is copied: whether anybody works on it, and whether it went on since a copy of it began."""

import hashlib
from collections.abc import Iterator

import msgspec

from rota.errors import Conflict
from rota.model.node import DEAD_AFTER_MS
from rota.store.contract.store import Store

_STEP = 500


def refuse_live_nodes(store: Store) -> None:
    """Jobs of an installation that is moved while nodes work on it would run twice."""
    nodes = store.list_nodes(since=store.now() - DEAD_AFTER_MS)
    if nodes:
        named = ", ".join(f"{one.host}:{one.pid}" for one in nodes)
        raise Conflict(f"{len(nodes)} nodes work on {store.url} ({named}); stop them first, and what they run ends")


def fingerprint_of(store: Store) -> str:
    """A text that is the same as long as nothing happened in a store: no job was made, moved or forgotten, no schedule
    or configuration decided anything, and nothing was defined."""
    parts = msgspec.json.encode(list(_parts(store)))
    return hashlib.sha256(parts).hexdigest()


def _parts(store: Store) -> Iterator[object]:
    for queue in sorted(store.list_queues()):
        yield queue, store.read_totals(queue), sorted(store.count_jobs(queue).items())
    yield store.list_node_types(), store.list_job_types()
    yield [entry.id for entry in store.list_audit(limit=1)]
    cursor: str | None = None
    while True:
        schedules = store.list_schedules(limit=_STEP, cursor=cursor)
        yield [(one.schedule.uuid, one.state.version) for one in schedules.entries]
        if (cursor := schedules.cursor) is None:
            break
    while True:
        configurations = store.list_configurations(limit=_STEP, cursor=cursor)
        yield [(one.configuration.uuid, one.state.version) for one in configurations.entries]
        if (cursor := configurations.cursor) is None:
            break
