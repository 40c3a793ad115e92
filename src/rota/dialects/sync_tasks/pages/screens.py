"""What the screens of sync tasks ask, and how they tell it: in the times and colours of all other screens."""

from typing import Any

from rota.dialects.sync_tasks.task import CANCELED, FAILED, RUNNING, SCHEDULED, SUCCESS
from rota.dialects.sync_tasks.times import read_micros
from rota.server.pages.asking import Asking
from rota.server.pages.page import Context, Visit

PARTS = ("list",)
ONE_PARTS = ("head", "latest", "facts", "tasks")
_ROWS = 50
_STRIP = 20
_TASKS = 50
_LINES = 100
_TONES = {SCHEDULED: "queued", RUNNING: "running", SUCCESS: "succeeded", FAILED: "failed", CANCELED: "cancelled"}
"""The class of a status: what a job's state has."""


def gather(asking: Asking, visit: Visit) -> Context:
    cursor = visit.query.get("cursor") or None
    page = asking.ask("list_sources", limit=_ROWS, last=_STRIP, cursor=cursor)
    sources: dict[str, list[Any]] = {}
    for one in page["collections"]:
        sources.setdefault(one["source"], []).append(_with_times(one, asking.now))
    return {"sources": sources, "cursor": page["cursor"], "is_first": cursor is None}


def gather_one(asking: Asking, visit: Visit) -> Context:
    path = {name: visit.path[name] for name in ("source", "collection")}
    shown = _with_times(asking.ask("show_collection", path, last=_TASKS), asking.now)
    latest = shown["latest"]
    log = asking.ask_if_there("read_logs", {"uuid": latest["job"]}, last=_LINES, limit=_LINES) if latest else None
    return {"shown": shown, "latest": latest, "lines": log["logs"] if log else []}


def _with_times(collection: Any, now: int) -> Any:
    """With instants in milliseconds, and how long each task took so far."""
    for task in collection["tasks"]:
        task |= {name: _millis(task[name]) for name in ("created_at", "started_at", "finished_at")}
        task["tone"] = _TONES[task["status"]]
        began, ended = task["started_at"], task["finished_at"]
        task["took"] = None if began is None else (now if ended is None else ended) - began
    if collection["schedule"]:
        collection["schedule"]["next"] = _millis(collection["schedule"]["next"])
    collection["latest"] = collection["tasks"][0] if collection["tasks"] else None
    return collection


def _millis(text: str) -> int | None:
    return read_micros("time", text) // 1000 if text else None
