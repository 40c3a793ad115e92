"""The ticker: finds schedules whose time has come, decides their ticks and has them fired.

Any number may run. The store hides a schedule that one of them has taken for a moment, which keeps them from doing the
same work; that a tick happens once does not depend on it, but on the version of the schedule.
"""

import logging

from msgspec import structs

from rota.engine.definitions import Definitions
from rota.errors import NotFound
from rota.model.ids import new_id
from rota.model.job import Cause, JobSpec, JobState
from rota.model.schedule import Overlap, Schedule, Tick, TickStatus
from rota.model.ticking import Decision, Situation, decide
from rota.model.triggers.interval import Anchor
from rota.model.triggers.trigger import IntervalTrigger
from rota.store.schedules import Firing, ScheduleChange, ScheduleEntry
from rota.store.store import Store

LEASE_MS = 5_000
"""A ticker that dies with schedules in hand delays them by no more than this."""
LOOK_S = 0.5
"""A schedule that another process makes is noticed within this time."""
PAUSE_S = 0.02
"""Between two rounds, so that schedules due at nearly the same time are fired together."""
_PER_ROUND = 500
_WAITING_OVERLAPS = frozenset({Overlap.BUFFER_ONE, Overlap.BUFFER_ALL, Overlap.CANCEL_OTHER})
_logger = logging.getLogger("rota.ticker")


class Ticker:
    """A duty: `run_once` fires what is due in all queues."""

    def __init__(self, store: Store, definitions: Definitions, *, node: str) -> None:
        self._store = store
        self._definitions = definitions
        self._node = node

    def run_once(self, now: int) -> float:
        """Fire what is due. Returns the seconds until the next round."""
        waits = [self._fire_due(node_type.uuid, now) for node_type in self._definitions.cached_node_types()]
        return min(waits, default=LOOK_S)

    def _fire_due(self, queue: str, now: int) -> float:
        due = self._store.claim_due_schedules(queue, now=now, lease_ms=LEASE_MS, limit=_PER_ROUND)
        if due.entries:
            self._fire(queue, due.entries, now)
        if len(due.entries) == _PER_ROUND:
            return 0.0
        if due.next_due is None:
            return LOOK_S
        return min(max((due.next_due - now) / 1000, PAUSE_S), LOOK_S)

    def _fire(self, queue: str, entries: list[ScheduleEntry], now: int) -> None:
        firings: list[Firing] = []
        cancels: list[tuple[str, ...]] = []
        for entry in entries:
            if entry.schedule.pause_on_failure and entry.failed_jobs:
                self._pause(entry)
                continue
            try:
                firing, cancelled = self._decide(entry, now)
            except Exception:
                # One schedule that cannot be decided must not keep the others from firing.
                _logger.exception("schedule cannot be decided", extra={"schedule": entry.schedule.uuid})
                continue
            firings.append(firing)
            cancels.append(cancelled)
        answers = self._store.fire_schedules(queue, firings, now=now)
        fired = zip(answers, cancels, strict=True)
        if asked := [job_id for done, ids in fired if done for job_id in ids]:
            self._store.cancel_jobs(asked, now=now)

    def _decide(self, entry: ScheduleEntry, now: int) -> tuple[Firing, tuple[str, ...]]:
        schedule = entry.schedule
        situation = Situation(
            now=now,
            node=self._node,
            live_jobs=entry.live_jobs,
            waiting_jobs=entry.waiting_jobs,
            last_ended=self._last_ended(entry),
        )
        decision = decide(schedule, entry.state, situation)
        return self._with_jobs(entry, decision, now), decision.cancels

    def _with_jobs(self, entry: ScheduleEntry, decision: Decision, now: int) -> Firing:
        """The decision with the jobs that its ticks make."""
        schedule = entry.schedule
        ticks: list[Tick] = []
        specs: list[JobSpec] = []
        for tick in decision.ticks:
            if tick.status is TickStatus.FIRED:
                spec = self.make_spec(schedule, tick.nominal, now)
                specs.append(spec)
                ticks.append(structs.replace(tick, job=spec.id))
            else:
                ticks.append(tick)
        jobs = (*decision.state.jobs, *(spec.id for spec in specs))
        state = structs.replace(decision.state, jobs=jobs)
        if state.due is None and _waits_for_end(schedule):
            state = structs.replace(state, due=now + int(LOOK_S * 1000))
        return Firing(schedule, entry.state.version, state, tuple(ticks), tuple(specs))

    def make_spec(self, schedule: Schedule, nominal: int, now: int) -> JobSpec:
        """The job of one tick."""
        job_type = self._definitions.known_job_type(schedule.job_type)
        if job_type is None:
            raise NotFound("job type", schedule.job_type, f"the schedule {schedule.name!r} makes jobs of it")
        lock_key = job_type.lock_key
        if lock_key is None and schedule.overlap in _WAITING_OVERLAPS:
            lock_key = f"schedule:{schedule.uuid}"
        return JobSpec(
            id=new_id(now),
            job_type=schedule.job_type,
            queue=schedule.queue,
            enqueued_at=now,
            arguments=schedule.arguments,
            priority=schedule.priority,
            unique_key=job_type.unique_key_for(schedule.arguments),
            lock_key=lock_key,
            cause=Cause("schedule", schedule.uuid, nominal),
        )

    def _last_ended(self, entry: ScheduleEntry) -> int | None:
        """When the last job ended; asked for only where it matters."""
        if not _waits_for_end(entry.schedule) or entry.live_jobs or not entry.state.jobs:
            return None
        job = self._store.find_jobs([entry.state.jobs[-1]])[0]
        return job.ended_at if job and job.state is not JobState.RUNNING else entry.state.last_scheduled_at

    def _pause(self, entry: ScheduleEntry) -> None:
        """A schedule that asks for it stops when one of its jobs failed, until somebody has had a look."""
        note = f"paused because job {entry.failed_jobs[-1]} failed"
        schedule = structs.replace(entry.schedule, paused=True, pause_note=note)
        state = structs.replace(entry.state, version=entry.state.version + 1, nominal=None, due=None)
        self._store.put_schedules([ScheduleChange(schedule, state, entry.state.version)])
        _logger.warning("schedule paused", extra={"schedule": schedule.name, "note": note})


def _waits_for_end(schedule: Schedule) -> bool:
    """Its next tick is counted from the end of its last run, so it is looked at again until that is known."""
    return isinstance(schedule.trigger, IntervalTrigger) and schedule.trigger.anchor is Anchor.ENDED
