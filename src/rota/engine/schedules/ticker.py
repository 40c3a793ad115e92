"""The ticker: finds schedules whose time has come, decides their ticks and has them fired.

Any number may run. The store hides a schedule that one of them has taken for a moment, which keeps them from doing the
same work; that a tick happens once does not depend on it, but on the version of the schedule.
"""

from msgspec import structs

from rota.engine.definitions.definitions import Definitions
from rota.engine.definitions.moves import move_schedule
from rota.engine.jobs.spec import make_spec
from rota.engine.node.duty import Round
from rota.engine.observation.happenings import SchedulePaused, ScheduleUndecided, TicksDecided
from rota.engine.observation.observers import Observers
from rota.engine.schedules.last_run import last_ended
from rota.errors import StoreError
from rota.model.ids import new_id
from rota.model.job import Cause, JobSpec
from rota.model.job_type import JobType
from rota.model.schedules.schedule import Overlap, Schedule, Tick, TickStatus
from rota.model.schedules.ticking import LOOK_MS, Decision, Situation, decide, looked_at_again
from rota.store.contract.schedules import Firing, ScheduleChange, ScheduleEntry
from rota.store.contract.store import Store

LEASE_MS = 5_000
"""A ticker that dies with schedules in hand delays them by no more than this."""
PAUSE_MS = 30
"""Between two rounds, so that schedules due at nearly the same time are fired together."""
REFRESH_AGAIN_MS = 10_000
"""After definitions could not be read. Each try may take as long as a server that hangs does not answer."""
UNDEFINED_MS = 60_000
"""How often queues are looked at whose node types are gone."""
_PER_ROUND = 500
_DEFINITIONS, _UNDEFINED = "definitions", "undefined"
_WAITING_OVERLAPS = frozenset({Overlap.BUFFER_ONE, Overlap.BUFFER_ALL, Overlap.CANCEL_OTHER})


