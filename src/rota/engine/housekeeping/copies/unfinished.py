"""A store that is being filled with a copy of another one says so until the copy is whole, and nobody works on it."""

import msgspec
from msgspec import Struct, structs

from rota.errors import Conflict, StoreRefused
from rota.store.contract.store import Store

UNFINISHED = "unfinished copy"


class UnfinishedCopy(Struct, frozen=True, kw_only=True):
    """What such a store says."""

    source: str
    """The name of what is copied."""
    state: str = ""
    """As `fingerprint_of` the source when the copy began."""
    began_at: int = 0
    run: str = ""
    """The id of who copies."""


def refuse_unfinished(store: Store) -> None:
    """A copy that broke off is not to be used."""
    if text := store.get_setting(UNFINISHED):
        raise StoreRefused(
            f"{store.url} holds a part of a copy of {_read(text).source} that broke off; do the same again and it goes "
            "on, or empty the store"
        )


def begin_copy(target: Store, copy: UnfinishedCopy) -> UnfinishedCopy:
    """Copies go into an empty store, or into one where a copy of the very same broke off: that one goes on. Returns
    what the store says now."""
    kept = target.get_setting(UNFINISHED)
    if kept is None:
        if not is_empty(target):
            raise Conflict(f"{target.url} is not empty, and a copy is not mixed with what is there; name another store")
        kept = target.put_setting(UNFINISHED, _text(copy), only_if_absent=True)
    earlier = _read(kept)
    if earlier.state != copy.state:
        raise Conflict(
            f"{target.url} holds a part of a copy of {earlier.source} that broke off, and that is not what "
            f"{copy.source} is now; empty it, and do this again"
        )
    copy = structs.replace(copy, began_at=earlier.began_at)
    target.put_setting(UNFINISHED, _text(copy))
    return copy


def check_copy(target: Store, copy: UnfinishedCopy) -> None:
    """Nobody else has begun to fill the store since, or has finished it."""
    if target.get_setting(UNFINISHED) != _text(copy):
        raise Conflict(f"somebody else copies {copy.source} into {target.url} too; let one of you end")


def end_copy(target: Store, copy: UnfinishedCopy) -> None:
    check_copy(target, copy)
    target.delete_setting(UNFINISHED)


def is_empty(store: Store) -> bool:
    """Whether nothing was ever done with a store."""
    return not (
        store.list_queues()
        or store.list_job_types()
        or store.list_settings("")
        or store.list_audit(limit=1)
        or store.list_events(limit=1)
        or store.list_nodes(since=0)
    )


def _text(copy: UnfinishedCopy) -> str:
    return msgspec.json.encode(copy).decode()


def _read(text: str) -> UnfinishedCopy:
    """An older version wrote no more than the name."""
    try:
        return msgspec.json.decode(text, type=UnfinishedCopy)
    except msgspec.MsgspecError:
        return UnfinishedCopy(source=text)
