"""The only place that asks for the time. Everything else takes `now` as an argument or is given a clock.

Instants are epoch milliseconds (`int`): the same in memory, in every store and in the native JSON. The clocks of nodes
and programs go by the time since the machine was started, which nobody can set, and follow the store's clock: one with
a wrong wall clock, or one that is set while it runs, does nothing early.
"""

import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

from rota.errors import RotaError

_NOISE_MS = 20
STEP_MS = 1_000
"""Two clocks that differ by more were set, and did not just drift."""
FOLLOW_EVERY_MS = 10_000
"""How long a program goes by what the store told: a call in so many seconds is nothing, however many jobs it makes."""
_AFTER_ERROR_MS = 1_000


class Clock(Protocol):
    """Tells the time. Waiting uses `monotonic`, which never jumps."""

    def now(self) -> int:
        """The instant, in epoch milliseconds."""
        ...

    def monotonic(self) -> float:
        """Seconds from some fixed point, for measuring waits only. Counts the time for which the machine slept, where
        the system can tell."""
        ...


class SystemClock:
    """The machine's clock, which may be wrong or set at any time: for what nobody else acts on."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return _uptime_ns() / 1_000_000_000


class _FollowingClock:
    """The time since the machine's start, shifted by an offset with which it agrees with the store's clock. Setting the
    machine's clock does nothing to it."""

    def __init__(self, ask: Callable[[], int]) -> None:
        """`ask` tells the store's time."""
        self._ask = ask
        self._offset_ms = time.time_ns() // 1_000_000 - uptime_ms()

    def now(self) -> int:
        return _uptime_ns() // 1_000_000 + self._offset_ms

    def monotonic(self) -> float:
        return _uptime_ns() / 1_000_000_000

    def _fitting_offset(self) -> int:
        """The offset next to this one that fits what the store tells. It tells its time at some moment between question
        and answer, nobody knows when: a slow answer alone is no reason to set a clock. Differences under 20 ms are
        network noise, which this one fits too."""
        asked_at, told, answered_at = uptime_ms(), self._ask(), uptime_ms()
        offset = min(max(self._offset_ms, told - answered_at), told - asked_at)
        return offset if abs(offset - self._offset_ms) >= _NOISE_MS else self._offset_ms


class StoreClock(_FollowingClock):
    """The clock of a program that uses a store. It asks the store again when it is needed and the last answer is old,
    so that a program which lives for months does not drift, and one that waits asks nothing."""

    def __init__(self, ask: Callable[[], int]) -> None:
        super().__init__(ask)
        self._follow_at = uptime_ms()

    def now(self) -> int:
        if uptime_ms() >= self._follow_at:
            self._try_to_follow()
        return _uptime_ns() // 1_000_000 + self._offset_ms

    def follow(self) -> None:
        """Ask the store for its time, and agree with it from now on."""
        self._follow_at = uptime_ms() + FOLLOW_EVERY_MS  # first, so that of many threads one asks
        self._offset_ms = self._fitting_offset()

    def _try_to_follow(self) -> None:
        """A store that is away is told by the call for which the time is needed; the time goes on without it."""
        try:
            self.follow()
        except RotaError:
            self._follow_at = uptime_ms() + _AFTER_ERROR_MS


class NodeClock(_FollowingClock):
    """The clock of a node. What the store's clock says is followed at the first look; a jump after that is followed
    when a second look shows the same."""

    def __init__(self, ask: Callable[[], int]) -> None:
        super().__init__(ask)
        self._doubted: int | None = None
        self._has_followed = False

    @property
    def offset_ms(self) -> int:
        """The instant at which the machine was started, by this clock."""
        return self._offset_ms

    @property
    def step_ms(self) -> int:
        """By how much the store's clock was seen to jump, while that is not believed yet; else 0."""
        return 0 if self._doubted is None else self._doubted - self._offset_ms

    def follow(self) -> None:
        """Ask the store for its time, and agree with it from now on, unless it has just jumped."""
        offset = self._fitting_offset()
        off_ms = abs(offset - self._offset_ms)
        is_seen_again = self._doubted is not None and abs(offset - self._doubted) < STEP_MS
        if off_ms < STEP_MS or is_seen_again or not self._has_followed:
            self._doubted, self._offset_ms = None, offset
        else:
            self._doubted = offset
        self._has_followed = True


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


def uptime_ms() -> int:
    """Time since the machine was started; nobody can set it, and it goes on while the machine sleeps."""
    return _uptime_ns() // 1_000_000


def uptime_clock(platform: str = sys.platform) -> Callable[[], int]:
    """The clock of this system that counts suspended time, in nanoseconds. Linux has one for it; on macOS the system's
    monotonic clock does, and Python's `monotonic` asks another one, which does not."""
    which = time.CLOCK_MONOTONIC if platform == "darwin" else getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic_ns if which is None else partial(time.clock_gettime_ns, which)


_uptime_ns = uptime_clock()
"""Asked three times for each job, so no function of ours stands before it."""


def as_datetime(ms: int) -> datetime:
    """An instant for people and for formats that want a datetime."""
    return datetime.fromtimestamp(ms / 1000, UTC)


def as_millis(moment: datetime) -> int:
    """The inverse of `as_datetime`; a naive datetime is taken as UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)
