"""The histories of schedules and configurations as they were when their queue was copied.

They are read afterwards, because they are long, and a running installation adds to them meanwhile. What was added is
told by the state that was copied: the cursor of a schedule, the number of evaluations of a configuration.
"""

from typing import NamedTuple

from rota.model.events.evaluation import Evaluation
from rota.model.schedules.schedule import Schedule, ScheduleState, Tick
from rota.store.contract.events import ConfigurationEntry, Validation
from rota.store.contract.store import Store

_ALL = 100_000
"""More than any store keeps of one schedule or configuration."""
_TRIES = 100


class EventHistory(NamedTuple):
    """What events did to a configuration, latest first."""

    evaluations: list[Evaluation]
    validations: list[Validation]


def ticks_of(source: Store, target: Store, schedule: Schedule, state: ScheduleState, began_at: int) -> tuple[Tick, ...]:
    """Rows that there were, oldest first, by a copy that began at an instant and has brought the jobs of the queue.
    What came after it is of an instant behind the cursor, and was decided since then; or shortly before and written
    since, which is told by its job."""
    cursor = state.cursor or 0
    rows = source.list_ticks(schedule.uuid, limit=_ALL)
    there = [row for row in reversed(rows) if row.nominal <= cursor or row.decided_at < began_at]
    late = _made_since(source, target, schedule.queue, [row.job for row in there if row.job and row.nominal > cursor])
    return tuple(row for row in there if row.job not in late)


def _made_since(source: Store, target: Store, queue: str, ids: list[str]) -> set[str]:
    """Of jobs, those that came into a queue after it was copied."""
    pairs = zip(source.find_jobs(ids), target.find_jobs(ids), strict=True)
    return {job.id for job, copy in pairs if job and job.spec.queue == queue and not copy}


def events_of(store: Store, entry: ConfigurationEntry) -> EventHistory:
    """What there was. Each event since is one evaluation more, and validated what it did in the same step."""
    now, found = _read_whole(store, entry.configuration.uuid)
    since = now.state.evaluated - entry.state.evaluated if now else 0
    later = {(one.event.id, one.event.received_at) for one in found.evaluations[:since]}
    validations = [one for one in found.validations if (one.event.id, one.event.received_at) not in later]
    return EventHistory(found.evaluations[since:], validations)


def _read_whole(store: Store, uuid: str) -> tuple[ConfigurationEntry | None, EventHistory]:
    """A configuration, and its history of the same moment."""
    for _ in range(_TRIES):
        before = store.find_configurations([uuid])[0]
        found = EventHistory(store.list_evaluations(uuid, limit=_ALL), store.list_validations(uuid, limit=_ALL))
        if before == store.find_configurations([uuid])[0]:
            break
    return before, found
