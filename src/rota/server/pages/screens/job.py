"""One job: why it is where it is, its attempts, its log, what went in and what came out."""

from itertools import accumulate
from typing import Any

from rota.server.pages.asking import Asking
from rota.server.pages.drawing.timeline import draw_timeline
from rota.server.pages.page import Context, Visit
from rota.server.pages.screens.causes import chain_to

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
    }


def gather_beside(asking: Asking, visit: Visit) -> Context:
    """The end of its log, which goes on by the stream, and what made it, which does not change."""
    path = {"uuid": visit.path["uuid"]}
    log = asking.ask("read_logs", path, last=_LINES, limit=_LINES)
    return {"log": log | {"logs": _end(log["logs"])}, "chain": chain_to(asking, asking.ask("show_job", path))}


def _end(lines: list[Any]) -> list[Any]:
    """As many of the last lines as a page has room for."""
    sizes = accumulate(len(line["message"]) for line in reversed(lines))
    return lines[len(lines) - sum(size <= _LETTERS for size in sizes) :]
