"""Backfill: jobs for instants of a schedule that lie in the past, made on purpose.

They have a place of their own beside the ticks: they move no cursor and count as no run. The id of each job follows
from the schedule and the instant, so no instant is made up for twice: not by repeating a backfill that was cut short,
not by a range that overlaps an earlier one, not by two people at once. `force` gives the jobs ids of their own.
The schedule's state keeps the latest backfills; all that is told about one follows from its record.
"""

from contextlib import AbstractContextManager
from hashlib import blake2b

import msgspec
from msgspec import Struct, structs

from rota.clock import Clock
from rota.engine.access.audit.record import Change, Recording, recorded
from rota.engine.access.keys.access import Caller
from rota.engine.definitions.definitions import Definitions
from rota.engine.jobs.spec import make_spec
from rota.engine.schedules.schedules import KIND, Schedules
from rota.errors import Conflict, InvalidInput, NotFound
from rota.model.ids import numbered_id
from rota.model.job import MAX_PRIORITY, Cause, Job, JobSpec, JobState
from rota.model.limits import check_range
from rota.model.schedules.schedule import Backfill, Overlap, Schedule, TickStatus
from rota.model.schedules.ticking import is_excluded
from rota.model.triggers.make_trigger import parse_choice
from rota.model.triggers.trigger import Progress, count_nominals, nominals_between
from rota.model.triggers.zones.dates import parse_instant
from rota.model.triggers.zones.moments import moment
from rota.store.contract.schedules import MAX_TICKS, ScheduleChange, ScheduleEntry
from rota.store.contract.store import Store

DEFAULT_MOST = 1_000
MOST = 10_000
LOWER_PRIORITY = 100
"""This much below the schedule's own, so that live ticks go first."""
_KEPT = 10
"""Records of backfills that a schedule keeps."""
_BATCH = 500
_TRIES = 5


class BackfillRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request to make up for the instants in (start, end]."""

    start: int | str
    end: int | str
    max: int = DEFAULT_MOST
    """A range with more instants is refused."""
    overlap: str = Overlap.BUFFER_ALL
    """`buffer_all`: one after another. `allow`: all at once."""
    force: bool = False
    """Also for instants that fired already."""
    priority: int | None = None


class BackfillPlan(Struct, frozen=True):
    """What a backfill would do."""

    backfill: Backfill
    jobs: int
    first: int | None
    """The nominal instant of its first job, and of its last."""
    last: int | None
    already_fired: int
    already_made: int
    """Instants for which an earlier backfill made a job that is still known."""
    excluded: int
    known_from: int | None
    """Rows of ticks reach back to here; of older instants nobody knows whether they fired. None if all are there."""
    instants: tuple[tuple[int, int], ...] = ()
    """Number within the range, and nominal instant, for each job; none in a plan that a server tells of."""


class Backfills:
    """Makes backfills, shows how far they are, and cancels them."""

    def __init__(self, store: Store, definitions: Definitions, schedules: Schedules, clock: Clock) -> None:
        self._store = store
        self._definitions = definitions
        self._schedules = schedules
        self._clock = clock

    def preview(self, name: str, request: BackfillRequest) -> BackfillPlan:
        """What a backfill would do; nothing is stored."""
        return self._plan(self._schedules.find(name), request)

    def start(self, name: str, request: BackfillRequest, *, by: Caller | None = None) -> BackfillPlan:
        """Make the jobs; tells of those that were made. No instant gets a second one, unless `force` says so, and a job
        whose unique key is taken is not made."""
        for _ in range(_TRIES):
            entry = self._schedules.find(name)
            self._schedules.check_may_trigger(by, entry.schedule)
            plan = self._plan(entry, request)
            with self._recorded("backfill", entry.schedule, plan.backfill) as recording:
                if self._is_recorded(entry, plan.backfill) or self._record(entry, plan.backfill):
                    return self._make_jobs(entry.schedule, plan)
                recording.nothing_was_done()
        raise Conflict(f"schedule {name!r} changes too often; try again")

    def find(self, name: str, backfill_id: str) -> tuple[Schedule, Backfill]:
        """A backfill that the schedule still remembers."""
        entry = self._schedules.find(name)
        for one in entry.state.backfills:
            if one.id == backfill_id:
                return entry.schedule, one
        raise NotFound("backfill", backfill_id, f"schedule {entry.schedule.name!r} keeps its latest {_KEPT}")

    def progress(self, name: str, backfill_id: str) -> dict[str, int]:
        """How many of its jobs are in each state."""
        schedule, backfill = self.find(name, backfill_id)
        counts = dict.fromkeys((state.value for state in JobState), 0)
        for job in self._jobs(schedule, backfill):
            counts[job.state.value] += 1
        return counts

    def cancel(self, name: str, backfill_id: str) -> int:
        """Cancel what has not ended; returns how many jobs that were."""
        for _ in range(_TRIES):
            entry = self._schedules.find(name)
            _, backfill = self.find(name, backfill_id)
            with self._recorded("cancel backfill", entry.schedule, backfill) as recording:
                if backfill.cancelled or self._record(entry, structs.replace(backfill, cancelled=True)):
                    return self._cancel_jobs(entry.schedule, backfill)
                recording.nothing_was_done()
        raise Conflict(f"schedule {name!r} changes too often; try again")

    def _recorded(self, action: str, schedule: Schedule, backfill: Backfill) -> AbstractContextManager[Recording]:
        change = Change(action=action, kind=KIND, name=schedule.name, uuid=schedule.uuid, after=backfill)
        return recorded(self._store, change, now=self._clock.now())

    def _plan(self, entry: ScheduleEntry, request: BackfillRequest) -> BackfillPlan:
        # Of a clock that is ahead, what is past would be yet to come.
        schedule, now = entry.schedule, min(self._clock.now(), self._store.now())
        backfill = _read(schedule, request, now)
        progress = schedule.progress(entry.state)
        count = count_nominals(schedule.trigger, backfill.start, backfill.end, progress)
        most = check_range("max", request.max, 1, MOST)
        if count > most:
            raise InvalidInput("max", f"the range has {count} instants, more than {most}; narrow it or raise the limit")
        instants = list(nominals_between(schedule.trigger, backfill.start, backfill.end, progress))
        fired, known_from = (set(), None) if request.force else self._fired(schedule, backfill)
        excluded = {nominal for nominal in instants if is_excluded(schedule, nominal)}
        left_out = fired | excluded
        made = self._made(schedule, backfill, [at for at in instants if at not in left_out])
        wanted = [(n, at) for n, at in enumerate(instants) if at not in left_out and at not in made]
        plan = BackfillPlan(
            structs.replace(backfill, count=count),
            jobs=0,
            first=None,
            last=None,
            already_fired=sum(nominal in fired for nominal in instants),
            already_made=len(made),
            excluded=len(excluded),
            known_from=known_from,
        )
        return _with_jobs(plan, wanted)

    def _made(self, schedule: Schedule, backfill: Backfill, instants: list[int]) -> set[int]:
        """Those for which there is a job of a backfill already."""
        if backfill.force:
            return set()
        ids = {_id_of_instant(schedule, nominal): nominal for nominal in instants}
        return {ids[job.id] for job in self._found(list(ids))}

    def _fired(self, schedule: Schedule, backfill: Backfill) -> tuple[set[int], int | None]:
        """Instants in the range that fired, and where the knowledge of that begins."""
        rows = self._store.list_ticks(schedule.uuid, limit=MAX_TICKS * 2)
        fired = {row.nominal for row in rows if row.status is TickStatus.FIRED}
        is_cut = len(rows) >= MAX_TICKS and backfill.end > schedule.created_at and backfill.start < rows[-1].nominal
        return fired, rows[-1].nominal if is_cut else None

    def _is_recorded(self, entry: ScheduleEntry, backfill: Backfill) -> bool:
        """Whether the same was asked for before, and perhaps cut short."""
        there = [one for one in entry.state.backfills if one.id == backfill.id]
        if there and there[0].cancelled:
            raise Conflict(f"the backfill {backfill.id} of this range was cancelled; force makes all its jobs anew")
        return bool(there)

    def _record(self, entry: ScheduleEntry, backfill: Backfill) -> bool:
        """Write the record; False if somebody else changed the schedule meanwhile."""
        state = entry.state
        others = tuple(one for one in state.backfills if one.id != backfill.id)
        newer = structs.replace(state, version=state.version + 1, backfills=(*others, backfill)[-_KEPT:])
        return self._store.put_schedules([ScheduleChange(entry.schedule, newer, state.version)])[0]

    def _make_jobs(self, schedule: Schedule, plan: BackfillPlan) -> BackfillPlan:
        now = self._clock.now()
        specs = [self._spec(schedule, plan.backfill, number, nominal) for number, nominal in plan.instants]
        there: set[str] = set()
        for start in range(0, len(specs), _BATCH):
            there.update(one.job_id for one in self._store.enqueue_jobs(specs[start : start + _BATCH], now=now))
        if self.find(schedule.uuid, plan.backfill.id)[1].cancelled:
            self._cancel_jobs(schedule, plan.backfill)  # by somebody who did not see all of them
        return _with_jobs(plan, [one for one, spec in zip(plan.instants, specs, strict=True) if spec.id in there])

    def _spec(self, schedule: Schedule, backfill: Backfill, number: int, nominal: int) -> JobSpec:
        job_type = self._definitions.job_type(schedule.job_type)
        return make_spec(
            job_type,
            id=_job_id(schedule, backfill, number, nominal),
            queue=schedule.queue,
            enqueued_at=backfill.made_at,
            arguments=schedule.arguments,
            priority=backfill.priority,
            lock_key=f"backfill:{backfill.id}" if backfill.overlap is Overlap.BUFFER_ALL else None,
            cause=Cause("backfill", f"{schedule.uuid}:{backfill.id}", nominal),
        )

    def _jobs(self, schedule: Schedule, backfill: Backfill) -> list[Job]:
        """The jobs that this backfill made. Others may have made some of its instants before."""
        cause = f"{schedule.uuid}:{backfill.id}"
        found = self._found(_job_ids(schedule, backfill))
        return [job for job in found if job.spec.cause is not None and job.spec.cause.name == cause]

    def _found(self, ids: list[str]) -> list[Job]:
        batches = (ids[start : start + _BATCH] for start in range(0, len(ids), _BATCH))
        return [job for batch in batches for job in self._store.find_jobs(batch) if job]

    def _cancel_jobs(self, schedule: Schedule, backfill: Backfill) -> int:
        live = [job.id for job in self._jobs(schedule, backfill) if not job.state.is_final]
        for start in range(0, len(live), _BATCH):
            self._store.cancel_jobs(live[start : start + _BATCH], now=self._clock.now())
        return len(live)


def _with_jobs(plan: BackfillPlan, instants: list[tuple[int, int]]) -> BackfillPlan:
    """The plan, with a job for each of these."""
    first, last = (instants[0][1], instants[-1][1]) if instants else (None, None)
    return structs.replace(plan, jobs=len(instants), first=first, last=last, instants=tuple(instants))


def _read(schedule: Schedule, request: BackfillRequest, now: int) -> Backfill:
    """The record of a request, checked. The same request has the same id, unless the schedule got other times since, or
    it is to be made again by force."""
    if not schedule.trigger.is_series:
        raise InvalidInput("schedule", f"{schedule.name!r} counts from its last job, so it has no times in the past")
    zone = schedule.trigger.zone
    start, end = parse_instant("start", request.start, zone), parse_instant("end", request.end, zone)
    if end <= start:
        raise InvalidInput("end", f"{moment(end, zone)} is not after the start; the range is (start, end]")
    if end > now:
        raise InvalidInput("end", f"{moment(end, zone)} is not in the past; a backfill makes up for what is over")
    overlap = parse_choice("overlap", Overlap, request.overlap)
    if overlap not in (Overlap.BUFFER_ALL, Overlap.ALLOW):
        raise InvalidInput("overlap", f"a backfill knows buffer_all and allow only, got {request.overlap!r}")
    lower = max(schedule.priority - LOWER_PRIORITY, -MAX_PRIORITY)
    priority = lower if request.priority is None else request.priority
    times = msgspec.json.encode(schedule.trigger).decode()
    what = f"{schedule.uuid} {start} {end} {times} {now if request.force else ''}"
    return Backfill(
        id=blake2b(what.encode(), digest_size=6).hexdigest(),
        start=start,
        end=end,
        made_at=now,
        count=0,
        overlap=overlap,
        priority=check_range("priority", priority, -MAX_PRIORITY, MAX_PRIORITY),
        force=request.force,
        trigger=schedule.trigger,
    )


def _job_ids(schedule: Schedule, backfill: Backfill) -> list[str]:
    """Of all jobs that the backfill may have made."""
    if backfill.force or backfill.trigger is None:
        return [_own_id(backfill, number) for number in range(backfill.count)]
    progress = Progress(schedule=schedule.uuid, created_at=schedule.created_at)
    instants = nominals_between(backfill.trigger, backfill.start, backfill.end, progress)
    return [_id_of_instant(schedule, nominal) for nominal in instants]


def _job_id(schedule: Schedule, backfill: Backfill, number: int, nominal: int) -> str:
    return _own_id(backfill, number) if backfill.force else _id_of_instant(schedule, nominal)


def _id_of_instant(schedule: Schedule, nominal: int) -> str:
    return numbered_id(max(nominal, 0), f"backfill {schedule.uuid} {nominal}", 0)


def _own_id(backfill: Backfill, number: int) -> str:
    return numbered_id(backfill.end, f"backfill {backfill.id}", number)
