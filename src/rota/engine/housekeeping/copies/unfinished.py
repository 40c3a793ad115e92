"""A store that is being filled with a copy of another one says so until the copy is whole, and nobody works on it."""

from rota.errors import Conflict, StoreRefused
from rota.store.contract.store import Store

UNFINISHED = "unfinished copy"


def refuse_unfinished(store: Store) -> None:
    """A copy that broke off is not to be used."""
    if source := store.get_setting(UNFINISHED):
        raise StoreRefused(
            f"{store.url} holds a part of a copy of {source} that broke off; do the same again and it goes on, "
            "or empty the store"
        )


def begin_copy(target: Store, source: str) -> None:
    """Copies go into an empty store, or into one where the same copy broke off."""
    kept = target.get_setting(UNFINISHED)
    if kept is not None and kept != source:
        raise Conflict(f"{target.url} holds a part of a copy of {kept}; empty it, or finish that one first")
    if kept is None and not is_empty(target):
        raise Conflict(f"{target.url} is not empty, and a copy is not mixed with what is there; name another store")
    target.put_setting(UNFINISHED, source)


def end_copy(target: Store) -> None:
    target.delete_setting(UNFINISHED)


def is_empty(store: Store) -> bool:
    """Whether nothing was ever done with a store."""
    return not (
        store.list_queues()
        or store.list_job_types()
        or store.list_settings("")
        or store.list_audit(limit=1)
        or store.list_nodes(since=0)
    )
