"""Records that this version cannot read stay as they are, until somebody wants them forgotten."""

from rota.engine.access.audit.record import Change, recorded
from rota.engine.jobs.changes import JobChanges
from rota.store.contract.store import Store
from rota.store.records.unreadable import SET_ASIDE_EVENT, Unreadable

_FORGOTTEN = frozenset({"schedule", "configuration", "event"})


def forget_unreadable(store: Store, jobs: JobChanges, one: Unreadable) -> bool:
    """Delete a schedule, configuration, job or event that cannot be read; tells whether it is gone. Node types and job
    types stay: they are defined anew."""
    if one.kind == "job":
        jobs.cancel_each([one.id])
        return jobs.delete_each([one.id])[0]
    if one.kind not in _FORGOTTEN:
        return False
    with recorded(store, Change(action="delete", kind=one.kind, name=one.id, uuid=one.id)) as recording:
        is_gone = _delete(store, one)
        if not is_gone:
            recording.nothing_was_done()
    return is_gone


def _delete(store: Store, one: Unreadable) -> bool:
    if one.kind == "schedule":
        return store.delete_schedules([one.id])[0]
    if one.kind == "configuration":
        return store.delete_configurations([one.id])[0]
    return store.delete_setting(SET_ASIDE_EVENT + one.id)
