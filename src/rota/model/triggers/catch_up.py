"""What to fire after a gap: a scheduler that was down, a clock that leapt. Bounded, however long the gap was.

Whatever is not fired is accounted for: one row for each reason, with the number of ticks and the first and the last.
"""

from collections.abc import Collection
from enum import StrEnum

from msgspec import Struct, structs

from rota.model.limits import check_range
from rota.model.triggers.durations import DAY_MS, SECOND_MS, check_duration
from rota.model.triggers.trigger import (
    Progress,
    Trigger,
    count_nominals,
    due_at,
    last_nominal,
    next_nominal,
    nominals_between,
)
from rota.model.triggers.zones.days import day_of, days_since

GRACE_MS = 10 * SECOND_MS
"""Also without catch-up a tick may be so late: a busy scheduler is not one that was down."""
MIN_WINDOW_MS = 10 * SECOND_MS
MAX_WINDOW_MS = 100 * 365 * DAY_MS
MAX_FIRES = 10_000


class CatchUpMode(StrEnum):
    """Which of the ticks that have passed are still fired."""

    NONE = "none"
    """The latest that no excluded day takes, if it is hardly late."""
    LAST = "last"
    """The latest that no excluded day takes, if it is within the window."""
    ALL = "all"
    """Each one within the window, oldest first; over the cap, the oldest are dropped."""


