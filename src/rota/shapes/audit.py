"""The native JSON of the audit log."""

from msgspec import Struct

from rota.model.access.audit import AuditEntry


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


def audit_shape(entry: AuditEntry) -> AuditShape:
    return AuditShape(
        id=entry.id,
        time=entry.time,
        who=entry.who,
        key=entry.key or None,
        origin=entry.origin,
        action=entry.action,
        kind=entry.kind,
        name=entry.name,
        uuid=entry.uuid or None,
        before=entry.before,
        after=entry.after,
        done=entry.is_done,
    )
