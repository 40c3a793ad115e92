"""Schedules that programs make and end as often as others make jobs: begun, begun anew, fired at once, and forgotten.

They are schedules in every other respect. Only the audit log does not hear of them, as it does not hear of jobs."""

from collections.abc import Sequence

from msgspec import structs

from rota.engine.definitions.definitions import Definitions
from rota.engine.schedules.schedules import Schedules
from rota.engine.schedules.ticker import firing_of
from rota.errors import Conflict
from rota.model.schedules.request import ScheduleRequest
from rota.model.schedules.schedule import ScheduleState
from rota.model.schedules.ticking import Situation, aimed, decide
from rota.store.contract.schedules import ScheduleChange, ScheduleEntry
from rota.store.contract.store import Store

_TRIES = 5
"""A change that lost a race against a tick is made again upon the newer state."""


class ProgramSchedules:
    """The schedules of programs."""

    def __init__(self, store: Store, definitions: Definitions, schedules: Schedules) -> None:
        self._store = store
        self._definitions = definitions
        self._schedules = schedules

    def begin(
        self,
        uuid: str,
        request: ScheduleRequest,
        *,
        managed_by: str,
        now: int,
        after: ScheduleEntry | None = None,
        without: str | None = None,
        hold_ms: int = 0,
    ) -> ScheduleEntry | None:
        """A schedule as new, under a uuid that its owner chose, or in the place of one as it was found, whose jobs that
        are alive count as its own first ones, but for one that is to give way. Tickers leave it to its owner for
        `hold_ms`. None: there is one already, or it is no longer as it was found."""
        schedule = self._schedules.make(request, uuid, now, managed_by=managed_by)
        if after is None:
            state, expected = ScheduleState(cursor=now - 1), None
        else:
            expected = after.state.version
            jobs = tuple(job for job in after.live_jobs if job != without)
            state = ScheduleState(version=expected + 1, cursor=now - 1, runs=len(jobs), jobs=jobs)
        state = _held(aimed(schedule, state, now), now + hold_ms)
        if not self._store.put_schedules([ScheduleChange(schedule, state, expected)])[0]:
            return None
        return ScheduleEntry(schedule, state)

    def fire(self, entry: ScheduleEntry, *, now: int, hold_ms: int = 0) -> bool:
        """Decide what is due of one schedule now, instead of leaving it to a ticker. The jobs are ready after
        `hold_ms`. False: it is no longer as it was found, or somebody else was faster."""
        schedule = entry.schedule
        job_type = self._definitions.job_type(schedule.job_type)
        situation = Situation(
            now=now,
            node="",
            live_jobs=entry.live_jobs,
            waiting_jobs=entry.waiting_jobs,
            is_unique=job_type.unique_key_for(schedule.arguments) is not None,
        )
        firing = firing_of(entry, decide(schedule, entry.state, situation), job_type, now)
        if hold_ms:
            specs = tuple(structs.replace(spec, run_at=now + hold_ms) for spec in firing.specs)
            firing = structs.replace(firing, specs=specs)
        return self._store.fire_schedules(schedule.queue, [firing], now=now)[0]

    def go_on(self, uuid: str) -> None:
        """Have a schedule go on whose failed job was brought back: it is resumed if it was stopped for that, and else
        becomes another version, so that a ticker which is about to stop it is too late."""
        for _ in range(_TRIES):
            entry = self._store.find_schedules([uuid])[0]
            if entry is None:
                return
            if entry.schedule.paused:
                self._schedules.resume(uuid)
                return
            version = entry.state.version
            state = structs.replace(entry.state, version=version + 1)
            if self._store.put_schedules([ScheduleChange(entry.schedule, state, version)])[0]:
                return
        raise Conflict(f"schedule {uuid!r} changes too often; try again")

    def forget(self, uuids: Sequence[str]) -> list[bool]:
        """Remove schedules with their ticks; their jobs stay. False: there was none."""
        return self._store.delete_schedules(uuids)


def _held(state: ScheduleState, until: int) -> ScheduleState:
    """The state, with nothing to decide before then."""
    return state if state.due is None else structs.replace(state, due=max(state.due, until))
