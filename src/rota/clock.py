"""The only place that asks for the time. Everything else takes `now` as an argument or is given a clock.

Instants are epoch milliseconds (`int`): the same in memory, in every store and in the native JSON. A node's clock
follows the store's clock, so that a node with a wrong wall clock neither steals leases nor fires early.
"""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time. Waiting uses `monotonic`, which never jumps."""

    def now(self) -> int:
        """The instant, in epoch milliseconds."""
        ...

    def monotonic(self) -> float:
        """Seconds from some fixed point, for measuring waits only."""
        ...


class SystemClock:
    """The machine's clock, shifted to agree with the store's."""

    def __init__(self) -> None:
        self._offset_ms = 0

    def now(self) -> int:
        return time.time_ns() // 1_000_000 + self._offset_ms

    def monotonic(self) -> float:
        return time.monotonic()

    @property
    def offset_ms(self) -> int:
        """How far the store's clock is ahead of this machine's."""
        return self._offset_ms

    def follow(self, store_now_ms: int) -> None:
        """Agree with the store's clock from now on. Differences under 20 ms are network noise and ignored."""
        offset = store_now_ms - time.time_ns() // 1_000_000
        if abs(offset - self._offset_ms) >= 20:
            self._offset_ms = offset


class ManualClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = now_ms
        self._monotonic = 0.0

    def now(self) -> int:
        return self._now_ms

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, ms: int) -> int:
        """Let time pass; returns the new instant."""
        self._now_ms += ms
        self._monotonic += ms / 1000
        return self._now_ms

    def set(self, now_ms: int) -> None:
        """Jump the wall clock, forwards or backwards, as an operator or NTP might. Monotonic time stands still."""
        self._now_ms = now_ms


def as_datetime(ms: int) -> datetime:
    """An instant for people and for formats that want a datetime."""
    return datetime.fromtimestamp(ms / 1000, UTC)


def as_millis(moment: datetime) -> int:
    """The inverse of `as_datetime`; a naive datetime is taken as UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)
