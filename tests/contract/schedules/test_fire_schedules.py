"""Firing schedules: due times, versions, jobs and rows for ticks, in one step."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec import structs

from rota.model.job import Job, JobState
from rota.model.runs.outcome import expired, failed
from rota.model.runs.settlement import settle
from rota.model.schedules.schedule import ScheduleState, TickStatus
from rota.store import Store
from rota.store.contract.schedules import MAX_TICKS, MOST_LOOKED_UP, MOST_PER_STEP, Firing, ScheduleEntry, in_steps
from tests.contract.building import (
    NOW,
    ONCE,
    claim,
    claim_one,
    enqueue,
    fail_and_retry,
    find,
    finish,
    given,
    new_queue,
    spec,
    state_of,
    succeed,
)
from tests.contract.racing import in_threads
from tests.contract.schedules.scheduling import LEASE_MS, MINUTE, firing, found, put, schedule, tick


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

    early = store.claim_due_schedules(queue, now=NOW + LEASE_MS - 1, lease_ms=LEASE_MS, limit=10)
    again = store.claim_due_schedules(queue, now=NOW + LEASE_MS, lease_ms=LEASE_MS, limit=10)

    assert (early.entries, early.next_due) == ([], NOW + LEASE_MS)
    assert again.entries == [entry]
    assert again.next_due == NOW + 2 * LEASE_MS


def test_the_answer_tells_by_which_instant_it_was_judged_what_is_due(store: Store) -> None:
    queue = new_queue()
    nothing = store.claim_due_schedules(queue, now=NOW - 1, lease_ms=LEASE_MS, limit=10)
    put(store, schedule(queue))

    given = store.claim_due_schedules(queue, now=NOW + 7, lease_ms=LEASE_MS, limit=10)

    assert (nothing.now, given.now) == (NOW - 1, NOW + 7)


@pytest.mark.stores("redis", "redis-cluster")  # SQLite has no clock but its users'
def test_a_caller_whose_clock_is_ahead_is_given_nothing_early(store: Store) -> None:
    queue, before = new_queue(), store.now()
    due, early = put(store, schedule(queue), due=before), put(store, schedule(queue), due=before + 60 * MINUTE)

    given = store.claim_due_schedules(queue, now=before + 24 * 60 * MINUTE, lease_ms=60 * MINUTE, limit=10)

    assert given.entries == [due]
    assert before <= given.now <= store.now()
    assert given.next_due is not None
    assert given.next_due <= given.now + 60 * MINUTE, "the lease, too, is counted by the clock of the store"
    again = store.claim_due_schedules(queue, now=early.state.due or 0, lease_ms=60 * MINUTE, limit=10)
    assert again.entries == []


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


def test_a_waiting_job_that_has_expired_gives_its_unique_key_to_that_of_a_tick(store: Store) -> None:
    queue = new_queue()
    entry, new = put(store, schedule(queue)), spec(queue, unique_key="k")
    old = structs.replace(spec(queue, unique_key="k"), expires_at=NOW)
    enqueue(store, old, now=NOW - 1)

    assert store.fire_schedules(queue, [firing(entry, new)], now=NOW) == [True]

    row = store.list_ticks(entry.schedule.uuid, limit=1)[0]
    assert (row.status, row.job) == (TickStatus.FIRED, new.id)
    ended = store.find_jobs([old.id])[0]
    assert ended is not None
    assert (ended.state, ended.errors) == (JobState.CANCELLED, expired().errors)
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


def test_ticks_are_bounded_although_a_schedule_is_looked_at_after_each(store: Store) -> None:
    """As one that goes by the end of its jobs while one of them runs: every second version has no ticks."""
    queue = new_queue()
    entry = put(store, schedule(queue))
    for version in range(1, 105):
        rows = tuple(tick(NOW + version * 40 + n) for n in range(40)) if version % 2 == 0 else ()
        state = structs.replace(entry.state, version=version + 1)
        assert store.fire_schedules(queue, [Firing(entry.schedule, version, state, rows)], now=NOW) == [True]

    assert MAX_TICKS <= len(store.list_ticks(entry.schedule.uuid, limit=5_000)) <= MAX_TICKS + 200


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


def test_a_decision_may_make_thousands_of_jobs(store: Store) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue))
    specs = [spec(queue) for _ in range(10_000)]
    jobs = tuple(one.id for one in specs)
    ticks = tuple(tick(NOW + n, job) for n, job in enumerate(jobs))
    state = structs.replace(entry.state, version=2, cursor=NOW + 9_999)

    assert store.fire_schedules(queue, [Firing(entry.schedule, 1, state, ticks, tuple(specs))], now=NOW) == [True]

    assert store.count_jobs(queue)[JobState.QUEUED] == 10_000


def test_jobs_of_ticks_are_counted_like_any_other(store: Store) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue))

    store.fire_schedules(queue, [firing(entry, spec(queue), spec(queue))], now=NOW)

    assert store.read_totals(queue).enqueued == 2


def test_jobs_that_must_give_way_are_cancelled_in_the_step_that_fires(store: Store) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue))
    running, waiting, delayed, other = (spec(queue), spec(queue), spec(queue, run_at=NOW + 9_000), spec(queue))
    enqueue(store, running)
    claim_one(store, queue)
    enqueue(store, waiting, delayed, other)
    decided = structs.replace(firing(entry, spec(queue)), cancels=(running.id, waiting.id, delayed.id, "gone"))

    assert store.fire_schedules(queue, [decided], now=NOW) == [True]

    assert find(store, running.id).cancel_requested
    assert [state_of(store, one.id) for one in (waiting, delayed)] == [JobState.CANCELLED] * 2
    assert given(store, queue) == [other.id, decided.specs[0].id]
    assert store.read_totals(queue).cancelled == 2


def test_a_decision_upon_an_old_version_cancels_nothing(store: Store) -> None:
    queue = new_queue()
    first, second = put(store, schedule(queue)), put(store, schedule(queue))
    running, waiting = spec(queue), spec(queue)
    enqueue(store, running)
    claim_one(store, queue)
    enqueue(store, waiting)
    store.fire_schedules(queue, [firing(first)], now=NOW)
    late = structs.replace(firing(first), cancels=(running.id, waiting.id))

    assert store.fire_schedules(queue, [late, firing(second)], now=NOW) == [False, True]

    assert not find(store, running.id).cancel_requested
    assert state_of(store, waiting.id) is JobState.QUEUED


def test_a_job_that_gives_way_leaves_its_lock_and_its_unique_key_to_the_new_one(store: Store) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue))
    old, new = (spec(queue, lock_key="l", unique_key="u") for _ in range(2))
    enqueue(store, old)

    store.fire_schedules(queue, [structs.replace(firing(entry, new), cancels=(old.id,))], now=NOW)

    assert given(store, queue) == [new.id]


def test_firings_of_many_ticks_are_carried_out_in_several_steps_with_one_answer_each(store: Store) -> None:
    queue = new_queue()
    entries = [put(store, schedule(queue)) for _ in range(9)]
    stale = structs.replace(firing(entries[4], spec(queue)), expected=7)
    decided = [_with_many_jobs(entry, queue, MOST_PER_STEP // 5) for entry in entries]

    answers = store.fire_schedules(queue, [*decided[:4], stale, *decided[5:]], now=NOW)

    assert answers == [True] * 4 + [False] + [True] * 4
    assert store.count_jobs(queue)[JobState.QUEUED] == 8 * (MOST_PER_STEP // 5)
    assert [len(store.list_ticks(entry.schedule.uuid, limit=1_000)) for entry in entries] == [
        len(one.ticks) if done else 0 for one, done in zip(decided, answers, strict=True)
    ]


def test_a_step_is_bounded_by_what_it_writes_and_not_by_the_number_of_schedules() -> None:
    entry = ScheduleEntry(schedule("q"), ScheduleState())
    single = [firing(entry, spec("q")) for _ in range(1_000)]
    large = _with_many_jobs(entry, "q", MOST_PER_STEP)

    steps = list(in_steps([*single, large, *single[:10]]))

    assert [one for some in steps for one in some] == [*single, large, *single[:10]]
    sizes = [sum(1 + len(one.ticks) + len(one.specs) for one in some) for some in steps]
    assert all(size <= MOST_PER_STEP or len(some) == 1 for size, some in zip(sizes, steps, strict=True))
    assert len(steps) == 6, "they are as few as may be"


def _with_many_jobs(entry: ScheduleEntry, queue: str, count: int) -> Firing:
    specs = tuple(spec(queue) for _ in range(count))
    ticks = tuple(tick(NOW + n, one.id) for n, one in enumerate(specs))
    state = structs.replace(entry.state, version=entry.state.version + 1, jobs=tuple(one.id for one in specs))
    return Firing(entry.schedule, entry.state.version, state, ticks, specs)


def test_schedules_with_very_many_jobs_are_given_out_in_several_portions(store: Store) -> None:
    queue = new_queue()
    entries = [put(store, schedule(queue)) for _ in range(6)]
    many = [_with_many_jobs(entry, queue, MOST_LOOKED_UP // 2) for entry in entries]
    store.fire_schedules(queue, many, now=NOW)

    portions = []
    while given := store.claim_due_schedules(queue, now=NOW, lease_ms=LEASE_MS, limit=100).entries:
        portions.append([entry.schedule.uuid for entry in given])

    assert [len(some) for some in portions] == [2, 2, 2]
    assert {uuid for some in portions for uuid in some} == {entry.schedule.uuid for entry in entries}


def test_schedulers_who_decided_alike_from_the_same_entry_leave_the_work_of_one(
    store: Store, open_again: Callable[[], Store]
) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue))
    victims = [spec(queue) for _ in range(4)]
    enqueue(store, *victims)
    specs = [spec(queue) for _ in range(4)]
    handles = [open_again() for _ in range(4)]

    def fire(number: int) -> bool:
        decided = structs.replace(firing(entry, specs[number]), cancels=(victims[number].id,))
        return handles[number].fire_schedules(queue, [decided], now=NOW)[0]

    answers = in_threads(fire, 4)

    assert sorted(answers) == [False, False, False, True]
    winner = answers.index(True)
    assert [find_or_none(store, one.id) is not None for one in specs] == answers
    cancelled = [state_of(store, one.id) is JobState.CANCELLED for one in victims]
    assert cancelled == answers
    assert store.list_ticks(entry.schedule.uuid, limit=10) == [tick(NOW, specs[winner].id)]
    state = found(store, entry.schedule).state
    assert (state.version, state.jobs) == (2, (specs[winner].id,))
    totals = store.read_totals(queue)
    assert (totals.enqueued, totals.cancelled) == (5, 1)


def find_or_none(store: Store, job_id: str) -> Job | None:
    return store.find_jobs([job_id])[0]


def test_a_firing_changes_no_other_schedule(store: Store) -> None:
    queue = new_queue()
    fired, other = put(store, schedule(queue)), put(store, schedule(queue))

    store.fire_schedules(queue, [firing(fired, spec(queue))], now=NOW)

    assert found(store, other.schedule) == other
    assert store.list_ticks(other.schedule.uuid, limit=10) == []
    assert store.claim_due_schedules(queue, now=NOW, lease_ms=LEASE_MS, limit=10).entries == [other]


def test_of_many_jobs_in_one_call_only_those_are_refused_whose_unique_key_is_taken(store: Store) -> None:
    queue = new_queue()
    entries = [put(store, schedule(queue)) for _ in range(4)]
    enqueue(store, spec(queue, unique_key="taken"))
    keys = ["free", "taken", None, "free"]
    specs = [spec(queue, unique_key=key) for key in keys]

    answers = store.fire_schedules(
        queue, [firing(entry, one) for entry, one in zip(entries, specs, strict=True)], now=NOW
    )

    rows = [store.list_ticks(entry.schedule.uuid, limit=10)[0] for entry in entries]
    assert answers == [True] * 4
    assert [(row.status.value, row.reason, row.job) for row in rows] == [
        ("fired", "", specs[0].id),
        ("skipped", "unique", None),
        ("fired", "", specs[2].id),
        ("skipped", "unique", None),
    ]
    assert [find_or_none(store, one.id) is not None for one in specs] == [True, False, True, False]
    assert store.read_totals(queue).enqueued == 1 + 2


def test_one_refused_job_of_a_firing_does_not_touch_its_other_ticks(store: Store) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue))
    enqueue(store, spec(queue, unique_key="taken"))
    jobs = [spec(queue, unique_key="taken"), spec(queue, unique_key="free")]
    ticks = (
        tick(NOW, jobs[0].id),
        tick(NOW + 1, jobs[1].id),
        structs.replace(tick(NOW + 2, status=TickStatus.SKIPPED), reason="excluded", by="n"),
        structs.replace(tick(NOW + 3, status=TickStatus.MISSED), reason="over_cap", until=NOW + 9, count=7),
    )
    state = structs.replace(entry.state, version=2)

    store.fire_schedules(queue, [Firing(entry.schedule, 1, state, ticks, tuple(jobs))], now=NOW)

    refused = structs.replace(ticks[0], status=TickStatus.SKIPPED, reason="unique", job=None)
    assert store.list_ticks(entry.schedule.uuid, limit=10)[::-1] == [refused, *ticks[1:]]


def test_a_schedule_whose_job_was_refused_has_come_as_far_as_was_said_for_that_case(store: Store) -> None:
    queue = new_queue()
    entries = [put(store, schedule(queue)) for _ in range(5)]
    enqueue(store, spec(queue, unique_key="taken"))
    keys = ["free", "taken", "taken", None, "taken"]
    dues = [(NOW + 1, NOW + 2), (None, NOW + 3), (NOW + 4, None), (NOW + 5, NOW + 6), (NOW + 7, NOW + 8)]
    firings = [
        with_otherwise(firing(entry, spec(queue, unique_key=key), due=due), otherwise)
        for entry, key, (due, otherwise) in zip(entries, keys, dues, strict=True)
    ]
    late = structs.replace(firings[4], expected=99)

    answers = store.fire_schedules(queue, [*firings[:4], late], now=NOW)

    assert answers == [True, True, True, True, False]
    states = [found(store, entry.schedule).state for entry in entries]
    assert states == [
        firings[0].state,
        firings[1].otherwise,
        firings[2].otherwise,
        firings[3].state,
        entries[4].state,
    ]
    given = store.claim_due_schedules(queue, now=NOW + 9, lease_ms=LEASE_MS, limit=10).entries
    assert [one.state.due for one in given] == [NOW, NOW + 1, NOW + 3, NOW + 5]
    again = firing(found(store, entries[1].schedule), spec(queue))
    assert store.fire_schedules(queue, [again], now=NOW) == [True]


def with_otherwise(fired: Firing, due: int | None) -> Firing:
    state = structs.replace(fired.state, due=due, jobs=(), counts={"skipped:unique": 1})
    return structs.replace(fired, otherwise=state)


def test_a_job_that_waits_for_another_attempt_is_alive_and_one_that_was_cancelled_is_not(store: Store) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue))
    jobs = [spec(queue) for _ in range(4)]
    store.fire_schedules(queue, [firing(entry, *jobs, due=NOW)], now=NOW)
    first, _ = claim(store, queue, limit=2)
    finish(store, fail_and_retry(first))
    store.cancel_jobs([jobs[2].id], now=NOW)
    store.delete_jobs([jobs[2].id])
    store.cancel_jobs([jobs[1].id, jobs[3].id], now=NOW)

    given = found(store, entry.schedule)

    assert (given.live_jobs, given.waiting_jobs, given.failed_jobs) == (
        (jobs[0].id, jobs[1].id),
        (jobs[0].id,),
        (),
    )


def test_ticks_are_trimmed_to_the_latest_thousand_at_every_hundredth_version(store: Store) -> None:
    queue = new_queue()
    one, other = put(store, schedule(queue)), put(store, schedule(queue))
    store.fire_schedules(queue, [firing(other)], now=NOW)
    rows = tuple(tick(NOW + n) for n in range(1_250))
    full = structs.replace(one.state, version=98)
    assert store.fire_schedules(queue, [Firing(one.schedule, 1, full, rows)], now=NOW) == [True]

    kept = []
    for version in (99, 100, 101):
        state, row = structs.replace(full, version=version), tick(NOW + 10_000 + version)
        store.fire_schedules(queue, [Firing(one.schedule, version - 1, state, (row,))], now=NOW)
        kept.append(len(store.list_ticks(one.schedule.uuid, limit=5_000)))

    assert kept == [1_251, 1_000, 1_001]
    listed = [row.nominal - NOW for row in store.list_ticks(one.schedule.uuid, limit=5_000)]
    assert listed == [10_101, 10_100, 10_099, *range(1_249, 251, -1)]
    assert len(store.list_ticks(other.schedule.uuid, limit=10)) == 1
