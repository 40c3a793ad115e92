"""The attempts of a job on one line of time: when it waited, when it ran, how each attempt ended."""

from typing import Any

from msgspec import Struct

_LEFT, _WIDTH = 76, 554
_ROW = 26
_LEAST = 3.0
"""An attempt of a millisecond is drawn, too."""


class Span(Struct, frozen=True):
    x: float
    width: float
    kind: str
    """A class: `wait`, or how it ended."""
    title: str = ""


class Row(Struct, frozen=True):
    label: str
    y: int
    spans: list[Span]


class Timeline(Struct, frozen=True):
    rows: list[Row]
    height: int
    begin: int
    end: int
    left: int = _LEFT
    right: int = _LEFT + _WIDTH


def draw_timeline(job: Any, now: int) -> Timeline:
    """Of a job, as the API shows it."""
    begin = job["enqueued_at"]
    ends = [one["ended_at"] for one in job["attempts"] if one["ended_at"]]
    is_over = job["ended_at"] is not None
    end = max([begin + 1, *ends, *([job["ended_at"]] if is_over else [now])])
    if not is_over and job["state"] == "delayed":
        end = max(end, job["available_at"])
    scale = _WIDTH / max(end - begin, 1)

    def span(since: int, until: int, kind: str, title: str = "") -> Span:
        x = _LEFT + (max(since, begin) - begin) * scale
        width = max((until - max(since, begin)) * scale, _LEAST)
        return Span(
            round(min(x, _LEFT + _WIDTH - _LEAST), 1), round(min(width, _LEFT + _WIDTH - x + _LEAST), 1), kind, title
        )

    rows: list[Row] = []
    ready = begin
    for number, attempt in enumerate(job["attempts"]):
        started = attempt["started_at"] or attempt["ended_at"] or ready
        ended = attempt["ended_at"] or now
        kind = _kind(attempt, job, is_last=number == len(job["attempts"]) - 1)
        spans = [*([span(ready, started, "wait", "waited")] if started > ready else [])]
        spans.append(span(started, ended, kind, attempt["error"] or kind))
        rows.append(Row(f"attempt {attempt['attempt']}", len(rows) * _ROW + 4, spans))
        ready = ended
    if not is_over and job["state"] != "running":
        rows.append(Row("waits", len(rows) * _ROW + 4, [span(ready, max(end, now), "wait", "waits")]))
    return Timeline(rows, len(rows) * _ROW + 22, begin, end)


def _kind(attempt: Any, job: Any, *, is_last: bool) -> str:
    if attempt["error"]:
        return "cancelled" if is_last and job["state"] == "cancelled" else "failed"
    if attempt["ended_at"] is None:
        return "running"
    return str(job["state"]) if is_last and job["ended_at"] is not None else "failed"