class Looks:
    """When to look at each queue next, so that a busy one does not make the others be asked as often."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}
        self._now = 0

    def is_time(self, queue: str, now: int) -> bool:
        if now < self._now:
            self._next.clear()  # the clock was set back
        self._now = now
        return self._next.get(queue, now) <= now

    def plan(self, queue: str, wait_ms: int, now: int) -> None:
        self._next[queue] = now + wait_ms

    def wait_ms(self, queues: list[str], now: int) -> int:
        """Until the next look at one of these queues."""
        return max(0, min((self._next.get(queue, now) for queue in queues), default=now + LOOK_MS) - now)


class Ticker:
    """A duty: `run_once` fires what is due in all queues."""

    def __init__(
        self, store: Store, definitions: Definitions, *, node: str, observers: Observers | None = None
    ) -> None:
        self._store = store
        self._observers = observers or Observers()
        self._definitions = definitions
        self._node = node
        self._looks = Looks()
        self._unread: StoreError | None = None
        """Why definitions could not be read when last they were asked for; None if they were read."""

    def run_once(self, now: int) -> float:
        """Fire what is due. Returns the seconds until the next round."""
        round = Round()
        if self._looks.is_time(_DEFINITIONS, now):
            round.each([now], self._refresh)
        queues = [node_type.uuid for node_type in self._definitions.known_node_types()]
        due = [queue for queue in queues if self._looks.is_time(queue, now)]
        round.each(due, lambda queue: self._looks.plan(queue, self._fire_due(queue, now, round), now))
        round.each(self._undefined(queues, now, round), lambda queue: self._fire_due(queue, now, round))
        round.end()
        return self._looks.wait_ms(queues, now) / 1000

    def _undefined(self, known: list[str], now: int, round: Round) -> list[str]:
        """Queues whose node types are gone, once in a while: there is what a move that was cut short left behind, or a
        view of the definitions that was old had made. It fires where it belongs."""
        if self._unread is not None or not self._looks.is_time(_UNDEFINED, now):
            return []  # where definitions could not be read, nobody knows which these are
        self._looks.plan(_UNDEFINED, UNDEFINED_MS, now)
        listed = round.each([self._store.list_queues], lambda ask: ask())
        return [queue for queues in listed for queue in queues if queue not in known]

    def _refresh(self, now: int) -> None:
        """Until it is done, what is known counts: the server that has the definitions may be away, or hang."""
        self._looks.plan(_DEFINITIONS, REFRESH_AGAIN_MS, now)
        try:
            self._definitions.refresh()
        except StoreError as error:
            self._unread = error
            raise
        self._unread = None
        self._looks.plan(_DEFINITIONS, LOOK_MS, now)

    def _fire_due(self, queue: str, now: int, round: Round) -> int:
        """Fire what is due in one queue. Returns the milliseconds until the next look at it."""
        due = self._store.claim_due_schedules(queue, now=now, lease_ms=LEASE_MS, limit=_PER_ROUND)
        again = self._fire(queue, due.entries, due.now, round)
        if len(due.entries) == _PER_ROUND:
            return 0
        next_due = min((at for at in (again, due.next_due) if at is not None), default=None)
        if next_due is None:
            return LOOK_MS
        if next_due <= due.now:
            return 0
        return min(max(next_due - due.now, PAUSE_MS), LOOK_MS)

    def _fire(self, queue: str, entries: list[ScheduleEntry], now: int, round: Round) -> int | None:
        """When the first of them is due again: at once if it has more ticks than were decided. One for which the store
        cannot be asked comes again when its lease is over."""
        decided = [one for one in round.each(entries, lambda entry: self._try_to_decide(entry, now)) if one]
        if decided:
            fired = self._store.fire_schedules(queue, decided, now=now)
            if self._observers.wants(TicksDecided):
                self._tell_ticks(queue, [one for one, is_done in zip(decided, fired, strict=True) if is_done])
        states = [state for one in decided for state in (one.state, one.otherwise) if state]
        return min((state.due for state in states if state.due is not None), default=None)

    def _try_to_decide(self, entry: ScheduleEntry, now: int) -> Firing | None:
        """None if there is nothing to fire. One schedule that cannot be decided must not keep the others from it."""
        try:
            return self._decide(entry, now)
        except StoreError:
            raise
        except Exception as error:
            self._observers.tell(ScheduleUndecided(entry.schedule.name, error))
        return None

    def _decide(self, entry: ScheduleEntry, now: int) -> Firing | None:
        schedule = entry.schedule
        if schedule.pause_on_failure and entry.failed_jobs:
            self._pause(entry)
            return None
        if self._definitions.known_queue(schedule.job_type) != schedule.queue:
            self._ask_anew(now)
        job_type = self._definitions.job_type(schedule.job_type)
        if self._queue_of(job_type) != schedule.queue:
            # A move that was cut short. It fires where it belongs.
            move_schedule(self._store, entry, self._queue_of(job_type))
            return None
        ended = last_ended(self._store, entry)
        if schedule.waits_for_end and entry.state.jobs and not entry.live_jobs and ended is None:
            return None  # its last run had ended, and somebody tries it again just now: to be looked at anew
        situation = Situation(
            now=now,
            node=self._node,
            live_jobs=entry.live_jobs,
            waiting_jobs=entry.waiting_jobs,
            last_ended=ended,
            is_unique=job_type.unique_key_for(schedule.arguments) is not None,
        )
        return firing_of(entry, decide(schedule, entry.state, situation), job_type, now)

    def _ask_anew(self, now: int) -> None:
        """Perhaps it is only our view that is old. Where nobody told us a moment ago, it is not asked for each
        schedule: that may take as long as a server that hangs does not answer."""
        if self._unread is not None:
            raise self._unread
        self._refresh(now)

    def _queue_of(self, job_type: JobType) -> str:
        return self._definitions.node_type(job_type.node_type).uuid

    def _pause(self, entry: ScheduleEntry) -> None:
        """A schedule that asks for it stops when one of its jobs failed, until somebody has had a look."""
        note = f"paused because job {entry.failed_jobs[-1]} failed"
        schedule = structs.replace(entry.schedule, paused=True, pause_note=note)
        state = structs.replace(entry.state, version=entry.state.version + 1, nominal=None, due=None)
        if self._store.put_schedules([ScheduleChange(schedule, state, entry.state.version)])[0]:
            self._observers.tell(SchedulePaused(schedule.name, note))

    def _tell_ticks(self, queue: str, firings: list[Firing]) -> None:
        """As the rows have them: a tick whose job was refused for its unique key has not fired."""
        perhaps = [spec.id for one in firings if one.otherwise for spec in one.specs]
        found = self._store.find_jobs(perhaps, queue=queue) if perhaps else []
        refused = {job_id for job_id, job in zip(perhaps, found, strict=True) if job is None}
        for one in firings:
            if one.ticks:
                ticks = tuple(tick.without_job() if tick.job in refused else tick for tick in one.ticks)
                self._observers.tell(TicksDecided(one.schedule.name, one.schedule.queue, ticks))


def firing_of(entry: ScheduleEntry, decision: Decision, job_type: JobType, now: int) -> Firing:
    """The decision with the jobs that its ticks make."""
    schedule = entry.schedule
    ticks: list[Tick] = []
    specs: list[JobSpec] = []
    for tick in decision.ticks:
        if tick.status is TickStatus.FIRED:
            spec = make_tick_spec(schedule, tick.nominal, job_type, now)
            specs.append(spec)
            ticks.append(structs.replace(tick, job=spec.id))
        else:
            ticks.append(tick)
    state = decision.state
    if schedule.follows_jobs:
        state = structs.replace(state, jobs=(*state.jobs, *(spec.id for spec in specs)))
    state = looked_at_again(schedule, state, now)
    otherwise = looked_at_again(schedule, decision.otherwise, now) if decision.otherwise else None
    return Firing(schedule, entry.state.version, state, tuple(ticks), tuple(specs), decision.cancels, otherwise)


def make_tick_spec(schedule: Schedule, nominal: int, job_type: JobType, now: int) -> JobSpec:
    """The job of one tick."""
    return make_spec(
        job_type,
        id=new_id(now),
        queue=schedule.queue,
        enqueued_at=now,
        arguments=schedule.arguments,
        priority=schedule.priority,
        lock_key=schedule.lock_key if schedule.overlap in _WAITING_OVERLAPS else None,
        cause=Cause("schedule", schedule.uuid, nominal),
    )
