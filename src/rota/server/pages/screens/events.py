"""Events: what happened, who told of it, and what it meant to which configuration."""

from rota.clock import as_datetime
from rota.errors import InvalidInput
from rota.model.events.event import EVENT_TYPES, parse_timestamp
from rota.server.pages.asking import Asking
from rota.server.pages.page import Context, Visit

PARTS = ("list",)
_ROWS = 50
_LATE_MS = 60_000
"""An event that came so long after its own time is late."""
_FIELDS = ("type", "resource")


def gather(asking: Asking, visit: Visit) -> Context:
    given = {field: visit.query.get(field, "").strip() for field in _FIELDS}
    wanted = {field: value for field, value in given.items() if value}
    cursor = visit.query.get("cursor") or None
    try:
        page, problem = asking.ask("list_events", limit=_ROWS, cursor=cursor, **wanted), ""
    except InvalidInput as error:
        page, problem = {"events": [], "cursor": None}, str(error)
    for one in page["events"]:
        happened = parse_timestamp("timestamp", one["timestamp"]) // 1000
        late = one["received_at"] - happened
        one |= {"happened": happened, "late": late if late >= _LATE_MS else 0, "is_ahead": "stated_timestamp" in one}
    return {
        "given": given,
        "page": page,
        "problem": problem,
        "is_first": cursor is None,
        "types": EVENT_TYPES,
        "example_time": now_text(asking),
    }


def now_text(asking: Asking) -> str:
    """As somebody would type it."""
    return as_datetime(asking.now).isoformat(timespec="seconds").partition("+")[0]
