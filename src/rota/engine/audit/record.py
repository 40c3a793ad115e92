"""Records changes in the audit log, right after they were made."""

from rota.engine.audit.actor import current_actor
from rota.model.access.audit import AuditEntry, shown_side
from rota.model.ids import new_id
from rota.store.store import Store

_MOST_NAME = 500


def record(
    store: Store,
    action: str,
    kind: str,
    name: str,
    *,
    uuid: str = "",
    before: object = None,
    after: object = None,
    now: int | None = None,
) -> None:
    """Say what the one who acts did, at `now` or by the store's clock. The change is made already: if this fails, the
    caller hears of it."""
    actor = current_actor()
    time = store.now() if now is None else now
    entry = AuditEntry(
        id=new_id(time),
        time=time,
        who=actor.who,
        origin=actor.origin,
        key=actor.key,
        action=action,
        kind=kind,
        name=name[:_MOST_NAME],
        uuid=uuid,
        before=shown_side(before),
        after=shown_side(after),
    )
    store.append_audit([entry])


def record_change(store: Store, kind: str, *, before: object, after: object, now: int | None = None) -> None:
    """Say that a definition was created, changed or deleted: `before` or `after` is None if there was or is none."""
    named = after if after is not None else before
    action = "create" if before is None else "delete" if after is None else "change"
    name, uuid = str(getattr(named, "name", "")), str(getattr(named, "uuid", ""))
    record(store, action, kind, name, uuid=uuid, before=before, after=after, now=now)
