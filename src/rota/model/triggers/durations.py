"""Lengths of time as people write them: `90s`, `1h30m`, and back.

One rule everywhere, on the command line, in files and in the API: text has a unit, and a bare number, which only JSON,
YAML and TOML know, is milliseconds.
"""

import re

from rota.errors import InvalidInput

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
MAX_INTERVAL_MS = 10 * 365 * DAY_MS

_UNITS = {"ms": 1, "s": SECOND_MS, "m": MINUTE_MS, "h": HOUR_MS, "d": DAY_MS, "w": 7 * DAY_MS}
_NAMES = {DAY_MS: "day", HOUR_MS: "hour", MINUTE_MS: "minute", SECOND_MS: "second", 1: "millisecond"}
_SHORT = {DAY_MS: "d", HOUR_MS: "h", MINUTE_MS: "min", SECOND_MS: "s"}
_SHORT_PAIRS = ((DAY_MS, HOUR_MS), (HOUR_MS, MINUTE_MS), (MINUTE_MS, SECOND_MS), (SECOND_MS, 0))
_DURATION = re.compile(r"(?:[0-9]{1,15}(?:\.[0-9]{1,6})?(?:ms|[smhdw]))+", re.ASCII)
_PIECE = re.compile(r"([0-9.]+)(ms|[smhdw])", re.ASCII)


def parse_duration(field: str, text: str, *, least_ms: int = 1) -> int:
    """Milliseconds, at least so many and at most ten years. Text without a unit could be seconds or milliseconds, and
    is refused; only zero needs none."""
    compact = text.strip().lower()
    if compact == "0" and least_ms == 0:
        return 0
    if compact.isascii() and compact.isdigit():
        number = compact[:15]
        raise InvalidInput(field, f'"{number}" has no unit; write {number}s for seconds, {number}ms for milliseconds')
    if not _DURATION.fullmatch(compact):
        raise InvalidInput(field, f'"{text[:40]}" is not a duration; write 90s, 5m, 1h30m, 250ms, 2d or 1w')
    millis = sum(float(number) * _UNITS[unit] for number, unit in _PIECE.findall(compact))
    if not least_ms <= millis <= MAX_INTERVAL_MS:
        raise InvalidInput(field, f'"{text[:40]}" must be from {least_ms}ms to ten years')
    return round(millis)


def check_duration(field: str, value: object, low_ms: int, high_ms: int) -> int:
    """Milliseconds within bounds, which an error tells in words."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput(field, f"must be a duration such as 90s, or whole milliseconds, got {value!r:.100}")
    if not low_ms <= value <= high_ms:
        low, high = _bound_words(low_ms), _bound_words(high_ms)
        raise InvalidInput(field, f"must be from {low} to {high}, got {_bound_words(value)}")
    return value


def read_duration(field: str, value: object, low_ms: int, high_ms: int) -> int:
    """Milliseconds within bounds, of text with a unit or of a number, which is milliseconds already."""
    millis = parse_duration(field, value, least_ms=low_ms) if isinstance(value, str) else value
    return check_duration(field, millis, low_ms, high_ms)


def _bound_words(millis: int) -> str:
    if millis <= 0:
        return "less than 0" if millis else "0"
    if millis == MAX_INTERVAL_MS:
        return "ten years"
    return duration_words(millis) if millis < 100 * MAX_INTERVAL_MS else "more than a thousand years"


def duration_words(millis: int) -> str:
    """`5 minutes`, `1 hour 30 minutes`."""
    pieces = []
    rest = millis
    for size, name in _NAMES.items():
        count, rest = divmod(rest, size)
        if count:
            pieces.append(f"{count} {name}{'' if count == 1 else 's'}")
    return " ".join(pieces) or "0 milliseconds"


def short_duration(millis: int) -> str:
    """`4 min 10 s`, `2.1 s`, `350 ms`: its two largest units, for where there is little room."""
    if millis < SECOND_MS:
        return f"{millis} ms"
    if millis < 10 * SECOND_MS:
        return f"{millis // 100 / 10:g} s"
    unit, part = next(one for one in _SHORT_PAIRS if millis >= one[0])
    count, rest = divmod(millis, unit)
    words = f"{count} {_SHORT[unit]}"
    return f"{words} {rest // part} {_SHORT[part]}" if part and rest >= part else words


def period_words(millis: int) -> str:
    """`every hour`, `every 5 minutes`."""
    words = duration_words(millis)
    is_one_unit = words.startswith("1 ") and words.count(" ") == 1
    return f"every {words.removeprefix('1 ') if is_one_unit else words}"
