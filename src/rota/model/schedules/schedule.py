"""A schedule: a time trigger that makes jobs, with the policies that say what happens when things get in its way."""

from enum import StrEnum

from msgspec import Struct

from rota.model.job import MAX_PRIORITY
from rota.model.limits import check_name, check_payload, check_range
from rota.model.triggers.catch_up import CatchUp
from rota.model.triggers.interval import Anchor
from rota.model.triggers.make_trigger import check_trigger
from rota.model.triggers.trigger import IntervalTrigger, Progress, Trigger

LOCK_PREFIX = "schedule:"
"""Locks that jobs of one schedule share begin so."""


class Overlap(StrEnum):
    """What to do when a tick comes while jobs of earlier ticks are alive."""

    SKIP = "skip"
    BUFFER_ONE = "buffer_one"
    """Let one job wait for the running one."""
    BUFFER_ALL = "buffer_all"
    """Let all wait, in order, up to a cap."""
    CANCEL_OTHER = "cancel_other"
    """Ask the running one to end, and start when it has."""
    TERMINATE_OTHER = "terminate_other"
    """Ask the running one to end, and start at once."""
    ALLOW = "allow"


class Schedule(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """When to make which job."""

    uuid: str
    name: str
    trigger: Trigger
    queue: str
    """Where its jobs go: the queue of its job type."""
    job_type: str
    """Uuid of the job type."""
    arguments: dict[str, object] = {}
    priority: int = 0
    max_runs: int | None = None
    """Jobs it makes in all; skipped ticks do not count."""
    overlap: Overlap = Overlap.SKIP
    catch_up: CatchUp = CatchUp()
    paused: bool = False
    pause_note: str = ""
    pause_on_failure: bool = False
    excluded: tuple[str, ...] = ()
    """Dates (`2026-12-25`) in the trigger's zone on which it does not fire."""
    created_at: int = 0
    managed_by: str = ""

    def check(self) -> None:
        check_name("name", self.name)
        check_payload("job_arguments", self.arguments)
        check_range("priority", self.priority, -MAX_PRIORITY, MAX_PRIORITY)
        if self.max_runs is not None:
            check_range("max_runs", self.max_runs, 1, 1 << 53)
        self.catch_up.check("catch_up")
        check_trigger(self.trigger)

    @property
    def waits_for_end(self) -> bool:
        """Its next tick is counted from the end of its last run, so it is looked at again until that is known."""
        return isinstance(self.trigger, IntervalTrigger) and self.trigger.anchor is Anchor.ENDED

    @property
    def follows_jobs(self) -> bool:
        """Something depends on what became of its jobs, so it remembers which are alive."""
        return self.overlap is not Overlap.ALLOW or self.pause_on_failure or self.waits_for_end

    @property
    def lock_key(self) -> str:
        """What its jobs hold while they run, where they are to wait for each other."""
        return f"{LOCK_PREFIX}{self.uuid}"

    def progress(self, state: "ScheduleState") -> Progress:
        """What the trigger must know of this schedule."""
        return Progress(
            schedule=self.uuid,
            created_at=self.created_at,
            last_scheduled=state.last_scheduled_at,
            last_ended=state.last_ended,
        )


class Backfill(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A past range of a schedule's instants for which jobs were made afterwards. The range is (start, end]."""

    id: str
    start: int
    end: int
    made_at: int
    count: int
    """Instants in the range. Not each has a job: some fired before, some are excluded."""
    overlap: Overlap = Overlap.BUFFER_ALL
    priority: int = 0
    force: bool = False
    cancelled: bool = False
    trigger: Trigger | None = None
    """As it was then: its instants, which name the jobs, stay the same whatever becomes of the schedule. None in
    records of versions that numbered the jobs instead."""


class ScheduleState(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How far a schedule has come."""

    version: int = 1
    """Grows with every change; whoever changes the schedule says which version it saw."""
    cursor: int | None = None
    """The last nominal instant that was decided."""
    nominal: int | None = None
    """The next one; None when there is none."""
    due: int | None = None
    """When to decide it: the nominal instant and its jitter. None while paused, or when there is none."""
    runs: int = 0
    last_scheduled_at: int | None = None
    last_scheduled_by: str | None = None
    last_ended: int | None = None
    """When the last of its jobs ended; known only to a schedule that counts from there."""
    jobs: tuple[str, ...] = ()
    """Its jobs that were alive when it was last decided, oldest first; kept only where something depends on them."""
    counts: dict[str, int] = {}
    """Ticks by what became of them: `fired`, `skipped:overlap`, ..."""
    backfills: tuple[Backfill, ...] = ()
    """The latest, oldest first."""


class TickStatus(StrEnum):
    FIRED = "fired"
    SKIPPED = "skipped"
    """Decided against, and why."""
    MISSED = "missed"
    """Nobody was there in time."""


class Tick(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What became of one nominal instant, or of several in a row that share their fate."""

    nominal: int
    status: TickStatus
    decided_at: int
    reason: str = ""
    job: str | None = None
    until: int | None = None
    """The last instant of several."""
    count: int = 1
    by: str = ""
    """The node that decided."""

    def without_job(self) -> "Tick":
        """The row of a tick whose job was not made, because its unique key is taken."""
        skipped = TickStatus.SKIPPED
        return Tick(nominal=self.nominal, status=skipped, decided_at=self.decided_at, reason="unique", by=self.by)
