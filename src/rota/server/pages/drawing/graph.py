"""A configuration as a graph of three columns: the events it waits for, how they are combined, the job they make."""

from itertools import islice
from typing import Any

from msgspec import Struct

_ROW = 46
_BOX_HEIGHT = 36


class Box(Struct, frozen=True):
    x: int
    y: float
    width: int
    title: str
    words: str
    kind: str
    """A class: `ok`, `bad` or nothing."""


class Link(Struct, frozen=True):
    path: str
    is_met: bool


class Graph(Struct, frozen=True):
    boxes: list[Box]
    links: list[Link]
    height: int


def draw_graph(configuration: Any, rows: list[Any]) -> Graph:
    """`rows` are the dependencies as they are now, in the order of the tree. They are read after it, and the tree may
    have been changed in between: what has no row is drawn the next time."""
    boxes: list[Box] = []
    links: list[Link] = []
    waiting = iter(rows)
    middle = max(len(rows) * _ROW / 2 - _BOX_HEIGHT / 2, 0)

    def draw(parts: list[Any], group_y: float | None) -> None:
        for part in parts:
            inner = part.get("any_of") or part.get("all_of")
            if inner is None:
                for row in islice(waiting, 1):
                    _draw_dependency(row, boxes, links, middle if group_y is None else group_y)
                continue
            y = len([box for box in boxes if box.x == 0]) * _ROW + (_leaves(inner) - 1) * _ROW / 2
            words = "one of these is enough" if "any_of" in part else "all of these"
            boxes.append(
                Box(x=300, y=y, width=150, title="any of" if "any_of" in part else "all of", words=words, kind="")
            )
            draw(inner, y)
            links.append(_link(450, y, 490, middle, is_met=False))

    draw(configuration["dependencies"], None)
    job = configuration["job"]
    name = job["job_type"] if job else "a line in the log"
    boxes.append(Box(x=490, y=middle, width=150, title=name, words="is made when all hold", kind=""))
    return Graph(boxes, links, max(len(rows) * _ROW, _BOX_HEIGHT) + 4)


def _leaves(parts: list[Any]) -> int:
    return sum(_leaves(part.get("any_of") or part.get("all_of") or []) or 1 for part in parts)


def _draw_dependency(row: Any, boxes: list[Box], links: list[Link], target_y: float) -> None:
    y = len([box for box in boxes if box.x == 0]) * _ROW
    one = row["dependency"]
    boxes.append(Box(x=0, y=y, width=250, title=one["resourceId"], words=one["type"], kind="ok" if row["met"] else ""))
    is_grouped = any(box.x == 300 and box.y == target_y for box in boxes)
    links.append(_link(250, y, 300 if is_grouped else 490, target_y, is_met=row["met"]))


def _link(x1: int, y1: float, x2: int, y2: float, *, is_met: bool) -> Link:
    half = _BOX_HEIGHT / 2
    middle = (x1 + x2) / 2
    return Link(f"M{x1} {y1 + half} C{middle} {y1 + half} {middle} {y2 + half} {x2} {y2 + half}", is_met)
