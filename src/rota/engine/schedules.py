"""Schedules: the only way to define, change, pause and remove them. That they fire is the ticker's duty."""

from msgspec import structs

from rota.clock import Clock
from rota.engine.definitions import Definitions
from rota.engine.intake import Intake, JobRequest
from rota.engine.schedule_request import (
    ScheduleRequest,
    read_catch_up,
    read_excluded,
    read_name,
    read_overlap,
    read_trigger,
)
from rota.errors import Conflict, InvalidInput, NotFound
from rota.model.ids import new_id
from rota.model.job import Cause
from rota.model.job_type import JobType
from rota.model.schedule import Schedule, ScheduleState, Tick, TickStatus
from rota.model.ticking import aimed, first_state
from rota.model.triggers.trigger import IntervalTrigger, count_nominals, last_nominal, next_nominal
from rota.store.schedules import Firing, ScheduleChange, ScheduleEntry
from rota.store.store import Admission, Store

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

    def create(self, request: ScheduleRequest) -> ScheduleEntry:
        """A new schedule."""
        now = self._clock.now()
        schedule = self.make(request, new_id(now), now)
        state = first_state(schedule, now)
        self._store.put_schedules([ScheduleChange(schedule, state, None)])
        return ScheduleEntry(schedule, state)

    def define(
        self, uuid: str, request: ScheduleRequest, *, managed_by: str, last_scheduled_at: int | None = None
    ) -> ScheduleEntry:
        """A new schedule under a uuid that its owner chose, who may know when it was last scheduled."""
        now = self._clock.now()
        schedule = self.make(request, uuid, now, managed_by=managed_by)
        last = None if last_scheduled_at is None else min(last_scheduled_at, now)
        state = aimed(schedule, ScheduleState(cursor=now - 1, last_scheduled_at=last), now)
        if not self._store.put_schedules([ScheduleChange(schedule, state, None)])[0]:
            raise Conflict(f"there is a schedule {uuid} already")
        return ScheduleEntry(schedule, state)

    def make(self, request: ScheduleRequest, uuid: str, now: int, *, managed_by: str = "") -> Schedule:
        """Check a request and settle what it leaves open; nothing is stored."""
        job_type, queue = self._target(request.job_type)
        trigger = read_trigger(request, now)
        schedule = Schedule(
            uuid=uuid,
            name=read_name(request, uuid),
            trigger=trigger,
            queue=queue,
            job_type=job_type.uuid,
            arguments=request.job_arguments,
            priority=request.priority,
            max_runs=request.max_runs,
            overlap=read_overlap(request, trigger),
            catch_up=read_catch_up(request, trigger),
            paused=request.paused,
            pause_note=request.note,
            pause_on_failure=request.pause_on_failure,
            excluded=read_excluded(request),
            created_at=now,
            managed_by=managed_by,
        )
        schedule.check()
        return schedule

    def _target(self, name: str) -> tuple[JobType, str]:
        try:
            job_type = self._definitions.job_type(name)
            return job_type, self._definitions.node_type(job_type.node_type).uuid
        except NotFound as error:
            if error.kind == "job type":
                raise
            raise InvalidInput("job_type", str(error)) from None

    def replace(self, name: str, request: ScheduleRequest, *, expected: int | None = None) -> ScheduleEntry:
        """Define a schedule anew under its uuid. The past is not fired again: the new times count from now on."""
        for _ in range(_TRIES):
            entry = self.find(name)
            if expected is not None and entry.state.version != expected:
                raise Conflict(f"schedule {name!r} is at version {entry.state.version}, not {expected}; read it again")
            now = self._clock.now()
            made = self.make(request, entry.schedule.uuid, now, managed_by=entry.schedule.managed_by)
            schedule = structs.replace(
                made,
                name=entry.schedule.name if request.name is None else made.name,
                created_at=entry.schedule.created_at,
            )
            if changed := self._put(entry, schedule, _edited(entry, schedule, now)):
                return changed
        raise Conflict(f"schedule {name!r} changes too often; try again")

    def retarget(self, name: str, *, every_ms: int, job_type: str, arguments: dict[str, object]) -> ScheduleEntry:
        """Give an interval another length, job type or arguments; all else stays as it is."""
        target, queue = self._target(job_type)
        for _ in range(_TRIES):
            entry, now = self.find(name), self._clock.now()
            if not isinstance(entry.schedule.trigger, IntervalTrigger):
                raise Conflict(f"schedule {name!r} does not go by an interval")
            trigger = structs.replace(entry.schedule.trigger, every_ms=every_ms)
            schedule = structs.replace(
                entry.schedule, trigger=trigger, job_type=target.uuid, queue=queue, arguments=arguments
            )
            schedule.check()
            if schedule == entry.schedule:
                return entry
            if changed := self._put(entry, schedule, _edited(entry, schedule, now)):
                return changed
        raise Conflict(f"schedule {name!r} changes too often; try again")

    def delete(self, name: str) -> None:
        """Remove a schedule with its ticks. Its jobs stay."""
        self._store.delete_schedules([self.find(name).schedule.uuid])

    def pause(self, name: str, note: str = "") -> ScheduleEntry:
        """Decide no ticks until it is resumed."""
        for _ in range(_TRIES):
            entry = self.find(name)
            schedule = structs.replace(entry.schedule, paused=True, pause_note=note)
            if changed := self._put(entry, schedule, structs.replace(entry.state, nominal=None, due=None)):
                return changed
        raise Conflict(f"schedule {name!r} changes too often; try again")

    def resume(self, name: str) -> ScheduleEntry:
        """Decide ticks again, from now on. What passed while it was paused is one row: skipped, `paused`."""
        for _ in range(_TRIES):
            entry = self.find(name)
            if not entry.schedule.paused:
                return entry
            now = self._clock.now()
            entry = self._tell_pause(entry, now)
            schedule = structs.replace(entry.schedule, paused=False, pause_note="")
            if changed := self._put(entry, schedule, aimed(schedule, entry.state, now)):
                return changed
        raise Conflict(f"schedule {name!r} changes too often; try again")

    def _tell_pause(self, entry: ScheduleEntry, now: int) -> ScheduleEntry:
        """Write the row for the ticks that fell into the pause, and move the cursor past them."""
        schedule, state = entry.schedule, entry.state
        if state.cursor is None or not schedule.trigger.is_series:
            return entry
        progress = schedule.progress(state)
        count = count_nominals(schedule.trigger, state.cursor, now, progress)
        first = next_nominal(schedule.trigger, state.cursor, progress)
        if not count or first is None:
            return entry
        last = last_nominal(schedule.trigger, state.cursor, now, progress)
        row = Tick(
            nominal=first,
            status=TickStatus.SKIPPED,
            decided_at=now,
            reason="paused",
            until=last if count > 1 else None,
            count=count,
        )
        counts = state.counts | {"skipped:paused": state.counts.get("skipped:paused", 0) + count}
        after = structs.replace(state, version=state.version + 1, cursor=now, counts=counts)
        if not self._store.fire_schedules(schedule.queue, [Firing(schedule, state.version, after, (row,))], now=now)[0]:
            return self.find(schedule.uuid)
        return structs.replace(entry, state=after)

    def run_now(self, name: str) -> Admission:
        """Make a job of a schedule at once, beside its ticks and not counted with them."""
        schedule = self.find(name).schedule
        cause = Cause("manual", schedule.uuid)
        request = JobRequest(
            job_type=schedule.job_type, arguments=schedule.arguments, priority=schedule.priority, cause=cause
        )
        return self._intake.enqueue([request])[0]

    def move_to_queue(self, job_type: JobType) -> None:
        """A job type that was given to other nodes takes its schedules along."""
        queue = self._definitions.node_type(job_type.node_type).uuid
        cursor: str | None = None
        while True:
            page = self._store.list_schedules(limit=500, cursor=cursor)
            for entry in page.entries:
                if entry.schedule.job_type == job_type.uuid and entry.schedule.queue != queue:
                    self._put(entry, structs.replace(entry.schedule, queue=queue), entry.state)
            cursor = page.cursor
            if cursor is None:
                return

    def _put(self, entry: ScheduleEntry, schedule: Schedule, state: ScheduleState) -> ScheduleEntry | None:
        """Store a change; None if somebody else was faster."""
        newer = structs.replace(state, version=entry.state.version + 1)
        if not self._store.put_schedules([ScheduleChange(schedule, newer, entry.state.version)])[0]:
            return None
        return structs.replace(entry, schedule=schedule, state=newer)


def _edited(entry: ScheduleEntry, schedule: Schedule, now: int) -> ScheduleState:
    """How far an edited schedule has come: with another trigger, everything up to now counts as decided."""
    state = entry.state
    if schedule.trigger != entry.schedule.trigger:
        state = structs.replace(state, cursor=max(now, state.cursor or now))
    return aimed(schedule, state, now)
