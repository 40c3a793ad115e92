"""A calendar of fires as SVG: a row per day and a column per hour, or, for long times, a column per week."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timedelta
from html import escape
from zoneinfo import ZoneInfo

from rota.clock import as_datetime

_CELL, _GAP, _LEFT, _TOP = 14, 3, 86, 34
_MOST_DAYS_WITH_HOURS = 62
_COLOURS = ("#ebedf0", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def draw_heat_map(instants: Sequence[int], start: int, end: int, zone: str) -> str:
    """The picture of some fires between two instants, by the clock of a zone."""
    place = ZoneInfo(zone)
    moments = [as_datetime(instant).astimezone(place) for instant in instants]
    first, last = (as_datetime(instant).astimezone(place).date() for instant in (start, end))
    draw = _by_hour if (last - first).days <= _MOST_DAYS_WITH_HOURS else _by_week
    return draw(moments, first, last, f"{len(instants)} fires, {first} to {last}, {zone}")


def _by_hour(moments: Sequence[datetime], first: date, last: date, title: str) -> str:
    counts = Counter((moment.date(), moment.hour) for moment in moments)
    colour = _scale(counts.values())
    days = _days(first, last)
    parts = [_text(_x(hour), _TOP - 6, f"{hour:02}") for hour in range(0, 24, 3)]
    for row, day in enumerate(days):
        parts.append(_text(4, _y(row) + _CELL - 3, day.strftime("%a %d %b")))
        for hour in range(24):
            count = counts[day, hour]
            parts.append(_cell(hour, row, colour(count), f"{day} {hour:02}:00: {count}"))
    return _picture(24, len(days), title, parts)


def _by_week(moments: Sequence[datetime], first: date, last: date, title: str) -> str:
    counts = Counter(moment.date() for moment in moments)
    colour = _scale(counts.values())
    monday = first - timedelta(days=first.weekday())
    parts = [_text(4, _y(row) + _CELL - 3, name) for row, name in enumerate(_WEEKDAYS)]
    for day in _days(first, last):
        week = (day - monday).days // 7
        if day.day == 1:
            parts.append(_text(_x(week), _TOP - 6, day.strftime("%b")))
        parts.append(_cell(week, day.weekday(), colour(counts[day]), f"{day}: {counts[day]}"))
    return _picture((last - monday).days // 7 + 1, 7, title, parts)


def _days(first: date, last: date) -> list[date]:
    return [first + timedelta(days=n) for n in range((last - first).days + 1)]


def _scale(counts: Iterable[int]) -> Callable[[int], str]:
    """A colour for a count: none, then four steps up to the greatest."""
    most = max(counts, default=1)

    def colour(count: int) -> str:
        return _COLOURS[0 if not count else 1 + count * 4 // (most + 1)]

    return colour


def _x(column: int) -> int:
    return _LEFT + column * (_CELL + _GAP)


def _y(row: int) -> int:
    return _TOP + row * (_CELL + _GAP)


def _cell(column: int, row: int, colour: str, told: str) -> str:
    box = f'x="{_x(column)}" y="{_y(row)}" width="{_CELL}" height="{_CELL}" rx="2" fill="{colour}"'
    return f"<rect {box}><title>{escape(told)}</title></rect>"


def _text(x: int, y: int, words: str) -> str:
    return f'<text x="{x}" y="{y}">{escape(words)}</text>'


def _picture(columns: int, rows: int, title: str, parts: Sequence[str]) -> str:
    width, height = max(_x(columns) + _GAP, 420), _y(rows) + _GAP
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    style = 'font-family="sans-serif" font-size="10" fill="#57606a"'
    body = "\n".join((f"<title>{escape(title)}</title>", _text(4, 12, title), *parts))
    return f"{head} {style}>\n{body}\n</svg>\n"
