"""Wakers: a node waits without asking all the time, and is told when there is something to do.

A wait gets a time far longer than the test may take, on every store, so that one which ends was woken. It sleeps before
anything happens: one that only begins afterwards would find the news by itself, and prove nothing.
"""

import threading
from collections.abc import Callable

import pytest
from msgspec import structs

from rota.model.job import Claim, JobState, node_of_token
from rota.model.job_type import OnNodeDeath
from rota.model.rate import Rate, rate_key
from rota.model.runs.outcome import cancelled
from rota.model.runs.settlement import Settlement
from rota.store import Store
from rota.store.contract.queues import Cancellation, Waker
from rota.store.redis.nouns.queues import waker as redis_waker
from tests.conftest import OpenStore
from tests.contract.building import (
    LATER,
    NOW,
    claim,
    claim_one,
    die,
    ended_job,
    enqueue,
    fail,
    fail_and_retry,
    finish,
    given,
    interrupt,
    new_node,
    new_queue,
    reclaim,
    settled,
    spec,
    state_of,
    succeed,
    token_of,
)
from tests.contract.events import configuring
from tests.contract.queues.waiting import LONG_S, Waiting, quieten, waker_of
from tests.contract.schedules.scheduling import firing, put, schedule
from tests.patience import DEADLINE_S


@pytest.fixture(autouse=True)
def waits_are_not_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """In Redis a wait ends by itself after a while, which looks like being woken."""
    monkeypatch.setattr(redis_waker, "_LONGEST_WAIT_S", LONG_S)


def test_a_wait_ends_when_its_time_is_over(store: Store) -> None:
    with waker_of(store, new_queue()) as waker:
        assert waker.wait(0.05, wants_jobs=True) == []
        assert waker.wait(0.05, wants_jobs=False) == []
        assert waker.wait(0, wants_jobs=True) == []


def test_a_nudge_ends_the_wait_under_way(store: Store) -> None:
    with waker_of(store, new_queue()) as waker:
        quieten(waker)
        waiting = Waiting(waker, wants_jobs=False).asleep()

        waker.nudge()

        assert waiting.ends()
        assert waiting.answer == []


@pytest.mark.stores("sqlite-file", "sqlite-memory")  # in Redis each is a round trip, and the server keeps only the last
def test_whoever_nudges_does_not_wait_for_somebody_who_does_not_listen(store: Store) -> None:
    """A pipe that nobody reads holds 64 KiB."""
    with waker_of(store, new_queue()) as waker:

        def nudge_often() -> None:
            for _ in range(70_000):
                waker.nudge()

        nudging = threading.Thread(target=nudge_often, daemon=True)
        nudging.start()
        nudging.join(DEADLINE_S)

        assert not nudging.is_alive()
        assert waker.wait(LONG_S, wants_jobs=True) == []


def test_a_nudge_before_the_wait_ends_it(store: Store) -> None:
    with waker_of(store, new_queue()) as waker:
        quieten(waker)
        waker.nudge()

        waiting = Waiting(waker, wants_jobs=False)

        assert waiting.ends()


def test_closing_ends_the_wait_under_way(store: Store) -> None:
    waker = store.waker(new_queue(), new_node())
    quieten(waker)
    waiting = Waiting(waker, wants_jobs=True).asleep()

    waker.close()

    waiting.thread.join(DEADLINE_S)
    assert not waiting.thread.is_alive()


def cancellation_of(claim: Claim) -> Cancellation:
    return Cancellation(claim.spec.id, claim.token)


Act = Callable[[Store], object]


def prepare_nothing(store: Store, queue: str) -> Act:
    return lambda other: enqueue(other, spec(queue))


def prepare_failed_job(store: Store, queue: str) -> Act:
    job_id = ended_job(store, queue, JobState.FAILED)
    return lambda other: other.retry_jobs([job_id], now=NOW)


def prepare_cancelled_job(store: Store, queue: str) -> Act:
    job_id = ended_job(store, queue, JobState.CANCELLED)
    return lambda other: other.retry_jobs([job_id], now=NOW)


