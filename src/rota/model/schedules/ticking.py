"""What becomes of a schedule's ticks, decided by its policies. The only place with these rules."""

from collections.abc import Iterable

from msgspec import Struct, structs

from rota.model.schedules.schedule import Overlap, Schedule, ScheduleState, Tick, TickStatus
from rota.model.triggers.catch_up import GRACE_MS, Missed, MissedReason, plan_catch_up
from rota.model.triggers.durations import DAY_MS
from rota.model.triggers.trigger import Progress, due_at, next_nominal
from rota.model.triggers.zones.days import day_of

MAX_BUFFERED = 1_000
"""Jobs of one schedule that may wait, however long its line is."""
LOOK_MS = 500
"""What another process did, a schedule that it made or a run that ended there, is noticed within this time."""
AHEAD_MS = DAY_MS
"""What was decided further in the future than this, a wrong clock decided. Less may be a clock that is behind just now:
what it has passed already must not fire again, and the schedule goes on within a day."""
MAX_DECIDED = 250
"""Ticks that are decided at once, since they are written in one step. The rest is due at once again."""


class Situation(Struct, frozen=True, kw_only=True):
    """What is known when a schedule is decided."""

    now: int
    node: str
    live_jobs: tuple[str, ...] = ()
    waiting_jobs: tuple[str, ...] = ()
    last_ended: int | None = None
    """When the last of its jobs ended; needed for a pause between runs only."""
    is_unique: bool = False
    """Its jobs share a unique key: of one decision, no more than one can be made, and perhaps none."""


class Decision(Struct, frozen=True):
    """The outcome for ticks up to now. Ticks that fired have no job yet: whoever makes it fills it in."""

    ticks: tuple[Tick, ...]
    state: ScheduleState
    cancels: tuple[str, ...] = ()
    """Jobs that must give way."""
    otherwise: ScheduleState | None = None
    """The state if the job that may be refused, because its unique key is taken, is not made: no run, and no last one
    of as many as it may make."""

    @property
    def fired(self) -> tuple[Tick, ...]:
        return tuple(tick for tick in self.ticks if tick.status is TickStatus.FIRED)


def first_state(schedule: Schedule, now: int, version: int = 1) -> ScheduleState:
    """The state of a new schedule. Its first tick may be this very instant."""
    return aimed(schedule, ScheduleState(version=version, cursor=now - 1), now)


def aimed(schedule: Schedule, state: ScheduleState, now: int) -> ScheduleState:
    """The state with the next tick after its cursor; none when paused, over, or run often enough."""
    progress = schedule.progress(state)
    return _aimed_at(schedule, state, _next_after(schedule, state, progress, now), progress)


def is_ahead(schedule: Schedule, state: ScheduleState, now: int) -> bool:
    """Whether a clock that was ahead has decided about it: then it waits until that clock's time has come."""
    latest = max(schedule.created_at, state.cursor or 0, state.last_scheduled_at or 0, state.last_ended or 0)
    return latest > now + AHEAD_MS


def set_back(schedule: Schedule, state: ScheduleState, now: int) -> tuple[Schedule, ScheduleState]:
    """The same as if nothing had been decided for times that are still to come."""
    come = structs.replace(
        state,
        cursor=_not_after(now, state.cursor),
        last_scheduled_at=_not_after(now, state.last_scheduled_at),
        last_ended=_not_after(now, state.last_ended),
    )
    return structs.replace(schedule, created_at=min(schedule.created_at, now)), come


def _not_after(now: int, instant: int | None) -> int | None:
    return None if instant is None else min(instant, now)


def _next_after(schedule: Schedule, state: ScheduleState, progress: Progress, now: int) -> int | None:
    return next_nominal(schedule.trigger, now - 1 if state.cursor is None else state.cursor, progress)


def _aimed_at(schedule: Schedule, state: ScheduleState, nominal: int | None, progress: Progress) -> ScheduleState:
    if schedule.paused or has_run_often_enough(schedule, state):
        nominal = None
    due = None if nominal is None else due_at(schedule.trigger, nominal, progress)
    return structs.replace(state, nominal=nominal, due=due)


def looked_at_again(schedule: Schedule, state: ScheduleState, now: int) -> ScheduleState:
    """The state of a schedule that counts from the end of its last run: while that is not known, it is looked at again
    soon, since nothing else would bring it back."""
    if state.due is not None or not schedule.waits_for_end or schedule.paused or has_run_often_enough(schedule, state):
        return state
    is_known = state.last_scheduled_at is None or (state.last_ended or 0) >= state.last_scheduled_at
    return state if is_known else structs.replace(state, due=now + LOOK_MS)


def decide(schedule: Schedule, state: ScheduleState, situation: Situation) -> Decision:
    """Decide the ticks after the cursor up to now: all of them, or the oldest if they are very many."""
    if situation.last_ended is not None:
        state = structs.replace(state, last_ended=situation.last_ended)
    progress = schedule.progress(state)
    plan = _plan(schedule, state, progress, situation.now)
    ticks = [_missed(row, situation) for row in plan.missed]
    runs, line = state.runs, _Line(schedule.overlap, situation)
    cursor = plan.cursor
    for nominal in plan.fires:
        if len(ticks) >= MAX_DECIDED or (schedule.max_runs is not None and runs >= schedule.max_runs):
            cursor = nominal - 1
            break
        reason = "excluded" if is_excluded(schedule, nominal) else line.reason_to_skip()
        if not reason:
            runs += 1
            line.join()
        ticks.append(_tick(nominal, reason, situation))
    else:
        ticks += [_missed(row, situation) for row in plan.excluded]
    moved = _moved(state, ticks, cursor=cursor, situation=situation)
    decision = Decision(tuple(ticks), _aimed_after(schedule, moved, plan, situation.now), line.cancels)
    if not situation.is_unique or not decision.fired:
        return decision
    moved = _moved(state, _without_jobs(ticks), cursor=cursor, situation=situation)
    return structs.replace(decision, otherwise=_aimed_after(schedule, moved, plan, situation.now))


