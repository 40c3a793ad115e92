"""Days by the clock of a zone: on which one an instant falls, and since when days in a row have lasted.

A day is as long as the clock makes it, and may begin twice: clocks have gone back from just after midnight.
"""

from collections.abc import Collection
from datetime import date

from rota.model.triggers.zones.offsets import offsets_of

_DAY = 86_400
_EPOCH = date(1970, 1, 1).toordinal()


def day_of(instant: int, zone: str) -> str:
    """The date of an instant, such as `2026-12-25`."""
    second = instant // 1000
    return _date((second + offsets_of(zone).at(second).offset) // _DAY)


def days_since(days: Collection[str], instant: int, zone: str) -> int:
    """An instant from which on up to this one, whose date is among these days, every date is; so the days that follow
    each other without a change of the clock are one step."""
    second = instant // 1000
    segment = offsets_of(zone).at(second)
    first = (second + segment.offset) // _DAY
    while _date(first - 1) in days:
        first -= 1
    return max(segment.start, first * _DAY - segment.offset) * 1000


def _date(day: int) -> str:
    return date.fromordinal(_EPOCH + day).isoformat()