def prepare_paused_queue(store: Store, queue: str) -> Act:
    enqueue(store, spec(queue))
    store.pause_queue(queue)
    return lambda other: other.resume_queue(queue)


def prepare_running_job(store: Store, queue: str) -> Act:
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    return lambda other: finish(other, interrupt(claimed))


def prepare_running_job_of_a_claimer(store: Store, queue: str) -> Act:
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)

    def finish_and_claim_none(other: Store) -> object:
        return other.finish_and_claim_jobs(queue, [interrupt(claimed)], token=token_of("n"), limit=0, now=NOW)

    return finish_and_claim_none


def prepare_attempt(store: Store, queue: str) -> Act:
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    return lambda other: finish(other, fail_and_retry(claimed, NOW))


def prepare_lock(end: Callable[[Claim], Settlement]) -> "Prepare":
    def prepare_held_lock(store: Store, queue: str) -> Act:
        enqueue(store, spec(queue, lock_key="l"), spec(queue, lock_key="l"))
        (holder,) = claim(store, queue)
        return lambda other: finish(other, end(holder))

    return prepare_held_lock


def prepare_dead_node(store: Store, queue: str) -> Act:
    enqueue(store, spec(queue))
    claimed, later = claim_one(store, queue), LATER
    return lambda other: reclaim(other, die(claimed, later), now=later)


def prepare_dead_holder(store: Store, queue: str) -> Act:
    enqueue(store, spec(queue, lock_key="l"), spec(queue, lock_key="l"))
    (holder,) = claim(store, queue)
    return lambda other: reclaim(other, die(holder, LATER, OnNodeDeath.FAIL))


def prepare_forgetful_node(store: Store, queue: str) -> Act:
    enqueue(store, spec(queue))
    node = new_node()
    claim_one(store, queue, node=node)
    return lambda other: other.recover_claims(queue, node, {}, floor=0, now=NOW)


def prepare_leaving_node(store: Store, queue: str) -> Act:
    enqueue(store, spec(queue))
    node = new_node()
    claim_one(store, queue, node=node)
    return lambda other: other.leave_queue(queue, node, floor=0, now=NOW)


def prepare_schedule(store: Store, queue: str) -> Act:
    entry = put(store, schedule(queue))
    return lambda other: other.fire_schedules(queue, [firing(entry, spec(queue))], now=NOW)


def prepare_configuration(store: Store, queue: str) -> Act:
    entry = configuring.put(store, configuring.configuration(queue))
    made = configuring.verdicts(entry, configuring.event(), spec(queue))
    return lambda other: other.apply_verdicts(queue, [made], now=NOW)


Prepare = Callable[[Store, str], Act]
REASONS: dict[str, Prepare] = {
    "a job is enqueued": prepare_nothing,
    "a failed job is retried": prepare_failed_job,
    "a cancelled job is retried": prepare_cancelled_job,
    "its queue is resumed": prepare_paused_queue,
    "a job is put back": prepare_running_job,
    "a job is put back by one who wants no other": prepare_running_job_of_a_claimer,
    "an attempt failed and the next is due": prepare_attempt,
    "a lock becomes free by a success": prepare_lock(succeed),
    "a lock becomes free by a failure": prepare_lock(fail),
    "a lock becomes free by a retry": prepare_lock(fail_and_retry),
    "a lock becomes free by the death of its holder": prepare_dead_holder,
    "a job is taken from a dead node": prepare_dead_node,
    "a claim is recovered": prepare_forgetful_node,
    "a node leaves": prepare_leaving_node,
    "a schedule fires": prepare_schedule,
    "an event makes a job": prepare_configuration,
}


@pytest.mark.parametrize("prepare", REASONS.values(), ids=REASONS.keys())
def test_a_node_is_woken_when(store: Store, prepare: Prepare) -> None:
    queue = new_queue()
    act = prepare(store, queue)
    with waker_of(store, queue) as waker:
        given(store, queue)
        quieten(waker)
        waiting = Waiting(waker, wants_jobs=True).asleep()
        assert not waiting.ended.is_set()

        act(store)

        assert waiting.ends()
    assert len(given(store, queue, now=LATER)) == 1


