"""By the clock, in APScheduler's fields."""

import re
from datetime import tzinfo
from typing import Self

from rota.errors import InvalidInput
from rota.moving.apscheduler.triggers.base import Date, Trigger, date_field, jitter_field

Field = str | int | None
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""APScheduler counts weekdays from Monday, which is 0."""
_NAMES = ("year", "month", "day", "day_of_week", "hour", "minute", "second")
"""From the most significant to the least."""
_LEAST = {"year": "*", "month": "1", "day": "1", "day_of_week": "*", "hour": "0", "minute": "0", "second": "0"}
_ORDINALS = {"1st": "1", "2nd": "2", "3rd": "3", "4th": "4", "5th": "5"}
_NTH = re.compile(r"(\w+) (\w+)")


class CronTrigger(Trigger):
    """Fields that are not given are any; those behind the last one that is given are the least that they can be."""

    def __init__(
        self,
        year: Field = None,
        month: Field = None,
        day: Field = None,
        week: Field = None,
        day_of_week: Field = None,
        hour: Field = None,
        minute: Field = None,
        second: Field = None,
        start_date: Date | None = None,
        end_date: Date | None = None,
        timezone: str | tzinfo | None = None,
        jitter: float | None = None,
    ) -> None:
        super().__init__(timezone)
        if week is not None:
            raise InvalidInput("week", "of a cron trigger is not carried by Rota; give day_of_week and day")
        given = dict(zip(_NAMES, (year, month, day, day_of_week, hour, minute, second), strict=True))
        self.line = _line(given)
        self._start, self._end = date_field("start_date", start_date), date_field("end_date", end_date)
        self._jitter = jitter

    @classmethod
    def from_crontab(cls, expr: str, timezone: str | tzinfo | None = None) -> Self:
        """Five fields. As in APScheduler, a weekday's number counts from Monday."""
        parts = expr.split()
        if len(parts) != 5:
            raise InvalidInput("expr", f"must have 5 fields, got {len(parts)}")
        minute, hour, day, month, day_of_week = parts
        return cls(minute=minute, hour=hour, day=day, month=month, day_of_week=day_of_week, timezone=timezone)

    def fields(self, zone: str, now: int) -> dict[str, object]:
        dates = {"start": self._start, "end": self._end}
        bounds = {name: value for name, value in dates.items() if value is not None}
        return {"cron": self.line, "days": "both", "tz": self.zone or zone, **bounds, **jitter_field(self._jitter)}


def _line(given: dict[str, Field]) -> str:
    last = max((number for number, name in enumerate(_NAMES) if given[name] is not None), default=len(_NAMES))
    fields = {}
    for number, name in enumerate(_NAMES):
        value, otherwise = given[name], "*" if number < last else _LEAST[name]
        fields[name] = otherwise if value is None else str(value).strip().lower()
    day, weekday = _day(fields["day"], fields["day_of_week"])
    year = "" if fields["year"] == "*" else f" {fields['year']}"
    return f"{fields['second']} {fields['minute']} {fields['hour']} {day} {fields['month']} {weekday}{year}"


def _day(day: str, weekday: str) -> tuple[str, str]:
    """`last` and `2nd fri` are days of the month to APScheduler, and to cron lines partly weekdays."""
    if day == "last":
        return "L", _weekday(weekday)
    found = _NTH.fullmatch(day)
    if found is None:
        return day, _weekday(weekday)
    which, name = found.groups()
    if weekday != "*" or name not in _DAYS or which not in (*_ORDINALS, "last"):
        raise InvalidInput("day", f"{day!r} is not carried by Rota; give such as '2nd fri', without day_of_week")
    return "*", f"{name}L" if which == "last" else f"{name}#{_ORDINALS[which]}"


def _weekday(text: str) -> str:
    return "*" if text == "*" else ",".join(_weekday_part(part) for part in text.split(","))


def _weekday_part(part: str) -> str:
    reach, slash, step = part.partition("/")
    first, dash, last = reach.partition("-")
    if slash:
        begin, end = (0, 6) if first == "*" else (_number(first), _number(last) if dash else 6)
        return ",".join(_DAYS[begin : end + 1 : int(step)])
    return f"{_DAYS[_number(first)]}-{_DAYS[_number(last)]}" if dash else _DAYS[_number(first)]


def _number(text: str) -> int:
    if text in _DAYS:
        return _DAYS.index(text)
    if text.isdigit() and int(text) < len(_DAYS):
        return int(text)
    raise InvalidInput("day_of_week", f"{text!r} is no weekday; write mon to sun, or 0 to 6 from Monday on")
