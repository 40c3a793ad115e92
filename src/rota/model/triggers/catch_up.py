"""What to fire after a gap: a scheduler that was down, a clock that leapt. Bounded, however long the gap was.

Whatever is not fired is accounted for: one row for each reason, with the number of ticks and the first and the last.
"""

from enum import StrEnum

from msgspec import Struct

from rota.model.limits import check_range
from rota.model.triggers.durations import DAY_MS, SECOND_MS
from rota.model.triggers.trigger import (
    Progress,
    Trigger,
    count_nominals,
    last_nominal,
    next_nominal,
    nominals_between,
)

GRACE_MS = 10 * SECOND_MS
"""Also without catch-up a tick may be so late: a busy scheduler is not one that was down."""
MIN_WINDOW_MS = 10 * SECOND_MS
MAX_WINDOW_MS = 100 * 365 * DAY_MS
MAX_FIRES = 10_000


class CatchUpMode(StrEnum):
    """Which of the ticks that have passed are still fired."""

    NONE = "none"
    """The latest, if it is hardly late."""
    LAST = "last"
    """The latest, if it is within the window."""
    ALL = "all"
    """Each one within the window, oldest first; over the cap, the oldest are dropped."""


class CatchUp(Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """The policy of a schedule."""

    mode: CatchUpMode = CatchUpMode.LAST
    window_ms: int | None = DAY_MS
    """None for no limit."""
    max_fires: int = 100

    def check(self, field: str) -> None:
        """Refuse a policy that cannot be meant."""
        if self.window_ms is not None:
            check_range(f"{field}.window", self.window_ms, MIN_WINDOW_MS, MAX_WINDOW_MS)
        check_range(f"{field}.max", self.max_fires, 1, MAX_FIRES)


class MissedReason(StrEnum):
    """Why a tick was not fired."""

    NO_CATCH_UP = "no_catch_up"
    """It is past, and the schedule does not catch up."""
    OUTSIDE_WINDOW = "outside_window"
    SUPERSEDED = "superseded"
    """A later tick is fired in its stead."""
    OVER_CAP = "over_cap"


class Missed(Struct, frozen=True):
    """Ticks that are not fired, in one row."""

    reason: MissedReason
    count: int
    first: int
    last: int


class CatchUpPlan(Struct, frozen=True):
    """The decision on every tick after the cursor up to now."""

    fires: tuple[int, ...]
    """Nominal instants, oldest first."""
    missed: tuple[Missed, ...]
    cursor: int
    """The last tick decided; where the cursor was if there was none."""


def plan_catch_up(
    trigger: Trigger,
    progress: Progress,
    *,
    cursor: int,
    now: int,
    policy: CatchUp,
    live_after: int | None = None,
) -> CatchUpPlan:
    """Decide the ticks in (cursor, now].

    `live_after`: a scheduler has been watching since then, so every later tick is fired, whatever the mode (but not
    over the cap). Without it, `none` and `last` fire one tick at most.
    """
    seen_after = _seen_after(trigger, cursor=cursor, now=now, policy=policy, live_after=live_after)
    kept_after = _kept_after(trigger, progress, seen_after=seen_after, now=now, policy=policy, live_after=live_after)
    capped_after = _cap(trigger, progress, kept_after, now=now, cap=policy.max_fires)
    fires = tuple(nominals_between(trigger, capped_after, now, progress))
    ranges = [(MissedReason.OVER_CAP, kept_after, capped_after)]
    if policy.mode is CatchUpMode.NONE:
        ranges.append((MissedReason.NO_CATCH_UP, cursor, kept_after))
    else:
        ranges.append((MissedReason.OUTSIDE_WINDOW, cursor, seen_after))
        ranges.append((MissedReason.SUPERSEDED, seen_after, kept_after))
    rows = (_missed(trigger, progress, reason, after, until) for reason, after, until in ranges)
    missed = tuple(row for row in rows if row)
    decided = (*(row.last for row in missed), *fires[-1:], cursor)
    return CatchUpPlan(fires, missed, max(decided))


def _seen_after(trigger: Trigger, *, cursor: int, now: int, policy: CatchUp, live_after: int | None) -> int:
    """Ticks up to here are too old to be looked at."""
    lateness = GRACE_MS if policy.mode is CatchUpMode.NONE else policy.window_ms
    if lateness is None or not trigger.is_series:
        return cursor
    oldest = now - lateness - 1
    if live_after is not None:
        oldest = min(oldest, live_after)
    return max(cursor, min(oldest, now))


def _kept_after(
    trigger: Trigger, progress: Progress, *, seen_after: int, now: int, policy: CatchUp, live_after: int | None
) -> int:
    """Ticks up to here give way to later ones."""
    if policy.mode is CatchUpMode.ALL:
        return seen_after
    last = last_nominal(trigger, seen_after, now, progress)
    kept_after = max(now, seen_after) if last is None else last - 1
    return kept_after if live_after is None else min(kept_after, max(live_after, seen_after))


def _cap(trigger: Trigger, progress: Progress, after: int, *, now: int, cap: int) -> int:
    """The earliest point from which no more ticks than the cap are left."""
    if count_nominals(trigger, after, now, progress) <= cap:
        return after
    width = SECOND_MS
    while count_nominals(trigger, now - width, now, progress) <= cap:
        width *= 2
    low, high = max(after, now - width), now
    while high - low > 1:
        middle = (low + high) // 2
        if count_nominals(trigger, middle, now, progress) > cap:
            low = middle
        else:
            high = middle
    return high


def _missed(trigger: Trigger, progress: Progress, reason: MissedReason, after: int, until: int) -> Missed | None:
    count = count_nominals(trigger, after, until, progress)
    first, last = next_nominal(trigger, after, progress), last_nominal(trigger, after, until, progress)
    if not count or first is None or last is None:
        return None
    return Missed(reason, count, first, last)
