"""One job: why it is where it is, its attempts, its log, what went in and what came out."""

from itertools import accumulate
from typing import Any

from rota.errors import NotFound
from rota.server.pages.asking import Asking
from rota.server.pages.drawing.timeline import draw_timeline
from rota.server.pages.page import Context, Visit

PARTS = ("head", "why", "timeline", "facts", "outcome")
_LINES = 500
_LETTERS = 256 * 1024
"""Of the log on the page: each may become a piece of markup of its own."""
_FINAL = ("succeeded", "failed", "cancelled")
_TONES = {"succeeded": "ok", "failed": "bad", "cancelled": "off", "running": "run"}


def gather(asking: Asking, visit: Visit) -> Context:
    path = {"uuid": visit.path["uuid"]}
    job = asking.ask("show_job", path)
    return {
        "job": job,
        "is_over": job["state"] in _FINAL,
        "tone": _TONES.get(job["state"], "wait"),
        "why": asking.ask("why_job", path),
        "timeline": draw_timeline(job, asking.now),
        "maker": _maker(asking, job["cause"]),
    }


def gather_log(asking: Asking, visit: Visit) -> Context:
    """The end of its log, which goes on by the stream."""
    log = asking.ask("read_logs", {"uuid": visit.path["uuid"]}, last=_LINES, limit=_LINES)
    return {"log": log | {"logs": _end(log["logs"])}}


def _end(lines: list[Any]) -> list[Any]:
    """As many of the last lines as a page has room for."""
    sizes = accumulate(len(line["message"]) for line in reversed(lines))
    return lines[len(lines) - sum(size <= _LETTERS for size in sizes) :]


def _maker(asking: Asking, cause: Any) -> Context | None:
    """What made the job: a word for it, and where it is, if that can be told."""
    if cause is None:
        return None
    kind, name = cause["kind"], cause.get("name", "").partition(":")[0]
    instant = cause.get("instant")
    if kind in ("schedule", "manual", "backfill"):
        words = {"manual": "by hand, of schedule", "backfill": "a backfill of schedule"}.get(kind, "schedule")
        return _link(asking, "show_schedule", "schedule", name, words, f"/schedules/{name}") | {"instant": instant}
    if kind == "event":
        return _link(asking, "show_configuration", "name", name, "configuration", f"/configurations/{name}") | {
            "instant": instant
        }
    return {"words": kind, "name": name, "href": "", "instant": instant}


def _link(asking: Asking, operation: str, parameter: str, uuid: str, words: str, href: str) -> Context:
    try:
        found = asking.ask_if_allowed(operation, {parameter: uuid})
    except NotFound:
        found = None
    return {"words": words, "name": found["name"] if found else uuid, "href": href if found else ""}