class _Plan(Struct, frozen=True):
    """Which ticks are to be fired, which are missed, and how far that goes."""

    fires: tuple[int, ...]
    missed: tuple[Missed, ...]
    cursor: int
    following: int | None = None
    """The next tick after those, if it is known."""
    excluded: tuple[Missed, ...] = ()
    """Ticks after those to be fired that fall on excluded days, in one row."""


def _plan(schedule: Schedule, state: ScheduleState, progress: Progress, now: int) -> _Plan:
    """The schedule is watched if its next tick is hardly late: then every tick counts, not only the latest."""
    nominal, cursor = state.nominal, now - 1 if state.cursor is None else state.cursor
    watched = nominal is not None and now - nominal <= GRACE_MS
    if watched and nominal is not None and cursor < nominal <= now and schedule.trigger.is_series:
        # The common case: one tick is due and the one after it is not, so there is nothing to search for.
        following = next_nominal(schedule.trigger, nominal, progress)
        if following is None or following > now:
            return _Plan((nominal,), (), nominal, following)
    plan = plan_catch_up(
        schedule.trigger,
        progress,
        cursor=cursor,
        now=now,
        policy=schedule.catch_up,
        live_after=cursor if watched else None,
        excluded=schedule.excluded,
    )
    if plan.fires and not schedule.trigger.is_series:
        # One tick stands for the whole time since the last job: if it is skipped, the next comes a period later.
        return _Plan(plan.fires, plan.missed, max(plan.cursor, now))
    return _Plan(plan.fires, plan.missed, plan.cursor, excluded=(plan.excluded,) if plan.excluded else ())


def _aimed_after(schedule: Schedule, state: ScheduleState, plan: _Plan, now: int) -> ScheduleState:
    if plan.following is None:
        return aimed(schedule, state, now)
    return _aimed_at(schedule, state, plan.following, schedule.progress(state))


def _without_jobs(ticks: Iterable[Tick]) -> list[Tick]:
    return [tick.without_job() if tick.status is TickStatus.FIRED else tick for tick in ticks]


class _Line:
    """The jobs of a schedule that are alive, and whether one more may join them."""

    def __init__(self, overlap: Overlap, situation: Situation) -> None:
        self._overlap = overlap
        self._situation = situation
        self._live = len(situation.live_jobs)
        self._waiting = len(situation.waiting_jobs)
        self._has_grown = False
        self.cancels: tuple[str, ...] = ()

    def reason_to_skip(self) -> str:
        if self._overlap is Overlap.SKIP and self._live:
            return "overlap"
        if self._overlap is Overlap.BUFFER_ONE and self._waiting:
            return "overlap"
        if self._overlap is Overlap.BUFFER_ALL and self._waiting >= MAX_BUFFERED:
            return "buffer_full"
        return "unique" if self._situation.is_unique and self._has_grown else ""

    def join(self) -> None:
        if self._overlap in (Overlap.CANCEL_OTHER, Overlap.TERMINATE_OTHER):
            self.cancels = self._situation.live_jobs
        self._waiting += self._live > 0
        self._live += 1
        self._has_grown = True


def reason_to_skip(schedule: Schedule, situation: Situation) -> str:
    """Why a tick at this moment would make no job, for the jobs that are alive; empty if it would."""
    return _Line(schedule.overlap, situation).reason_to_skip()


def has_run_often_enough(schedule: Schedule, state: ScheduleState) -> bool:
    return schedule.max_runs is not None and state.runs >= schedule.max_runs


def is_excluded(schedule: Schedule, nominal: int) -> bool:
    """Whether an instant falls on a day that the schedule leaves out."""
    return bool(schedule.excluded) and day_of(nominal, schedule.trigger.zone) in schedule.excluded


def _tick(nominal: int, reason: str, situation: Situation) -> Tick:
    status = TickStatus.SKIPPED if reason else TickStatus.FIRED
    return Tick(nominal=nominal, status=status, decided_at=situation.now, reason=reason, by=situation.node)


def _missed(row: Missed, situation: Situation) -> Tick:
    return Tick(
        nominal=row.first,
        status=TickStatus.SKIPPED if row.reason is MissedReason.EXCLUDED else TickStatus.MISSED,
        decided_at=situation.now,
        reason=row.reason.value,
        until=row.last if row.count > 1 else None,
        count=row.count,
        by=situation.node,
    )


def _moved(state: ScheduleState, ticks: list[Tick], *, cursor: int, situation: Situation) -> ScheduleState:
    fired = sum(tick.status is TickStatus.FIRED for tick in ticks)
    return structs.replace(
        state,
        version=state.version + 1,
        cursor=cursor,
        runs=state.runs + fired,
        last_scheduled_at=situation.now if fired else state.last_scheduled_at,
        last_scheduled_by=situation.node if fired else state.last_scheduled_by,
        jobs=situation.live_jobs,
        counts=with_ticks(state.counts, ticks),
    )


def with_ticks(counts: dict[str, int], ticks: Iterable[Tick]) -> dict[str, int]:
    """How many ticks have had each fate, with these."""
    counts = dict(counts)
    for tick in ticks:
        key = tick.status.value if not tick.reason else f"{tick.status.value}:{tick.reason}"
        counts[key] = counts.get(key, 0) + tick.count
    return counts
