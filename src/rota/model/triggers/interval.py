"""Firing by duration: every so many milliseconds, or every n units. Pure durations, so no clock change touches them."""

from enum import StrEnum

from rota.model.triggers.durations import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS


class Anchor(StrEnum):
    """What an interval is counted from."""

    START = "start"
    """The start date; without one, the creation of the schedule, and then the first fire is one period later."""
    EPOCH = "epoch"
    """1970-01-01 plus the phase: every hour is every full hour."""
    SCHEDULED = "scheduled"
    """The last time a job was made, so it is a least distance between jobs; the first comes at once (Synchrony)."""
    ENDED = "ended"
    """The end of the last run, so it is a pause between runs; the first comes at once."""

    @property
    def is_series(self) -> bool:
        """All fires are known beforehand. The others know only the next one."""
        return self in (Anchor.START, Anchor.EPOCH)


class TimeUnit(StrEnum):
    """The light scheduler's units."""

    MILLISECONDS = "MILLISECONDS"
    SECONDS = "SECONDS"
    MINUTES = "MINUTES"
    HOURS = "HOURS"
    DAYS = "DAYS"

    @property
    def millis(self) -> int:
        return _UNIT_MS[self]


_UNIT_MS = {
    TimeUnit.MILLISECONDS: 1,
    TimeUnit.SECONDS: SECOND_MS,
    TimeUnit.MINUTES: MINUTE_MS,
    TimeUnit.HOURS: HOUR_MS,
    TimeUnit.DAYS: DAY_MS,
}


def next_in_series(anchor_ms: int, every_ms: int, after_ms: int) -> int:
    """The first of anchor, anchor + every, anchor + 2 every … that is strictly after an instant."""
    if after_ms < anchor_ms:
        return anchor_ms
    return anchor_ms + ((after_ms - anchor_ms) // every_ms + 1) * every_ms


def count_in_series(anchor_ms: int, every_ms: int, *, after_ms: int, until_ms: int) -> int:
    """How many of the series are after the first instant up to the second, which is included."""
    first = next_in_series(anchor_ms, every_ms, after_ms)
    return 0 if first > until_ms else (until_ms - first) // every_ms + 1


def next_unit(instant_ms: int, unit: TimeUnit) -> int:
    """The next exact unit strictly after an instant, in UTC: where a frequency without a start begins."""
    return (instant_ms // unit.millis + 1) * unit.millis
