"""Instants, errors and numbers as sentences tell them."""

from rota.model.triggers.durations import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, duration_words
from rota.model.triggers.zones.moments import moment


def until(ms: int, now: int, zone: str) -> str:
    """`until 2026-11-15 20:30:00 UTC, 5 minutes from now`."""
    return f"until {moment(ms, zone)}, {roughly(ms - now)} from now"


def ago(ms: int, now: int) -> str:
    return f"{roughly(now - ms)} ago"


def roughly(ms: int) -> str:
    """A length of time in its two largest units: `3 hours 5 minutes`."""
    rest = max(ms, 0)
    for unit, part in ((DAY_MS, HOUR_MS), (HOUR_MS, MINUTE_MS), (MINUTE_MS, SECOND_MS)):
        if rest >= unit:
            return duration_words(rest // part * part)
    return duration_words(rest // SECOND_MS * SECOND_MS) if rest >= SECOND_MS else "less than a second"


def count_of(number: int, one: str, many: str) -> str:
    """`1 job`, `2 jobs`."""
    return f"{number} {one if number == 1 else many}"
