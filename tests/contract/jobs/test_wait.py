"""What a queued job waits behind: those that are given out before it, and who holds its lock."""

from rota.model.rate import Rate, rate_key
from rota.store import Store
from rota.store.contract.jobs import Wait
from tests.contract.building import (
    LATER,
    NOW,
    RETRY_DELAY_MS,
    claim,
    claim_one,
    enqueue,
    fail_and_retry,
    finish,
    new_queue,
    spec,
    succeed,
)


def test_the_jobs_that_are_given_out_before_a_queued_one_are_counted(store: Store) -> None:
    queue = new_queue()
    first, second = enqueue(store, spec(queue), spec(queue))
    (urgent,) = enqueue(store, spec(queue, priority=5))
    enqueue(store, spec(new_queue(), priority=9))

    found = [store.read_wait(queue, one) for one in (urgent, first, second)]

    assert found == [Wait(0), Wait(1), Wait(2)]


def test_jobs_that_wait_for_a_lock_or_a_rate_are_before_none_that_is_ready(store: Store) -> None:
    queue, seldom = new_queue(), rate_key(Rate(1, 60_000), "k", {})
    enqueue(store, *(spec(queue, lock_key="l") for _ in range(2)), *(spec(queue, rate_key=seldom) for _ in range(2)))
    assert len(claim(store, queue)) == 2

    (ready,) = enqueue(store, spec(queue))

    assert store.read_wait(queue, ready) == Wait(0)


def test_a_job_that_is_not_queued_waits_behind_nothing(store: Store) -> None:
    queue = new_queue()
    running, ended = enqueue(store, spec(queue), spec(queue))
    claims = {one.spec.id: one for one in claim(store, queue)}
    finish(store, succeed(claims[ended]))
    (delayed,) = enqueue(store, spec(queue, run_at=LATER))
    (elsewhere,) = enqueue(store, spec(new_queue()))

    assert [store.read_wait(queue, one) for one in (running, ended, delayed, elsewhere, "none")] == [None] * 5


def test_a_job_whose_lock_is_taken_names_the_holder_before_and_after_a_claim_sets_it_aside(store: Store) -> None:
    queue = new_queue()
    (holder,) = enqueue(store, spec(queue, lock_key="l"))
    claim_one(store, queue)
    first, second = enqueue(store, spec(queue, lock_key="l"), spec(queue, lock_key="l", priority=-3))

    before = [store.read_wait(queue, one) for one in (first, second)]
    assert claim(store, queue) == []
    after = [store.read_wait(queue, one) for one in (first, second)]

    assert before == [Wait(0, holder), Wait(1, holder)]
    assert after == [Wait(0, holder), Wait(1, holder)]


def test_only_jobs_of_the_same_lock_are_before_a_blocked_one(store: Store) -> None:
    queue = new_queue()
    a, b = enqueue(store, spec(queue, lock_key="a"), spec(queue, lock_key="ab"))
    claim(store, queue)
    waits_a, waits_b = enqueue(store, spec(queue, lock_key="a"), spec(queue, lock_key="ab"))
    assert claim(store, queue) == []

    assert store.read_wait(queue, waits_a) == Wait(0, a)
    assert store.read_wait(queue, waits_b) == Wait(0, b)


def test_a_blocked_job_that_was_tried_before_is_found(store: Store) -> None:
    queue = new_queue()
    (tried,) = enqueue(store, spec(queue, lock_key="l"))
    finish(store, fail_and_retry(claim_one(store, queue)))
    (holder,) = enqueue(store, spec(queue, lock_key="l"))
    claim_one(store, queue)
    assert claim(store, queue, now=NOW + RETRY_DELAY_MS) == []

    assert store.read_wait(queue, tried) == Wait(0, holder)


def test_jobs_of_another_queue_with_the_same_lock_or_rate_are_not_before_it(store: Store) -> None:
    seldom = rate_key(Rate(1, 60_000), "k", {})
    queues, found = [new_queue() for _ in range(3)], []

    for queue in queues:
        locked = enqueue(store, *(spec(queue, lock_key="l") for _ in range(3)))
        limited = enqueue(store, *(spec(queue, rate_key=seldom) for _ in range(3)))
        assert {one.spec.id for one in claim(store, queue)} == {locked[0], limited[0]}
        found.append((locked, limited))

    for queue, (locked, limited) in zip(queues, found, strict=True):
        assert [store.read_wait(queue, one) for one in locked[1:]] == [Wait(0, locked[0]), Wait(1, locked[0])]
        assert [store.read_wait(queue, one) for one in limited[1:]] == [
            Wait(0, limited_until=NOW + 60_000),
            Wait(1, limited_until=NOW + 60_000),
        ]


def test_only_jobs_of_the_same_rate_are_before_a_limited_one_and_each_queue_says_its_own_time(store: Store) -> None:
    queue, later = new_queue(), new_queue()
    a, b = (rate_key(Rate(1, 60_000), name, {}) for name in ("a", "ab"))
    enqueue(store, *(spec(queue, rate_key=key) for key in (a, b)), spec(later, rate_key=a, now=NOW + 7))
    waiting = enqueue(store, *(spec(queue, rate_key=key) for key in (a, b)))
    (elsewhere,) = enqueue(store, spec(later, rate_key=a, now=NOW + 7))

    assert len(claim(store, queue)) == 2
    assert len(claim(store, later, now=NOW + 7)) == 1

    assert [store.read_wait(queue, one) for one in waiting] == [Wait(0, limited_until=NOW + 60_000)] * 2
    assert store.read_wait(later, elsewhere) == Wait(0, limited_until=NOW + 60_007)


def test_a_limited_job_names_also_who_has_taken_its_lock_meanwhile(store: Store) -> None:
    queue, seldom = new_queue(), rate_key(Rate(1, 60_000), "k", {})
    enqueue(store, spec(queue, rate_key=seldom))
    claim_one(store, queue)
    (waiting,) = enqueue(store, spec(queue, rate_key=seldom, lock_key="l"))
    assert claim(store, queue) == []
    (holder,) = enqueue(store, spec(queue, lock_key="l"))
    claim_one(store, queue)

    assert store.read_wait(queue, waiting) == Wait(0, holder, NOW + 60_000)
