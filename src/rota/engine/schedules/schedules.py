"""Schedules: the only way to define, change, pause and remove them. That they fire is the ticker's duty."""

from collections.abc import Callable, Sequence

from msgspec import structs

from rota.clock import Clock
from rota.engine.access.audit.record import Change, change_of, recorded
from rota.engine.access.keys.access import Caller
from rota.engine.access.keys.rights import check_may_make, check_may_trigger
from rota.engine.definitions.built_in import ensure_built_in
from rota.engine.definitions.definitions import Definitions
from rota.engine.definitions.ownership import refuse_file_owned, refuse_task_definition
from rota.engine.jobs.intake import Intake, JobRequest
from rota.engine.schedules.last_run import last_ended
from rota.errors import Conflict, InvalidInput, NotFound
from rota.model.ids import new_id
from rota.model.job import Cause
from rota.model.job_type import JobType
from rota.model.schedules.request import EMIT_JOB_TYPE, ScheduleRequest, make_schedule
from rota.model.schedules.schedule import Schedule, ScheduleState, Tick, TickStatus
from rota.model.schedules.ticking import (
    aimed,
    first_state,
    has_run_often_enough,
    is_ahead,
    looked_at_again,
    set_back,
    with_ticks,
)
from rota.model.triggers.trigger import (
    IntervalTrigger,
    OnceTrigger,
    Trigger,
    count_nominals,
    last_nominal,
    next_nominal,
)
from rota.store.contract.jobs import Admission
from rota.store.contract.schedules import ScheduleChange, ScheduleEntry
from rota.store.contract.store import Store

PAUSED_BY_FILE = "paused in the configuration file"
KIND = "schedule"
_TRIES = 5
"""A change that lost a race against a tick is made again upon the newer state."""


