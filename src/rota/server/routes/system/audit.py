"""The audit log: who changed what."""

from typing import Annotated

from msgspec import Meta, Struct

from rota.engine.access.audit.reading import AuditQuery, read_audit
from rota.engine.access.keys.access import Scope
from rota.server.api import Api
from rota.server.operations import Call, Routes
from rota.server.routes.pages import cut
from rota.shapes import fields
from rota.shapes.audit import AuditShape, audit_shape

routes = Routes("audit")
Word = Annotated[str, Meta(min_length=1, max_length=500)]


class AuditFilter(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which changes; all, unless told."""

    who: Word | None = None
    """The name or id of a key, or the user of a program."""
    action: Word | None = None
    kind: Word | None = None
    name: Word | None = None
    """Name or uuid of the thing."""
    since: fields.Instant | None = None
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100
    cursor: fields.Uuid | None = None


class AuditList(Struct, frozen=True):
    """Changes, the latest first. A page may be short, or empty, and still have a cursor."""

    changes: list[AuditShape]
    cursor: str | None


@routes.get("/api/audit", needs=Scope.AUDIT_READ, query=AuditFilter, answer=AuditList)
def list_audit(api: Api, call: Call[None, AuditFilter]) -> AuditList:
    """Who changed what, the latest first."""
    one = call.query
    query = AuditQuery(one.who, one.action, one.kind, one.name, one.since)
    page = read_audit(api.engine.store, query, limit=one.limit, cursor=one.cursor)
    shown = cut(audit_shape(entry) for entry in page.entries)
    return AuditList(shown, page.cursor if len(shown) == len(page.entries) else page.entries[len(shown) - 1].id)
