"""When it will be crowded: the planned fires of the next seven days, a row per day and a column per hour."""

from typing import Any

from msgspec import Struct

from rota.clock import as_datetime
from rota.server.pages.asking import Asking
from rota.server.pages.page import Context, Visit

_DAYS = 7
_HOUR_MS = 3_600_000
_SHADES = 4


class Cell(Struct, frozen=True):
    hour: int
    fires: int | None
    """None: it has passed, or is not looked at yet."""
    shade: int


class Day(Struct, frozen=True):
    name: str
    cells: list[Cell]


def gather(asking: Asking, visit: Visit) -> Context:
    found = asking.ask("read_planned", hours=_DAYS * 24)
    most = max(found["fires"])
    crowded = found["since"] + found["fires"].index(most) * _HOUR_MS
    return {"planned": found, "days": days_of(found, most), "most": most, "crowded": crowded}


def days_of(found: Any, most: int) -> list[Day]:
    """In UTC. The first one has its past hours too, the last one those that are not looked at yet."""
    passed = as_datetime(found["since"]).hour
    fires: list[int | None] = [*([None] * passed), *found["fires"], *([None] * (-passed % 24))]
    midnight = found["since"] - passed * _HOUR_MS
    return [
        Day(
            as_datetime(midnight + at * _HOUR_MS).strftime("%a %d %b"),
            [Cell(hour, one, _shade(one, most)) for hour, one in enumerate(fires[at : at + 24])],
        )
        for at in range(0, len(fires) // 24 * 24, 24)
    ]


def _shade(fires: int | None, most: int) -> int:
    """From 0, none, to the darkest."""
    return -(-fires * _SHADES // most) if fires else 0