class Schedules:
    """Defines schedules."""

    def __init__(self, store: Store, definitions: Definitions, intake: Intake, clock: Clock) -> None:
        self._store = store
        self._definitions = definitions
        self._intake = intake
        self._clock = clock

    def find(self, name: str) -> ScheduleEntry:
        """By name or uuid."""
        entry = self._store.find_schedules([name])[0]
        if entry is None and (uuid := self._store.schedule_uuid(name)):
            entry = self._store.find_schedules([uuid])[0]
        if entry is None:
            raise NotFound("schedule", name)
        return entry

    def create(
        self,
        request: ScheduleRequest,
        *,
        by: Caller | None = None,
        uuid: str | None = None,
        managed_by: str = "",
        now: int | None = None,
    ) -> ScheduleEntry:
        """A new schedule. One that would never fire is refused, unless it is defined in a file; so is one that makes
        what the caller may not. A caller whose request says something about `now` hands it in."""
        now = self._clock.now() if now is None else now
        schedule = self.make(request, uuid or new_id(now), now, managed_by=managed_by)
        self._check_may_make(by, schedule)
        if schedule.paused and managed_by and not schedule.pause_note:
            schedule = structs.replace(schedule, pause_note=PAUSED_BY_FILE)
        state = first_state(schedule, now)
        if state.nominal is None and not schedule.paused and not managed_by:
            field = "at" if isinstance(schedule.trigger, OnceTrigger) else "end"
            raise InvalidInput(field, f"{schedule.name!r} would never fire: its time is over")
        return self._put_new(schedule, state, now)

    def define(
        self, uuid: str, request: ScheduleRequest, *, managed_by: str, last_scheduled_at: int | None = None
    ) -> ScheduleEntry:
        """A new schedule under a uuid that its owner chose, who may know when it was last scheduled."""
        now = self._clock.now()
        schedule = self.make(request, uuid, now, managed_by=managed_by)
        last = None if last_scheduled_at is None else min(last_scheduled_at, now)
        state = aimed(schedule, ScheduleState(cursor=now - 1, last_scheduled_at=last), now)
        return self._put_new(schedule, state, now)

    def _put_new(self, schedule: Schedule, state: ScheduleState, now: int) -> ScheduleEntry:
        with recorded(self._store, change_of(KIND, None, schedule), now=now):
            if not self._store.put_schedules([ScheduleChange(schedule, state, None)])[0]:
                raise Conflict(f"there is a schedule with the uuid {schedule.uuid} already")
        return ScheduleEntry(schedule, state)

    def make(self, request: ScheduleRequest, uuid: str, now: int, *, managed_by: str = "") -> Schedule:
        """Check a request and settle what it leaves open; nothing is stored.

        A line in a file may be over: a process must not refuse to start when a year ends.
        """
        request = request.settled()
        job_type, queue = self._target(request.job_type)
        return make_schedule(
            request,
            uuid=uuid,
            job_type=job_type.uuid,
            queue=queue,
            created_at=now,
            now=None if managed_by else now,
            managed_by=managed_by,
        )

    def has_passed(self, trigger: Trigger) -> bool:
        """Whether it is a single time that is over."""
        return isinstance(trigger, OnceTrigger) and trigger.at is not None and trigger.at < self._clock.now()

    def _target(self, name: str) -> tuple[JobType, str]:
        if not name:
            raise InvalidInput("job_type", "is missing; a schedule needs one, or an event to emit")
        if name == EMIT_JOB_TYPE:
            ensure_built_in(self._definitions, name, self._clock.now())
        try:
            job_type = self._definitions.job_type(name)
            return job_type, self._definitions.node_type(job_type.node_type).uuid
        except NotFound as error:
            if error.kind == "job type":
                raise
            raise InvalidInput("job_type", str(error.without_suggestion)) from None

    def _check_may_make(self, by: Caller | None, schedule: Schedule) -> None:
        job_type = self._definitions.job_type(schedule.job_type)
        check_may_make(by, job_type, schedule.arguments, field="job_arguments")

    def replace(
        self, name: str, request: ScheduleRequest, *, by: Caller | None = None, expected: int | None = None
    ) -> ScheduleEntry:
        """Define a schedule anew under its uuid, unless a file owns it. The past is not fired again: the new times
        count from now on. Arguments that somebody else may give and that stay as they are, stay."""

        def change(entry: ScheduleEntry, now: int) -> Schedule:
            refuse_file_owned(entry.schedule)
            refuse_task_definition(entry.schedule)
            if expected is not None and entry.state.version != expected:
                raise Conflict(f"schedule {name!r} is at version {entry.state.version}, not {expected}; read it again")
            made = self.make(request, entry.schedule.uuid, now, managed_by=entry.schedule.managed_by)
            if (made.job_type, made.arguments) != (entry.schedule.job_type, entry.schedule.arguments):
                self._check_may_make(by, made)
            self.check_may_trigger(by, made)
            kept_name = entry.schedule.name if request.name is None else made.name
            return structs.replace(made, name=kept_name, created_at=entry.schedule.created_at)

        return self.change(name, change, sets_back=True)

    def change(
        self, name: str, make: Callable[[ScheduleEntry, int], Schedule], *, sets_back: bool = False
    ) -> ScheduleEntry:
        """Put another definition in the place of one, and account for the ticks that the old one leaves undecided, in
        one step. What is refused leaves them to the ticker.

        With `sets_back`, one that a wrong clock sent into the future goes on from now. Only a person asks for that: a
        process whose own clock is behind must not fire everything again."""
        for _ in range(_TRIES):
            entry, now = self.find(name), self._clock.now()
            schedule = make(entry, now)
            if sets_back and is_ahead(entry.schedule, entry.state, now):
                schedule, state = set_back(schedule, entry.state, now)
                entry = structs.replace(entry, state=state)
            elif schedule == entry.schedule:
                return entry
            if changed := self._put(entry, schedule, now):
                return changed
        raise Conflict(f"schedule {name!r} changes too often; try again")

    def retarget(self, name: str, *, every_ms: int, job_type: str, arguments: dict[str, object]) -> ScheduleEntry:
        """Give an interval another length, job type or arguments, unless a file owns it; all else stays as it is."""

        def change(entry: ScheduleEntry, now: int) -> Schedule:
            refuse_file_owned(entry.schedule)
            target, queue = self._target(job_type)
            if not isinstance(entry.schedule.trigger, IntervalTrigger):
                raise Conflict(f"schedule {name!r} does not go by an interval")
            trigger = structs.replace(entry.schedule.trigger, every_ms=every_ms)
            schedule = structs.replace(
                entry.schedule, trigger=trigger, job_type=target.uuid, queue=queue, arguments=arguments
            )
            schedule.check()
            return schedule

        return self.change(name, change)

    def delete(self, *names: str) -> list[Schedule]:
        """Remove schedules with their ticks, if no file owns any of them. Their jobs stay."""
        found = [self.find(name).schedule for name in names]
        for one in found:
            refuse_file_owned(one)
        self.remove(found)
        return found

    def remove(self, schedules: Sequence[Schedule]) -> None:
        """Remove schedules, whoever owns them."""
        with recorded(self._store, *(change_of(KIND, one, None) for one in schedules), now=self._clock.now()):
            self._store.delete_schedules([one.uuid for one in schedules])

    def pause(self, name: str, note: str = "") -> ScheduleEntry:
        """Decide no ticks until it is resumed."""
        return self.change(name, lambda entry, _: structs.replace(entry.schedule, paused=True, pause_note=note))

    def resume(self, name: str) -> ScheduleEntry:
        """Decide ticks again, from now on. What passed while it was paused is one row: skipped, `paused`. One that a
        wrong clock sent into the future is set back to now, whether it was paused or not."""

        def resumed(entry: ScheduleEntry, now: int) -> Schedule:
            return structs.replace(entry.schedule, paused=False, pause_note="")

        return self.change(name, resumed, sets_back=True)

    def set_back(self, name: str) -> ScheduleEntry:
        """Let a schedule that a wrong clock sent into the future go on from now, paused or not."""
        return self.change(name, lambda entry, _: entry.schedule, sets_back=True)

    def run_now(self, name: str, *, by: Caller | None = None) -> Admission:
        """Make a job of a schedule at once, beside its ticks and not counted with them."""
        schedule = self.find(name).schedule
        self.check_may_trigger(by, schedule)
        cause = Cause("manual", schedule.uuid)
        request = JobRequest(
            job_type=schedule.job_type, arguments=schedule.arguments, priority=schedule.priority, cause=cause
        )
        run = Change(action="run", kind=KIND, name=schedule.name, uuid=schedule.uuid)
        with recorded(self._store, run) as recording:
            made = self._intake.enqueue([request])[0]
            recording.was(structs.replace(run, after={"job": made.job_id}))
        return made

    def check_may_trigger(self, by: Caller | None, schedule: Schedule) -> None:
        """Refuse a caller who may not have the jobs of a schedule made."""
        check_may_trigger(by, self._definitions.job_type(schedule.job_type))

    def _put(self, entry: ScheduleEntry, schedule: Schedule, now: int) -> ScheduleEntry | None:
        """Store a change; None if somebody else was faster."""
        row, ended = _row_left_out(entry, schedule, now), last_ended(self._store, entry)
        state = _aimed_anew(_counted(entry, row), schedule, now, ended)
        newer = structs.replace(state, version=entry.state.version + 1)
        with recorded(self._store, change_of(KIND, entry.schedule, schedule), now=now) as recording:
            if not self._store.put_schedules([ScheduleChange(schedule, newer, entry.state.version, row)])[0]:
                recording.nothing_was_done()
                return None
        return structs.replace(entry, schedule=schedule, state=newer)


