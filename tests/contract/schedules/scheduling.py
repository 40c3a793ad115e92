"""Schedules, ticks and decisions for contract tests."""

from msgspec import structs

from rota.model.ids import new_id
from rota.model.job import JobSpec
from rota.model.schedules.schedule import Schedule, ScheduleState, Tick, TickStatus
from rota.model.triggers.trigger import IntervalTrigger
from rota.store import Store
from rota.store.contract.schedules import Firing, ScheduleChange, ScheduleEntry
from tests.contract.building import NOW

LEASE_MS = 5_000
MINUTE = 60_000


def schedule(queue: str, name: str | None = None, **changes: object) -> Schedule:
    uuid = new_id(NOW)
    fields: dict[str, object] = {
        "uuid": uuid,
        "name": name or uuid,
        "trigger": IntervalTrigger(every_ms=MINUTE),
        "queue": queue,
        "job_type": "0190b0c0-0000-7000-8000-000000000001",
        "created_at": NOW,
    }
    return Schedule(**fields | changes)  # type: ignore[arg-type]


def put(store: Store, one: Schedule, *, due: int | None = NOW) -> ScheduleEntry:
    state = ScheduleState(cursor=NOW - 1, nominal=due, due=due)
    assert store.put_schedules([ScheduleChange(one, state, None)]) == [True]
    return ScheduleEntry(one, state)


def tick(nominal: int = NOW, job: str | None = None, status: TickStatus = TickStatus.FIRED) -> Tick:
    return Tick(nominal=nominal, status=status, decided_at=NOW, job=job)


def firing(entry: ScheduleEntry, *specs: JobSpec, nominal: int = NOW, due: int | None = NOW + MINUTE) -> Firing:
    """Fire one tick with these jobs."""
    jobs = tuple(one.id for one in specs)
    state = structs.replace(entry.state, version=entry.state.version + 1, cursor=nominal, due=due, jobs=jobs)
    ticks = tuple(tick(nominal, one.id) for one in specs) or (tick(nominal, status=TickStatus.SKIPPED),)
    return Firing(entry.schedule, entry.state.version, state, ticks, specs)


def found(store: Store, one: Schedule) -> ScheduleEntry:
    entry = store.find_schedules([one.uuid])[0]
    assert entry is not None
    return entry
