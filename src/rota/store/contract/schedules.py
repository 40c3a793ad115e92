"""The contract of a store, for schedules. What `store.py` says of all operations holds here too.

A schedule lives with the queue of its jobs, so that a tick and its job are written in one step on a cluster too. Every
change says which version of the schedule it saw, and happens only if that is still the one there is: this is what makes
a tick happen once, with any number of schedulers and no leader.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from rota.model.job import JobSpec
from rota.model.schedules.schedule import Schedule, ScheduleState, Tick

MAX_TICKS = 1_000
"""Rows kept for each schedule; older ones are forgotten."""
MOST_PER_STEP = 750
"""States, rows and jobs that one step writes, so that nobody waits long for the store. A single firing may be more."""
MOST_LOOKED_UP = 1_000
"""Jobs of schedules that one step looks up; the schedules behind them are given out with the next."""


class ScheduleEntry(Struct, frozen=True):
    """A schedule as it is now."""

    schedule: Schedule
    state: ScheduleState
    live_jobs: tuple[str, ...] = ()
    """Those of `state.jobs` that have not ended."""
    waiting_jobs: tuple[str, ...] = ()
    """Those of `live_jobs` that no node runs."""
    failed_jobs: tuple[str, ...] = ()
    """Those of `state.jobs` that failed."""


class ScheduleChange(Struct, frozen=True):
    """A schedule as it is to be."""

    schedule: Schedule
    state: ScheduleState
    expected: int | None
    """The version that is replaced; None for a new schedule."""
    left_out: Tick | None = None
    """A row for ticks that nobody will decide because of this change; written with it, or not at all."""


class Firing(Struct, frozen=True):
    """A decision about a schedule: rows for its ticks, the jobs they make, those that give way, how far it has come."""

    schedule: Schedule
    expected: int
    """The version that was decided upon."""
    state: ScheduleState
    ticks: tuple[Tick, ...]
    specs: tuple[JobSpec, ...] = ()
    cancels: tuple[str, ...] = ()
    """Jobs that must give way to these."""
    otherwise: ScheduleState | None = None
    """The state, of the same version, if a job of these is not made because its unique key is taken; None if it is the
    same."""


class DueSchedules(Struct, frozen=True):
    entries: list[ScheduleEntry]
    next_due: int | None
    """When the next one is due that was not given out."""
    now: int
    """The instant by which it was judged what is due, and by which the caller decides."""


def in_steps(firings: Sequence[Firing]) -> Iterator[Sequence[Firing]]:
    """Firings in the portions that a store carries out one after the other."""
    start, size = 0, 0
    for number, firing in enumerate(firings):
        added = 1 + len(firing.ticks) + len(firing.specs)
        if number > start and size + added > MOST_PER_STEP:
            yield firings[start:number]
            start, size = number, 0
        size += added
    if start < len(firings):
        yield firings[start:]


class SchedulePage(Struct, frozen=True):
    entries: list[ScheduleEntry]
    cursor: str | None = None


class ScheduleStore(Protocol):
    """Everything Rota remembers of schedules."""

    def put_schedules(self, changes: Sequence[ScheduleChange]) -> list[bool]:
        """Create or replace schedules; one answer per change, in order.

        False: it is no longer the expected version, or a new one's uuid is taken. `Conflict`, and nothing changed, if a
        name belongs to another schedule. A schedule that moves to another queue takes its ticks along; on Redis that is
        not one step, but whoever dies on the way leaves one schedule, which is found and fires in one queue.
        """
        ...

    def delete_schedules(self, uuids: Sequence[str]) -> list[bool]:
        """Forget schedules with their ticks; their jobs stay. False: there was none."""
        ...

    def find_schedules(self, uuids: Sequence[str]) -> list[ScheduleEntry | None]:
        """One answer per uuid, in order."""
        ...

    def schedule_uuid(self, name: str) -> str | None:
        """The uuid of the schedule with this name."""
        ...

    def list_schedules(self, *, limit: int, cursor: str | None = None, job_type: str | None = None) -> SchedulePage:
        """A page of schedules, by name: all, or those of one job type."""
        ...

    def next_schedules(self, queue: str, *, limit: int) -> list[ScheduleEntry]:
        """The schedules of a queue whose time comes next, soonest first; none that has no next time."""
        ...

    def claim_due_schedules(self, queue: str, *, now: int, lease_ms: int, limit: int) -> DueSchedules:
        """Give out schedules whose time has come, longest due first; nobody else gets them until the lease is over.

        Fewer may come than there are: no step looks up very many of their jobs, and on a cluster those whose jobs may
        be on a server that is away are hidden like the others, but come only when it answers. A store with a clock that
        all its users share goes by that one where the caller's is ahead of it, so that nobody fires early.
        """
        ...

    def fire_schedules(self, queue: str, firings: Sequence[Firing], *, now: int) -> list[bool]:
        """Carry out decisions: rows, jobs and state of one schedule in one step. One answer per firing, in order.

        False, and nothing of it happened: the schedule is no longer the expected version. Jobs that must give way are
        cancelled as by `cancel_jobs`, in the same step, before the new ones are made; on Redis those of another queue,
        from which the schedule moved, right after it, or, if that was cut short or they cannot be reached, with the
        next `claim_due_schedules` of this queue by anybody. A job whose unique key is taken is not made; the row of its
        tick says so instead: skipped, `unique`, and the state is the one of the firing for that case. A waiting job
        that has expired is ended, as by `enqueue_jobs`, and its key is not taken any more.
        """
        ...

    def list_ticks(self, uuid: str, *, limit: int, before: int | None = None) -> list[Tick]:
        """Rows of a schedule, latest nominal instant first, from behind `before`."""
        ...
