"""Reading the audit log by who, what and which thing."""

from msgspec import Struct

from rota.model.access.audit import AuditEntry
from rota.store.contract.store import Store

_PAGE = 500
_MOST_READ = 10_000
"""Entries looked at in one call; whoever wants more goes on with the cursor."""


class AuditQuery(Struct, frozen=True):
    """Which entries; all, unless told."""

    who: str | None = None
    action: str | None = None
    kind: str | None = None
    name: str | None = None
    """Name or uuid of the thing."""
    since: int | None = None

    def wants(self, entry: AuditEntry) -> bool:
        return (
            self.who in (None, entry.who, entry.key)
            and self.action in (None, entry.action)
            and self.kind in (None, entry.kind)
            and self.name in (None, entry.name, entry.uuid)
        )


class AuditPage(Struct, frozen=True):
    """Entries, the latest first, and where to go on; None when there are no more."""

    entries: list[AuditEntry]
    cursor: str | None


def read_audit(store: Store, query: AuditQuery, *, limit: int, cursor: str | None = None) -> AuditPage:
    found: list[AuditEntry] = []
    for _ in range(_MOST_READ // _PAGE):
        page = store.list_audit(limit=_PAGE, before=cursor)
        for entry in page:
            if query.since is not None and entry.time < query.since:
                return AuditPage(found, None)
            cursor = entry.id
            if query.wants(entry):
                found.append(entry)
                if len(found) == limit:
                    return AuditPage(found, cursor)
        if not page:
            return AuditPage(found, None)
    return AuditPage(found, cursor)