def _row_left_out(entry: ScheduleEntry, new: Schedule, now: int) -> Tick | None:
    """One row for the ticks up to now that nobody will decide any more once a schedule is changed; None if there is
    none. They fell into a pause that is over, or the schedule got other times before they could be decided."""
    old = entry.schedule
    is_resumed = old.paused and not new.paused
    if not (is_resumed or new.trigger != old.trigger) or entry.state.cursor is None or not old.trigger.is_series:
        return None
    if has_run_often_enough(old, entry.state):
        return None  # it was over, and had no more ticks
    status, reason = (TickStatus.SKIPPED, "paused") if old.paused else (TickStatus.MISSED, "edited")
    return _row_for_all(old, entry.state, now, status, reason)


def _row_for_all(schedule: Schedule, state: ScheduleState, now: int, status: TickStatus, reason: str) -> Tick | None:
    """One row for every tick after the cursor up to now; None if there is none."""
    cursor, progress = state.cursor or 0, schedule.progress(state)
    count = count_nominals(schedule.trigger, cursor, now, progress)
    first = next_nominal(schedule.trigger, cursor, progress)
    if not count or first is None:
        return None
    last = last_nominal(schedule.trigger, cursor, now, progress) if count > 1 else None
    return Tick(nominal=first, status=status, decided_at=now, reason=reason, until=last, count=count)


def _counted(entry: ScheduleEntry, row: Tick | None) -> ScheduleEntry:
    """The entry, with the ticks of a row among those that are decided."""
    if row is None:
        return entry
    counts = with_ticks(entry.state.counts, [row])
    return structs.replace(entry, state=structs.replace(entry.state, counts=counts))


def _aimed_anew(entry: ScheduleEntry, schedule: Schedule, now: int, ended: int | None) -> ScheduleState:
    """How far a changed schedule has come: with other times, after a pause, or if it had run often enough and may run
    again, everything up to now is decided. One that had and has run often enough stays where it ended.

    A job that failed has done its part when somebody resumes the schedule that it stopped: of it counts only when it
    ended.
    """
    state = entry.state
    is_resumed = entry.schedule.paused and not schedule.paused
    was_over, is_over = (has_run_often_enough(one, state) for one in (entry.schedule, schedule))
    begins_anew = is_resumed or was_over or schedule.trigger != entry.schedule.trigger
    if begins_anew and not (was_over and is_over):
        state = structs.replace(state, cursor=max(now, state.cursor or now))
    if is_resumed:
        state = structs.replace(state, jobs=entry.live_jobs, last_ended=state.last_ended if ended is None else ended)
    return looked_at_again(schedule, aimed(schedule, state, now), now)