@pytest.mark.parametrize("prepare", REASONS.values(), ids=REASONS.keys())
def test_a_node_is_woken_through_another_handle_when(store: Store, open_again: OpenStore, prepare: Prepare) -> None:
    queue, other = new_queue(), open_again()
    act = prepare(store, queue)
    with waker_of(store, queue) as waker:
        given(store, queue)
        quieten(waker)
        waiting = Waiting(waker, wants_jobs=True).asleep()
        assert not waiting.ended.is_set()

        act(other)

        assert waiting.ends()
    assert len(given(store, queue, now=LATER)) == 1


def test_a_job_that_came_just_before_the_wait_ends_it(store: Store, open_again: OpenStore) -> None:
    queue, other = new_queue(), open_again()
    with waker_of(store, queue) as waker:
        quieten(waker)
        assert given(store, queue) == []
        enqueue(other, spec(queue))

        waiting = Waiting(waker, wants_jobs=True)

        assert waiting.ends()


def test_every_new_job_wakes_a_node_that_waits_again(store: Store) -> None:
    queue = new_queue()
    with waker_of(store, queue) as waker:
        quieten(waker)
        for _ in range(5):
            waiting = Waiting(waker, wants_jobs=True).asleep()
            (job_id,) = enqueue(store, spec(queue))
            assert waiting.ends()
            waiting.thread.join(DEADLINE_S)
            assert given(store, queue) == [job_id]


def test_of_several_waiting_nodes_at_least_one_is_woken(store: Store) -> None:
    queue = new_queue()
    wakers = [store.waker(queue, new_node()) for _ in range(3)]
    for waker in wakers:
        quieten(waker)
    ended = threading.Event()
    waiting = [Waiting(waker, wants_jobs=True, ended=ended).asleep() for waker in wakers]

    enqueue(store, spec(queue))

    assert ended.wait(DEADLINE_S)
    for waker, each in zip(wakers, waiting, strict=True):
        waker.nudge()
        each.thread.join(DEADLINE_S)
        assert not each.thread.is_alive()
        waker.close()


def test_all_jobs_are_taken_when_several_nodes_wait(store: Store) -> None:
    queue = new_queue()
    done: list[str] = []
    wakers = [store.waker(queue, new_node()) for _ in range(3)]
    all_done = threading.Event()

    def work(waker: Waker) -> None:
        while not all_done.is_set():
            waker.wait(LONG_S, wants_jobs=True)
            while claims := claim(store, queue, limit=1):
                finish(store, succeed(claims[0]))
                done.append(claims[0].spec.id)
                if len(done) >= 30:
                    all_done.set()

    threads = [threading.Thread(target=work, args=(waker,), daemon=True) for waker in wakers]
    for thread in threads:
        thread.start()
    ids = [job_id for _ in range(30) for job_id in enqueue(store, spec(queue))]

    assert all_done.wait(DEADLINE_S), f"only {len(done)} of 30 jobs were taken"
    for waker, thread in zip(wakers, threads, strict=True):
        waker.nudge()
        thread.join(DEADLINE_S)
        waker.close()
    assert sorted(done) == sorted(ids)


def test_a_request_to_cancel_wakes_the_node_that_holds_the_job(store: Store, open_again: OpenStore) -> None:
    queue, node, other = new_queue(), new_node(), open_again()
    enqueue(store, spec(queue))
    with waker_of(store, queue, node) as waker:
        claimed = claim_one(store, queue, node=node)
        quieten(waker)
        waiting = Waiting(waker, wants_jobs=False).asleep()

        other.cancel_jobs([claimed.spec.id], now=NOW)

        assert waiting.ends()
        assert waiting.answer == [cancellation_of(claimed)]


