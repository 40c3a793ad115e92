"""The audit log: who changed what."""

from rota.errors import InvalidInput
from rota.server.pages.asking import Asking
from rota.server.pages.page import Context, Visit

PARTS = ("list",)
_ROWS = 50
_FIELDS = ("who", "action", "kind", "name")


def gather(asking: Asking, visit: Visit) -> Context:
    given = {field: visit.query.get(field, "").strip() for field in _FIELDS}
    try:
        wanted = {field: value for field, value in given.items() if value}
        cursor = visit.query.get("cursor") or None
        page, problem = asking.ask("list_audit", limit=_ROWS, cursor=cursor, **wanted), ""
    except InvalidInput as error:
        page, problem = {"changes": [], "cursor": None}, str(error)
    return {"given": given, "page": page, "problem": problem, "is_first": not visit.query.get("cursor")}
