"""The native JSON of the audit log."""

from msgspec import Struct

from rota.model.access.audit import AuditEntry
from rota.shapes.codec import As, Codec, or_null


class AuditShape(Struct, frozen=True, kw_only=True):
    """One change: who made it, by which key, from where, what was done to what, and what it was before and is after.
    One that is not done was begun, and then its maker died or lost the store: whether it was made is not known."""

    id: str
    time: int
    who: str
    key: str | None
    origin: str
    action: str
    kind: str
    name: str
    uuid: str | None
    before: object
    after: object
    done: bool


_AUDIT = Codec(AuditEntry, AuditShape, key=or_null("key"), uuid=or_null("uuid"), done=As("is_done"))
audit_shape = _AUDIT.shape
audit_entry_of = _AUDIT.value
