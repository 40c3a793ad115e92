"""Configurations: what each waits for, what is missing, what every event meant to it, and what an event would do."""

from typing import Any

from rota.errors import RotaError
from rota.model.events.event import EVENT_TYPES
from rota.server.pages.asking import Asking
from rota.server.pages.drawing.graph import draw_graph
from rota.server.pages.page import Context, Visit
from rota.server.pages.screens.events import now_text

PARTS = ("list",)
ONE_PARTS = ("why", "graph", "life", "evaluations")
_ROWS = 50
_EVALUATIONS = 20


def gather(asking: Asking, visit: Visit) -> Context:
    page = asking.ask("list_configurations", limit=_ROWS, cursor=visit.query.get("cursor") or None)
    for one in page["configurations"]:
        one["explained"] = asking.ask_if_there("explain_configuration", {"name": one["uuid"]})
    page["configurations"] = [one for one in page["configurations"] if one["explained"]]
    return {
        "page": page,
        "is_first": not visit.query.get("cursor"),
        "example_time": now_text(asking),
        "types": EVENT_TYPES,
    }


def gather_one(asking: Asking, visit: Visit) -> Context:
    path = {"name": visit.path["name"]}
    configuration = asking.ask("show_configuration", path)
    explained = asking.ask("explain_configuration", path)
    return {
        "configuration": configuration,
        "explained": explained,
        "graph": draw_graph(configuration, explained["now"]),
        "evaluations": asking.ask("list_evaluations", path, limit=_EVALUATIONS)["evaluations"],
        "example_time": now_text(asking),
    }


def gather_what_if(asking: Asking, visit: Visit) -> Context:
    """What an event would do to one configuration; nothing is stored."""
    fields = ("eventType", "eventResourceId", "eventTimestamp")
    event = {name: visit.query.get(name, "").strip() for name in fields}
    try:
        found: Any = asking.ask("preview_configuration", {"name": visit.path["name"]}, body=event)
        return {"previews": found["evaluations"], "problem": ""}
    except RotaError as error:
        return {"previews": [], "problem": str(error)}
