"""Records that this version cannot read stay as they are, until somebody wants them forgotten."""

from rota.clock import Clock
from rota.store.contract.store import Store
from rota.store.records.unreadable import SET_ASIDE_EVENT, Unreadable


def forget_unreadable(store: Store, clock: Clock, one: Unreadable) -> bool:
    """Delete a schedule, configuration, job or event that cannot be read; tells whether it is gone. Node types and job
    types stay: they are defined anew."""
    if one.kind == "schedule":
        return store.delete_schedules([one.id])[0]
    if one.kind == "configuration":
        return store.delete_configurations([one.id])[0]
    if one.kind == "job":
        store.cancel_jobs([one.id], now=clock.now())
        return store.delete_jobs([one.id])[0]
    return one.kind == "event" and store.delete_setting(SET_ASIDE_EVENT + one.id)