class CatchUp(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The policy of a schedule."""

    mode: CatchUpMode = CatchUpMode.LAST
    window_ms: int | None = DAY_MS
    """None for no limit."""
    max_fires: int = 100

    def check(self, field: str) -> None:
        """Refuse a policy that cannot be meant."""
        if self.window_ms is not None:
            check_duration(f"{field}.window", self.window_ms, MIN_WINDOW_MS, MAX_WINDOW_MS)
        check_range(f"{field}.max", self.max_fires, 1, MAX_FIRES)


class MissedReason(StrEnum):
    """Why a tick was not fired."""

    NO_CATCH_UP = "no_catch_up"
    """It is past, and the schedule does not catch up."""
    OUTSIDE_WINDOW = "outside_window"
    SUPERSEDED = "superseded"
    """A later tick is fired in its stead."""
    OVER_CAP = "over_cap"
    EXCLUDED = "excluded"
    """It falls on a day that the schedule leaves out."""


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
    following: int | None
    """The next tick after now. Of a trigger that is no series it is not known before the job is made: None."""
    excluded: Missed | None = None
    """Those after all that are fired, if several have passed and the latest fall on excluded days."""


def plan_catch_up(
    trigger: Trigger,
    progress: Progress,
    *,
    cursor: int,
    now: int,
    policy: CatchUp,
    live_after: int | None = None,
    excluded: Collection[str] = (),
) -> CatchUpPlan:
    """Decide the ticks after the cursor that are due now, jitter included.

    `excluded`: dates in the trigger's zone. No tick gives way to one of theirs; of those to be fired, the caller still
    leaves theirs out.

    `live_after`: a scheduler has been watching since then, so every later tick is fired, whatever the mode (but not
    over the cap). Without it, `none` and `last` fire one tick at most.
    """
    first = next_nominal(trigger, cursor, progress)
    if first is None or due_at(trigger, first, progress) > now:
        return CatchUpPlan((), (), cursor, first)
    seen_after = _seen_after(trigger, cursor=cursor, now=now, policy=policy, live_after=live_after)
    second = next_nominal(trigger, first, progress) if trigger.is_series else None
    if second is None or due_at(trigger, second, progress) > now:
        return _plan_one(first, second, policy=policy, is_seen=first > seen_after)
    until = _due_until(trigger, progress, cursor, now)
    open_until = _open_until(trigger, progress, seen_after, until=until, excluded=frozenset(excluded))
    plan = _plan_many(
        trigger, progress, policy=policy, live_after=live_after, cursor=cursor, seen_after=seen_after, until=open_until
    )
    left_out = _missed(trigger, progress, MissedReason.EXCLUDED, open_until, until) if open_until < until else None
    if left_out is None:
        return plan
    following = next_nominal(trigger, until, progress)
    return structs.replace(plan, cursor=left_out.last, following=following, excluded=left_out)


def _plan_one(tick: int, following: int | None, *, policy: CatchUp, is_seen: bool) -> CatchUpPlan:
    """The usual case: one tick has come since the last look."""
    if is_seen:
        return CatchUpPlan((tick,), (), tick, following)
    reason = MissedReason.NO_CATCH_UP if policy.mode is CatchUpMode.NONE else MissedReason.OUTSIDE_WINDOW
    return CatchUpPlan((), (Missed(reason, 1, tick, tick),), tick, following)


def _plan_many(
    trigger: Trigger,
    progress: Progress,
    *,
    policy: CatchUp,
    live_after: int | None,
    cursor: int,
    seen_after: int,
    until: int,
) -> CatchUpPlan:
    """Several ticks in (cursor, until], cut from the old end: too old, then superseded, then over the cap."""
    kept_after = _kept_after(trigger, progress, seen_after, until=until, policy=policy, live_after=live_after)
    capped_after = _cap(trigger, progress, kept_after, until=until, cap=policy.max_fires)
    fires = tuple(nominals_between(trigger, capped_after, until, progress))
    ranges = [(MissedReason.OVER_CAP, kept_after, capped_after)]
    if policy.mode is CatchUpMode.NONE:
        ranges.append((MissedReason.NO_CATCH_UP, cursor, kept_after))
    else:
        ranges.append((MissedReason.OUTSIDE_WINDOW, cursor, seen_after))
        ranges.append((MissedReason.SUPERSEDED, seen_after, kept_after))
    rows = (_missed(trigger, progress, reason, after, end) for reason, after, end in ranges)
    missed = tuple(row for row in rows if row)
    last = max((*(row.last for row in missed), *fires[-1:]), default=cursor)
    return CatchUpPlan(fires, missed, last, next_nominal(trigger, until, progress))


def _due_until(trigger: Trigger, progress: Progress, cursor: int, now: int) -> int:
    """Ticks up to here are due. Jitter is less than the distance between ticks, so only the last may still wait."""
    last = last_nominal(trigger, cursor, now, progress) if trigger.jitter_ms else None
    return last - 1 if last is not None and due_at(trigger, last, progress) > now else now


def _open_until(trigger: Trigger, progress: Progress, after: int, *, until: int, excluded: Collection[str]) -> int:
    """Ticks of (after, until] that are later than this all fall on excluded days. Found by the day, not by the tick."""
    last = last_nominal(trigger, after, until, progress) if excluded else None
    while last is not None and day_of(last, trigger.zone) in excluded:
        until = max(after, days_since(excluded, last, trigger.zone) - 1)
        last = last_nominal(trigger, after, until, progress)
    return until


def _seen_after(trigger: Trigger, *, cursor: int, now: int, policy: CatchUp, live_after: int | None) -> int:
    """Ticks up to here are too old to be looked at. Lateness is counted from the latest that the jitter allows."""
    lateness = GRACE_MS if policy.mode is CatchUpMode.NONE else policy.window_ms
    if lateness is None or not trigger.is_series:
        return cursor
    oldest = now - lateness - trigger.jitter_ms - 1
    if live_after is not None:
        oldest = min(oldest, live_after)
    return max(cursor, min(oldest, now))


def _kept_after(
    trigger: Trigger, progress: Progress, seen_after: int, *, until: int, policy: CatchUp, live_after: int | None
) -> int:
    """Ticks up to here give way to later ones."""
    if policy.mode is CatchUpMode.ALL:
        return seen_after
    last = last_nominal(trigger, seen_after, until, progress)
    kept_after = max(until, seen_after) if last is None else last - 1
    return kept_after if live_after is None else min(kept_after, max(live_after, seen_after))


def _cap(trigger: Trigger, progress: Progress, after: int, *, until: int, cap: int) -> int:
    """The earliest point from which no more ticks than the cap are left."""
    if count_nominals(trigger, after, until, progress) <= cap:
        return after
    width = SECOND_MS
    while count_nominals(trigger, until - width, until, progress) <= cap:
        width *= 2
    low, high = max(after, until - width), until
    while high - low > 1:
        middle = (low + high) // 2
        if count_nominals(trigger, middle, until, progress) > cap:
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
