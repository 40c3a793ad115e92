"""Schedules: versions, due times, firing once, and rows for ticks."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec import structs

from rota.errors import Conflict
from rota.model.ids import new_id
from rota.model.job import JobSpec, JobState
from rota.model.outcome import failed
from rota.model.schedule import Schedule, ScheduleState, Tick, TickStatus
from rota.model.settlement import settle
from rota.model.triggers.trigger import IntervalTrigger
from rota.store import Store
from rota.store.schedules import MAX_TICKS, Firing, ScheduleChange, ScheduleEntry
from tests.contract.building import NOW, ONCE, claim, enqueue, new_node, new_queue, spec, succeed

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


def test_a_schedule_is_found_as_it_was_put(store: Store) -> None:
    entry = put(store, schedule(new_queue(), "nightly", arguments={"a": [1]}, max_runs=3))

    assert store.find_schedules([entry.schedule.uuid, new_id(NOW)]) == [entry, None]
    assert store.schedule_uuid("nightly") == entry.schedule.uuid
    assert store.schedule_uuid("other") is None


def test_a_name_belongs_to_one_schedule(store: Store) -> None:
    queue = new_queue()
    put(store, schedule(queue, "nightly"))
    other = schedule(queue, "nightly")

    with pytest.raises(Conflict, match="nightly"):
        store.put_schedules(
            [
                ScheduleChange(schedule(queue, "fine"), ScheduleState(), None),
                ScheduleChange(other, ScheduleState(), None),
            ]
        )

    assert store.find_schedules([other.uuid]) == [None]
    assert store.schedule_uuid("fine") is None


def test_a_renamed_schedule_frees_its_name(store: Store) -> None:
    entry = put(store, schedule(new_queue(), "old"))
    renamed = structs.replace(entry.schedule, name="new")

    store.put_schedules([ScheduleChange(renamed, structs.replace(entry.state, version=2), 1)])

    assert store.schedule_uuid("old") is None
    assert store.schedule_uuid("new") == entry.schedule.uuid
    assert [one.schedule.name for one in store.list_schedules(limit=10).entries] == ["new"]


def test_a_change_of_another_version_is_refused(store: Store) -> None:
    entry = put(store, schedule(new_queue(), "a"))
    changed = structs.replace(entry.schedule, priority=5)
    newer = structs.replace(entry.state, version=2)

    assert store.put_schedules([ScheduleChange(changed, newer, 7)]) == [False]
    assert store.put_schedules([ScheduleChange(changed, newer, None)]) == [False]
    assert found(store, changed).schedule.priority == 0
    assert store.put_schedules([ScheduleChange(changed, newer, 1)]) == [True]
    assert found(store, changed).schedule.priority == 5


def test_a_deleted_schedule_is_gone_with_its_ticks_and_its_name(store: Store) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue, "a"))
    store.fire_schedules(queue, [firing(entry, spec(queue))], now=NOW)

    assert store.delete_schedules([entry.schedule.uuid, new_id(NOW)]) == [True, False]

    assert store.find_schedules([entry.schedule.uuid]) == [None]
    assert store.list_ticks(entry.schedule.uuid, limit=10) == []
    assert store.claim_due_schedules(queue, now=NOW + 10 * MINUTE, lease_ms=LEASE_MS, limit=10).entries == []
    put(store, schedule(queue, "a"))


def test_schedules_are_listed_by_name_page_by_page(store: Store) -> None:
    queues = [new_queue(), new_queue()]
    for number in range(25):
        put(store, schedule(queues[number % 2], f"s{number:03}"))

    names, cursor = [], None
    while True:
        page = store.list_schedules(limit=10, cursor=cursor)
        names += [entry.schedule.name for entry in page.entries]
        cursor = page.cursor
        if cursor is None:
            break

    assert names == [f"s{number:03}" for number in range(25)]


def test_what_is_due_is_given_out_longest_due_first_and_once(store: Store) -> None:
    queue = new_queue()
    late = put(store, schedule(queue), due=NOW - 10)
    later = put(store, schedule(queue), due=NOW)
    future = put(store, schedule(queue), due=NOW + 1_000)
    put(store, schedule(queue), due=None)

    first = store.claim_due_schedules(queue, now=NOW, lease_ms=LEASE_MS, limit=10)
    second = store.claim_due_schedules(queue, now=NOW, lease_ms=LEASE_MS, limit=10)

    assert first.entries == [late, later]
    assert first.next_due == future.state.due
    assert second.entries == []


def test_what_a_scheduler_took_and_did_not_decide_is_due_again_after_the_lease(store: Store) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue))
    store.claim_due_schedules(queue, now=NOW, lease_ms=LEASE_MS, limit=10)

    again = store.claim_due_schedules(queue, now=NOW + LEASE_MS, lease_ms=LEASE_MS, limit=10)

    assert again.entries == [entry]


def test_no_more_than_asked_for_is_given_out(store: Store) -> None:
    queue = new_queue()
    for _ in range(5):
        put(store, schedule(queue))

    assert len(store.claim_due_schedules(queue, now=NOW, lease_ms=LEASE_MS, limit=3).entries) == 3
    assert len(store.claim_due_schedules(queue, now=NOW, lease_ms=LEASE_MS, limit=3).entries) == 2


def test_a_tick_its_job_and_the_state_come_together(store: Store) -> None:
    queue = new_queue()
    entry, job = put(store, schedule(queue)), spec(queue)
    decided = firing(entry, job)

    assert store.fire_schedules(queue, [decided], now=NOW) == [True]

    assert [claimed.spec for claimed in claim(store, queue)] == [job]
    assert store.list_ticks(entry.schedule.uuid, limit=10) == [tick(NOW, job.id)]
    assert found(store, entry.schedule).state == decided.state
    assert store.claim_due_schedules(queue, now=NOW, lease_ms=LEASE_MS, limit=1).next_due == NOW + MINUTE


def test_a_decision_upon_an_old_version_does_nothing(store: Store) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue))
    store.fire_schedules(queue, [firing(entry, spec(queue))], now=NOW)

    assert store.fire_schedules(queue, [firing(entry, spec(queue))], now=NOW) == [False]

    assert store.count_jobs(queue)[JobState.QUEUED] == 1
    assert len(store.list_ticks(entry.schedule.uuid, limit=10)) == 1


def test_of_two_decisions_in_one_call_the_first_counts(store: Store) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue))

    assert store.fire_schedules(queue, [firing(entry, spec(queue)), firing(entry, spec(queue))], now=NOW) == [
        True,
        False,
    ]

    assert store.count_jobs(queue)[JobState.QUEUED] == 1


def test_a_schedule_that_is_over_is_not_due_again(store: Store) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue))

    store.fire_schedules(queue, [firing(entry, spec(queue), due=None)], now=NOW)

    assert store.claim_due_schedules(queue, now=NOW + 10**9, lease_ms=LEASE_MS, limit=10).next_due is None


def test_a_taken_unique_key_turns_the_tick_into_a_skipped_one(store: Store) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue))
    enqueue(store, spec(queue, unique_key="k"))

    store.fire_schedules(queue, [firing(entry, spec(queue, unique_key="k"))], now=NOW)

    row = store.list_ticks(entry.schedule.uuid, limit=1)[0]
    assert (row.status, row.reason, row.job) == (TickStatus.SKIPPED, "unique", None)
    assert store.count_jobs(queue)[JobState.QUEUED] == 1


def test_a_schedule_knows_which_of_its_jobs_wait_run_and_failed(store: Store) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue))
    jobs = [spec(queue) for _ in range(4)]
    store.fire_schedules(queue, [firing(entry, *jobs, due=NOW)], now=NOW)
    done, broken, running = claim(store, queue, limit=3)
    lost = settle(broken, failed("no"), policy=ONCE, started_at=NOW, now=NOW, chance=0)
    store.finish_jobs(queue, [succeed(done, NOW), lost], now=NOW)

    given = store.claim_due_schedules(queue, now=NOW, lease_ms=LEASE_MS, limit=1).entries[0]

    assert set(given.live_jobs) == {running.spec.id, jobs[3].id}
    assert given.waiting_jobs == (jobs[3].id,)
    assert given.failed_jobs == (broken.spec.id,)
    assert found(store, entry.schedule).live_jobs == given.live_jobs


def test_ticks_are_listed_latest_first_from_behind_an_instant(store: Store) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue))
    rows = tuple(tick(NOW + n) for n in range(10))
    state = structs.replace(entry.state, version=2)
    store.fire_schedules(queue, [Firing(entry.schedule, 1, state, rows)], now=NOW)

    listed = store.list_ticks(entry.schedule.uuid, limit=3)

    assert [row.nominal - NOW for row in listed] == [9, 8, 7]
    assert [row.nominal - NOW for row in store.list_ticks(entry.schedule.uuid, limit=3, before=NOW + 7)] == [6, 5, 4]


def test_ticks_are_bounded(store: Store) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue))
    for version in range(1, 105):
        rows = tuple(tick(NOW + version * 20 + n) for n in range(20))
        state = structs.replace(entry.state, version=version + 1)
        assert store.fire_schedules(queue, [Firing(entry.schedule, version, state, rows)], now=NOW) == [True]

    kept = store.list_ticks(entry.schedule.uuid, limit=5_000)

    assert MAX_TICKS <= len(kept) <= MAX_TICKS + 200
    assert kept[0].nominal == NOW + 104 * 20 + 19


def test_a_schedule_that_moves_to_another_queue_is_due_there_only(store: Store) -> None:
    old, new = new_queue(), new_queue()
    entry = put(store, schedule(old))
    moved = structs.replace(entry.schedule, queue=new)

    assert store.put_schedules([ScheduleChange(moved, structs.replace(entry.state, version=2), 1)]) == [True]

    assert store.claim_due_schedules(old, now=NOW, lease_ms=LEASE_MS, limit=10).entries == []
    assert len(store.claim_due_schedules(new, now=NOW, lease_ms=LEASE_MS, limit=10).entries) == 1


def test_many_schedulers_fire_a_tick_once(store: Store, open_again: Callable[[], Store]) -> None:
    queue = new_queue()
    entries = [put(store, schedule(queue)) for _ in range(40)]
    handles = [open_again() for _ in range(4)]

    def fire(handle: Store) -> int:
        return sum(handle.fire_schedules(queue, [firing(entry, spec(queue)) for entry in entries], now=NOW))

    with ThreadPoolExecutor(4) as pool:
        fired = list(pool.map(fire, handles))

    assert sum(fired) == 40
    assert store.count_jobs(queue)[JobState.QUEUED] == 40


def test_many_schedulers_share_what_is_due(store: Store, open_again: Callable[[], Store]) -> None:
    queue = new_queue()
    for _ in range(60):
        put(store, schedule(queue))
    handles = [open_again() for _ in range(4)]

    def take(handle: Store) -> list[str]:
        taken = []
        while entries := handle.claim_due_schedules(queue, now=NOW, lease_ms=LEASE_MS, limit=7).entries:
            taken += [entry.schedule.uuid for entry in entries]
        return taken

    with ThreadPoolExecutor(4) as pool:
        taken = [uuid for some in pool.map(take, handles) for uuid in some]

    assert len(taken) == len(set(taken)) == 60


def test_a_fired_job_wakes_a_waiting_node(store: Store) -> None:
    queue, node = new_queue(), new_node()
    entry = put(store, schedule(queue))
    waker = store.waker(queue, node)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(waker.wait, 30.0, wants_jobs=True)

        store.fire_schedules(queue, [firing(entry, spec(queue))], now=NOW)

        assert waiting.result(timeout=20) == []
    waker.close()


def test_a_decision_may_make_thousands_of_jobs(store: Store) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue))
    specs = [spec(queue) for _ in range(10_000)]
    jobs = tuple(one.id for one in specs)
    ticks = tuple(tick(NOW + n, job) for n, job in enumerate(jobs))
    state = structs.replace(entry.state, version=2, cursor=NOW + 9_999)

    assert store.fire_schedules(queue, [Firing(entry.schedule, 1, state, ticks, tuple(specs))], now=NOW) == [True]

    assert store.count_jobs(queue)[JobState.QUEUED] == 10_000


def test_schedules_are_listed_by_job_type(store: Store) -> None:
    queue, one, other = new_queue(), new_id(NOW), new_id(NOW)
    for number in range(5):
        put(store, schedule(queue, f"s{number}", job_type=one if number % 2 else other))

    first = store.list_schedules(limit=2, job_type=other)
    rest = store.list_schedules(limit=2, cursor=first.cursor, job_type=other)

    assert [entry.schedule.name for entry in (*first.entries, *rest.entries)] == ["s0", "s2", "s4"]
    assert store.list_schedules(limit=2, job_type=new_id(NOW)).entries == []


def test_a_schedule_of_another_job_type_is_no_longer_listed_under_the_old_one(store: Store) -> None:
    old, new = new_id(NOW), new_id(NOW)
    entry = put(store, schedule(new_queue(), "a", job_type=old))
    changed = structs.replace(entry.schedule, name="b", job_type=new)

    store.put_schedules([ScheduleChange(changed, structs.replace(entry.state, version=2), 1)])

    assert store.list_schedules(limit=10, job_type=old).entries == []
    assert [one.schedule.name for one in store.list_schedules(limit=10, job_type=new).entries] == ["b"]


def test_a_schedule_takes_its_ticks_to_another_queue_and_is_fired_there_only(store: Store) -> None:
    old, new = new_queue(), new_queue()
    entry = put(store, schedule(old, "a"))
    store.fire_schedules(old, [firing(entry, spec(old))], now=NOW)
    held = found(store, entry.schedule)
    moved = structs.replace(held.schedule, queue=new)
    state = structs.replace(held.state, version=held.state.version + 1)

    assert store.put_schedules([ScheduleChange(moved, state, held.state.version)]) == [True]

    assert len(store.list_ticks(moved.uuid, limit=10)) == 1
    assert store.fire_schedules(old, [firing(held, spec(old), nominal=NOW + MINUTE)], now=NOW) == [False]
    assert store.claim_due_schedules(old, now=NOW + 1_000 * MINUTE, lease_ms=LEASE_MS, limit=10).entries == []
    due = store.claim_due_schedules(new, now=NOW + MINUTE, lease_ms=LEASE_MS, limit=10).entries
    assert [one.schedule for one in due] == [moved]


def test_a_move_of_another_version_changes_nothing(store: Store) -> None:
    old, new = new_queue(), new_queue()
    entry = put(store, schedule(old, "a"))
    moved = structs.replace(entry.schedule, queue=new)

    assert store.put_schedules([ScheduleChange(moved, structs.replace(entry.state, version=9), 8)]) == [False]

    assert found(store, moved).schedule.queue == old
    assert len(store.claim_due_schedules(old, now=NOW, lease_ms=LEASE_MS, limit=10).entries) == 1


def test_jobs_of_ticks_are_counted_like_any_other(store: Store) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue))

    store.fire_schedules(queue, [firing(entry, spec(queue), spec(queue))], now=NOW)

    assert store.read_totals(queue).enqueued == 2