def test_a_request_to_cancel_wakes_the_node_on_the_same_handle(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    with waker_of(store, queue, node) as waker:
        claimed = claim_one(store, queue, node=node)
        quieten(waker)
        waiting = Waiting(waker, wants_jobs=False).asleep()

        store.cancel_jobs([claimed.spec.id], now=NOW)

        assert waiting.ends()
        assert waiting.answer == [cancellation_of(claimed)]


def test_a_job_that_gives_way_to_a_tick_is_told_to_the_node_that_holds_it(store: Store) -> None:
    queue, node = new_queue(), new_node()
    entry = put(store, schedule(queue))
    enqueue(store, spec(queue))
    with waker_of(store, queue, node) as waker:
        claimed = claim_one(store, queue, node=node)
        quieten(waker)
        waiting = Waiting(waker, wants_jobs=False).asleep()

        store.fire_schedules(queue, [structs.replace(firing(entry), cancels=(claimed.spec.id,))], now=NOW)

        assert waiting.ends()
        assert waiting.answer == [cancellation_of(claimed)]


def test_each_of_several_jobs_that_give_way_to_a_tick_is_told(store: Store) -> None:
    queue, node = new_queue(), new_node()
    entry, jobs = put(store, schedule(queue)), [spec(queue) for _ in range(3)]
    enqueue(store, *jobs)
    with waker_of(store, queue, node) as waker:
        claims = claim(store, queue, node=node)

        store.fire_schedules(queue, [structs.replace(firing(entry), cancels=tuple(one.id for one in jobs))], now=NOW)

        told: set[Cancellation] = set()
        for _ in jobs:
            told |= set(waker.wait(0.01 if len(told) == len(jobs) else DEADLINE_S, wants_jobs=False))
        assert told == {cancellation_of(one) for one in claims}


def test_a_cancellation_is_told_once(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    with waker_of(store, queue, node) as waker:
        claimed = claim_one(store, queue, node=node)
        quieten(waker)
        store.cancel_jobs([claimed.spec.id], now=NOW)

        assert [waker.wait(0.1, wants_jobs=False) for _ in range(3)] == [[cancellation_of(claimed)], [], []]


def next_attempt(store: Store, cancelled_one: Claim) -> Claim:
    """The node ended a job that it was to cancel, somebody had it tried again, and the node claimed it again."""
    spec, token = cancelled_one.spec, cancelled_one.token
    finish(store, settled(cancelled_one, cancelled()))
    store.retry_jobs([spec.id], now=NOW)
    return claim_one(store, spec.queue, node=node_of_token(token))


def test_a_cancellation_that_is_heard_late_is_not_one_of_the_next_attempt(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    with waker_of(store, queue, node) as waker:
        first = claim_one(store, queue, node=node)
        store.cancel_jobs([first.spec.id], now=NOW)

        next_attempt(store, first)

        assert set(waker.wait(0.01, wants_jobs=False)) <= {cancellation_of(first)}


def test_a_cancellation_of_the_next_attempt_is_told_too(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    with waker_of(store, queue, node) as waker:
        first = claim_one(store, queue, node=node)
        store.cancel_jobs([first.spec.id], now=NOW)
        assert waker.wait(LONG_S, wants_jobs=False) == [cancellation_of(first)]

        second = next_attempt(store, first)
        store.cancel_jobs([second.spec.id], now=NOW)

        assert waker.wait(DEADLINE_S, wants_jobs=False) == [cancellation_of(second)]


# -- words that are passed on --------------------------------------------------------------------------------------


def test_another_node_is_woken_for_jobs_that_are_left_after_a_claim(store: Store) -> None:
    queue = new_queue()
    with waker_of(store, queue) as first, waker_of(store, queue) as second:
        enqueue(store, spec(queue), spec(queue))
        assert first.wait(LONG_S, wants_jobs=True) == []
        waiting = Waiting(second, wants_jobs=True).asleep()

        assert len(given(store, queue, limit=1)) == 1

        assert waiting.ends()


@pytest.mark.stores("redis", "redis-cluster")  # in SQLite nobody sleeps while a job is ready
def test_a_node_is_woken_when_a_claim_leaves_a_job_until_its_rate_allows_it(store: Store) -> None:
    """It may have planned to sleep for longer than that."""
    queue = new_queue()
    with waker_of(store, queue) as waker:
        enqueue(store, *(spec(queue, rate_key=rate_key(Rate(1, 5_000), "k", {})) for _ in range(2)))
        quieten(waker)
        waiting = Waiting(waker, wants_jobs=True).asleep()
        assert not waiting.ended.is_set()

        assert len(given(store, queue)) == 1

        assert waiting.ends()
    assert len(given(store, queue, now=LATER)) == 1


def test_a_full_node_passes_a_word_on_by_a_claim_of_none(store: Store) -> None:
    queue = new_queue()
    with waker_of(store, queue) as first, waker_of(store, queue) as second:
        enqueue(store, spec(queue))
        assert first.wait(LONG_S, wants_jobs=True) == []
        waiting = Waiting(second, wants_jobs=True).asleep()

        assert given(store, queue, limit=0) == []

        assert waiting.ends()
        assert len(given(store, queue)) == 1


def test_a_full_node_takes_no_word_from_an_idle_one(store: Store) -> None:
    queue = new_queue()
    with waker_of(store, queue) as full, waker_of(store, queue) as idle:
        quieten(full)
        quieten(idle)
        busy = Waiting(full, wants_jobs=False).asleep()
        waiting = Waiting(idle, wants_jobs=True).asleep()

        enqueue(store, spec(queue))

        assert waiting.ends()
        assert not busy.ended.is_set()
        full.nudge()
        assert busy.ends()


def test_a_node_is_woken_when_a_cancellation_frees_a_lock(store: Store) -> None:
    queue = new_queue()
    _, second, third = enqueue(store, *[spec(queue, lock_key="l") for _ in range(3)])
    holder = claim_one(store, queue)
    assert given(store, queue) == []
    with waker_of(store, queue) as first, waker_of(store, queue) as other:
        finish(store, succeed(holder))  # the second is ready, the third waits for its end
        assert first.wait(LONG_S, wants_jobs=True) == []
        waiting = Waiting(other, wants_jobs=True).asleep()

        store.cancel_jobs([second], now=NOW)

        assert waiting.ends()
        assert given(store, queue) == [third]


def test_a_delayed_job_that_comes_first_ends_a_wait_for_a_later_one(store: Store) -> None:
    queue = new_queue()
    with waker_of(store, queue) as waker:
        now = store.now()
        enqueue(store, spec(queue, now=now, run_at=now + 3_600_000), now=now)
        quieten(waker)
        waiting = Waiting(waker, wants_jobs=True).asleep()
        assert not waiting.ended.is_set()

        soon = store.now()
        (job_id,) = enqueue(store, spec(queue, now=soon, run_at=soon + 1), now=soon)

        assert waiting.ends()
        assert store.claim_jobs(queue, token=token_of("n"), limit=9, now=soon).next_due in (soon + 1, None)
        assert state_of(store, job_id) in (JobState.DELAYED, JobState.RUNNING)


def test_a_node_is_not_woken_for_a_delayed_job_behind_the_first(store: Store) -> None:
    queue = new_queue()
    with waker_of(store, queue) as waker:
        now = store.now()
        enqueue(store, spec(queue, now=now, run_at=now + 3_600_000), now=now)
        quieten(waker)
        waiting = Waiting(waker, wants_jobs=True).asleep()

        enqueue(store, spec(queue, now=now, run_at=now + 3_600_001), now=now)

        assert not waiting.asleep().ended.is_set()
        waker.nudge()
        assert waiting.ends()


def test_jobs_of_another_queue_wake_nobody(store: Store) -> None:
    queue = new_queue()
    with waker_of(store, queue) as waker:
        quieten(waker)
        waiting = Waiting(waker, wants_jobs=True).asleep()

        enqueue(store, spec(new_queue()))

        assert not waiting.asleep().ended.is_set()
        waker.nudge()
        assert waiting.ends()
