"""The audit log: who changed what. An entry is written before its change is made, and settled after it; a settled one
is never changed."""

import msgspec
from msgspec import Struct

from rota.model.access.masking import mask_metadata

MAX_SIDE_BYTES = 16 * 1024
"""Of what a thing was before or is after a change, as JSON; more than this is only told by its size."""


class Actor(Struct, frozen=True):
    """Who acts: the name and id of a key, or the user of a program that works on the store itself; and from where."""

    who: str
    origin: str
    """`api 10.0.0.5`, `command line`, `file rota.yaml`, `store` ..."""
    key: str = ""


class AuditEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change."""

    id: str
    """A UUIDv7: entries are in the order of their ids."""
    is_done: bool = True
    """False of one that was begun and not settled: whoever made the change died, or lost the store, in the middle of
    it, and it is not known whether it was made. Stands behind the id also in stores, which find it there."""
    time: int
    who: str
    origin: str
    key: str = ""
    action: str
    """What was done: `create`, `change`, `delete`, `pause` ..."""
    kind: str
    """To what kind of thing: `job type`, `schedule`, `key` ..."""
    name: str
    uuid: str = ""
    before: object = None
    after: object = None


def shown_side(thing: object) -> object:
    """What an entry keeps of a thing as it was before, or is after, a change: JSON within bounds, without secrets."""
    if thing is None:
        return None
    plain = msgspec.to_builtins(thing)
    if isinstance(plain, dict) and isinstance(plain.get("metadata"), dict):
        plain = {**plain, "metadata": mask_metadata(plain["metadata"])}
    size = len(msgspec.json.encode(plain))
    return plain if size <= MAX_SIDE_BYTES else {"cut": f"{size} bytes, the limit is {MAX_SIDE_BYTES}"}
