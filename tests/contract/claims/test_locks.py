"""Lock keys: at most one job with a key runs at a time in its queue, the others wait in order."""

from collections.abc import Callable

import pytest

from rota.model.job import MAX_PRIORITY, Claim, JobState, rank_of
from rota.model.runs.settlement import Settlement
from rota.store import Store
from rota.store.contract.claims import MAX_SCANNED
from rota.store.contract.jobs import JobQuery
from tests.contract.building import (
    LATER,
    NOW,
    claim,
    claim_one,
    claims_of,
    counts,
    die,
    enqueue,
    fail,
    fail_and_retry,
    finish,
    given,
    interrupt,
    listed,
    new_node,
    new_queue,
    reclaim,
    spec,
    state_of,
    states_of,
    succeed,
    token_of,
)

Settle = Callable[[Claim], Settlement]


def test_one_job_with_a_lock_runs_at_a_time(store: Store) -> None:
    queue = new_queue()
    first, second = enqueue(store, spec(queue, lock_key="l"), spec(queue, lock_key="l"))

    assert given(store, queue) == [first]
    assert given(store, queue) == []
    assert states_of(store, [first, second]) == [JobState.RUNNING, JobState.QUEUED]


def test_jobs_with_different_locks_or_none_run_together(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, spec(queue, lock_key="a"), spec(queue, lock_key="b"), spec(queue), spec(queue))

    assert given(store, queue) == ids


def test_the_same_lock_in_another_queue_is_another_lock(store: Store) -> None:
    first, second = new_queue(), new_queue()
    (mine,) = enqueue(store, spec(first, lock_key="l"))
    (other,) = enqueue(store, spec(second, lock_key="l"))

    assert given(store, first) == [mine]
    assert given(store, second) == [other]


def test_a_lock_that_becomes_free_is_for_the_jobs_of_its_own_queue(store: Store) -> None:
    """Whichever of them waited first."""
    queues = [new_queue() for _ in range(3)]
    held = {}
    for queue in queues:
        enqueue(store, *(spec(queue, lock_key="l") for _ in range(2)))
        (held[queue],) = claim(store, queue)

    finish(store, succeed(held[queues[1]]))

    assert [len(given(store, queue)) for queue in queues] == [0, 1, 0]
    for queue in (queues[0], queues[2]):
        finish(store, succeed(held[queue]))
        assert len(given(store, queue)) == 1


def test_a_job_behind_a_lock_does_not_hold_up_others(store: Store) -> None:
    queue = new_queue()
    holder, *blocked = enqueue(store, *[spec(queue, lock_key="l") for _ in range(200)])
    (free,) = enqueue(store, spec(queue, now=NOW + 1_000), now=NOW + 1_000)

    assert given(store, queue, limit=1) == [holder]
    assert given(store, queue, limit=1, now=NOW + 1_000) == [free]
    assert set(states_of(store, blocked)) == {JobState.QUEUED}


def test_many_jobs_behind_a_lock_hold_up_others_for_some_claims_at_most(store: Store) -> None:
    queue, many = new_queue(), 2_500
    enqueue(store, spec(queue, lock_key="l"))
    claim_one(store, queue)
    enqueue(store, *(spec(queue, lock_key="l") for _ in range(many)))
    (free,) = enqueue(store, spec(queue))

    asked = [given(store, queue, limit=10) for _ in range(many // MAX_SCANNED + 1)]

    assert [job_id for ids in asked for job_id in ids] == [free]
    assert counts(store, queue) == {JobState.RUNNING: 2, JobState.QUEUED: many}


def test_a_claim_looks_at_a_thousand_jobs_and_asks_for_another(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue, lock_key="l"))
    claim_one(store, queue)
    enqueue(store, *(spec(queue, lock_key="l") for _ in range(1_000)))
    (free,) = enqueue(store, spec(queue, priority=-1))

    first, second = (store.claim_jobs(queue, token=token_of(new_node()), limit=1, now=NOW) for _ in range(2))

    assert (first.claims, first.next_due) == ([], NOW)
    assert ([one.spec.id for one in second.claims], second.next_due) == ([free], None)


def test_a_limit_is_filled_with_jobs_that_can_run(store: Store) -> None:
    queue = new_queue()
    a1, _a2, b1, _b2, plain = enqueue(
        store,
        spec(queue, lock_key="a"),
        spec(queue, lock_key="a"),
        spec(queue, lock_key="b"),
        spec(queue, lock_key="b"),
        spec(queue),
    )

    assert given(store, queue, limit=3) == [a1, b1, plain]


ENDS: dict[str, Settle] = {"succeeds": succeed, "fails": fail, "is retried": fail_and_retry}


@pytest.mark.parametrize("settle", ENDS.values(), ids=ENDS.keys())
def test_the_next_job_is_ready_at_once_when_the_holder(store: Store, settle: Settle) -> None:
    queue = new_queue()
    _first, second, third = enqueue(store, *[spec(queue, lock_key="l") for _ in range(3)])
    (holder,) = claim(store, queue)

    finish(store, settle(holder))

    assert given(store, queue) == [second]
    assert state_of(store, third) is JobState.QUEUED


def test_a_lock_that_becomes_free_is_that_of_the_next_job_and_of_no_other(store: Store) -> None:
    queue, other = new_queue(), new_queue()
    enqueue(store, *[spec(queue, lock_key=key) for key in ("a", "b", "b")])
    (second_a,) = enqueue(store, spec(queue, lock_key="a"))
    enqueue(store, spec(other, lock_key="a"), spec(other, lock_key="a"))
    first_a, first_b = claim(store, queue)
    claim_one(store, other)
    assert given(store, other) == []

    finish(store, succeed(first_a))

    assert given(store, queue) == [second_a]
    assert given(store, other) == []
    assert first_b.spec.lock_key == "b"


def test_an_interrupted_holder_is_first_in_line_for_its_lock(store: Store) -> None:
    queue = new_queue()
    first, second = enqueue(store, spec(queue, lock_key="l"), spec(queue, lock_key="l"))
    (holder,) = claim(store, queue)

    finish(store, interrupt(holder))

    assert given(store, queue) == [first]
    assert state_of(store, second) is JobState.QUEUED


Lose = Callable[[Store, Claim], object]
RETURNS: dict[str, Lose] = {
    "is interrupted": lambda store, held: finish(store, interrupt(held)),
    "is recovered": lambda store, held: store.recover_claims(held.spec.queue, "node", {}, floor=0, now=NOW),
    "is left by its node": lambda store, held: store.leave_queue(held.spec.queue, "node", floor=0, now=NOW),
    "loses its node": lambda store, held: reclaim(store, die(held)),
}


@pytest.mark.parametrize("lose", RETURNS.values(), ids=RETURNS.keys())
def test_a_more_urgent_job_in_line_goes_first_when_the_holder(store: Store, lose: Lose) -> None:
    queue = new_queue()
    (first,) = enqueue(store, spec(queue, lock_key="l"))
    holder = claim_one(store, queue, node="node")
    (urgent,) = enqueue(store, spec(queue, lock_key="l", priority=5))
    assert given(store, queue) == []

    lose(store, holder)

    (next_holder,) = claim(store, queue)
    assert next_holder.spec.id == urgent
    finish(store, succeed(next_holder))
    assert given(store, queue) == [first]


@pytest.mark.parametrize("lose", RETURNS.values(), ids=RETURNS.keys())
def test_the_next_in_line_runs_when_the_holder_whose_cancellation_was_asked_for(store: Store, lose: Lose) -> None:
    queue = new_queue()
    first, second = enqueue(store, spec(queue, lock_key="l"), spec(queue, lock_key="l"))
    holder = claim_one(store, queue, node="node")
    assert given(store, queue) == []
    store.cancel_jobs([first], now=NOW)

    lose(store, holder)

    assert state_of(store, first) is JobState.CANCELLED
    assert given(store, queue) == [second]


def test_the_waiting_jobs_run_one_after_the_other_in_order(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, *[spec(queue, lock_key="l") for _ in range(10)])

    order: list[str] = []
    while claims := claim(store, queue):
        assert len(claims) == 1
        order.append(claims[0].spec.id)
        finish(store, succeed(claims[0]))

    assert order == ids


def test_a_higher_priority_comes_first_among_those_that_wait(store: Store) -> None:
    queue = new_queue()
    first, second = enqueue(store, spec(queue, lock_key="l"), spec(queue, lock_key="l"))
    (holder,) = claim(store, queue)
    assert given(store, queue) == []
    (urgent,) = enqueue(store, spec(queue, lock_key="l", priority=1))
    assert given(store, queue) == []

    finish(store, succeed(holder))
    (next_holder,) = claim(store, queue)
    finish(store, succeed(next_holder))

    assert holder.spec.id == first
    assert next_holder.spec.id == urgent
    assert given(store, queue) == [second]


def test_a_job_set_aside_keeps_its_place_among_all(store: Store) -> None:
    queue = new_queue()
    _first, second = enqueue(store, spec(queue, lock_key="l"), spec(queue, lock_key="l"))
    (holder,) = claim(store, queue)
    assert given(store, queue) == []
    (later,) = enqueue(store, spec(queue, now=NOW + 1_000), now=NOW + 1_000)

    finish(store, succeed(holder, NOW + 2_000), now=NOW + 2_000)

    assert given(store, queue, now=NOW + 2_000) == [second, later]


def test_a_cancelled_job_in_line_lets_the_next_one_run(store: Store) -> None:
    queue = new_queue()
    _first, second, third = enqueue(store, *[spec(queue, lock_key="l") for _ in range(3)])
    (holder,) = claim(store, queue)
    assert given(store, queue) == []

    store.cancel_jobs([second], now=NOW)
    finish(store, succeed(holder))

    assert given(store, queue) == [third]
    assert state_of(store, second) is JobState.CANCELLED


def test_the_next_one_runs_when_the_job_that_came_after_the_holder_is_cancelled(store: Store) -> None:
    queue = new_queue()
    _first, second, third = enqueue(store, *[spec(queue, lock_key="l") for _ in range(3)])
    (holder,) = claim(store, queue)
    assert given(store, queue) == []
    finish(store, succeed(holder))

    store.cancel_jobs([second], now=NOW)

    assert given(store, queue) == [third]


def test_jobs_in_line_survive_a_newcomer_that_overtakes_them(store: Store) -> None:
    queue = new_queue()
    _first, second, third = enqueue(store, *[spec(queue, lock_key="l") for _ in range(3)])
    (holder,) = claim(store, queue)
    assert given(store, queue) == []
    finish(store, succeed(holder))
    (urgent,) = enqueue(store, spec(queue, lock_key="l", priority=5))

    order: list[str] = []
    while claims := claim(store, queue):
        order.append(claims[0].spec.id)
        finish(store, succeed(claims[0]))

    assert order == [urgent, second, third]


def test_a_delayed_job_waits_for_the_lock_when_it_is_due(store: Store) -> None:
    queue = new_queue()
    (delayed,) = enqueue(store, spec(queue, lock_key="l", run_at=NOW + 1_000))
    enqueue(store, spec(queue, lock_key="l"))
    (holder,) = claim(store, queue)

    assert given(store, queue, now=NOW + 1_000) == []
    assert state_of(store, delayed) is JobState.QUEUED
    finish(store, succeed(holder, NOW + 1_001), now=NOW + 1_001)
    assert given(store, queue, now=NOW + 1_001) == [delayed]


def test_a_delayed_job_does_not_hold_its_lock(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue, lock_key="l", run_at=NOW + 1_000))
    (ready,) = enqueue(store, spec(queue, lock_key="l"))

    assert given(store, queue) == [ready]


def test_a_refused_settlement_does_not_free_the_lock(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue, lock_key="l"), spec(queue, lock_key="l"))
    (old,) = claim(store, queue)
    finish(store, interrupt(old))
    (new,) = claim(store, queue)

    assert finish(store, succeed(old)) == {old.spec.id}

    assert given(store, queue) == []
    assert finish(store, succeed(new)) == frozenset()


def test_a_repeated_settlement_does_not_free_the_lock_of_the_next_holder(store: Store) -> None:
    queue = new_queue()
    _first, second, third = enqueue(store, *[spec(queue, lock_key="l") for _ in range(3)])
    (holder,) = claim(store, queue)
    finish(store, succeed(holder))
    assert given(store, queue) == [second]

    finish(store, succeed(holder))

    assert given(store, queue) == []
    assert state_of(store, third) is JobState.QUEUED


def test_the_lock_of_a_dead_node_goes_to_the_next_job(store: Store) -> None:
    queue, node = new_queue(), new_node()
    first, second = enqueue(store, spec(queue, lock_key="l"), spec(queue, lock_key="l"))
    claim_one(store, queue, node=node)
    (lost,) = claims_of(store, queue, node)

    reclaim(store, die(lost, LATER))

    assert given(store, queue, now=LATER) == [first]
    assert given(store, queue, now=LATER) == []
    assert state_of(store, second) is JobState.QUEUED


def test_the_lock_of_a_recovered_job_is_free(store: Store) -> None:
    queue, node = new_queue(), new_node()
    first, second = enqueue(store, spec(queue, lock_key="l"), spec(queue, lock_key="l"))
    claim_one(store, queue, node=node)
    assert given(store, queue) == []

    assert store.recover_claims(queue, node, {}, floor=0, now=NOW) == 1

    (again,) = claim(store, queue)
    assert again.spec.id == first
    finish(store, succeed(again))
    assert given(store, queue) == [second]


def test_a_retried_job_waits_for_its_lock(store: Store) -> None:
    queue = new_queue()
    first, second = enqueue(store, spec(queue, lock_key="l"), spec(queue, lock_key="l"))
    finish(store, fail(claim_one(store, queue)))
    (holder,) = claim(store, queue)

    assert store.retry_jobs([first], now=NOW) == [True]

    assert holder.spec.id == second
    assert given(store, queue) == []
    finish(store, succeed(holder))
    assert given(store, queue) == [first]


def test_a_paused_queue_keeps_its_jobs_in_line(store: Store) -> None:
    queue = new_queue()
    _first, second, third = enqueue(store, *[spec(queue, lock_key="l") for _ in range(3)])
    (holder,) = claim(store, queue)
    assert given(store, queue) == []
    store.pause_queue(queue)
    finish(store, succeed(holder))

    assert given(store, queue) == []
    store.resume_queue(queue)

    (claimed,) = claim(store, queue)
    assert claimed.spec.id == second
    finish(store, succeed(claimed))
    assert given(store, queue) == [third]


def test_many_jobs_in_line_are_listed_by_rank_each_once(store: Store) -> None:
    queue, many = new_queue(), 2_100
    locks = ("a", "b", "c")
    for lock in locks:
        enqueue(store, spec(queue, lock_key=lock))
    claim(store, queue)
    specs = [spec(queue, lock_key=locks[n % 3], priority=n % 7) for n in range(many)]
    enqueue(store, *specs)
    for _ in range(many // MAX_SCANNED + 1):
        assert claim(store, queue) == []

    found = listed(store, JobQuery(queue=queue, states=frozenset({JobState.QUEUED})), limit=1_000)

    assert found == [one.id for one in sorted(specs, key=lambda one: (-one.priority, one.id))]


def test_jobs_in_line_are_counted_as_queued(store: Store) -> None:
    queue = new_queue()
    enqueue(store, *[spec(queue, lock_key="l") for _ in range(5)])
    claim(store, queue)
    claim(store, queue)

    assert counts(store, queue) == {JobState.RUNNING: 1, JobState.QUEUED: 4}


@pytest.mark.parametrize("priority", [0, 1, -1, MAX_PRIORITY, -MAX_PRIORITY])
def test_a_job_that_waited_for_a_lock_keeps_its_exact_rank(store: Store, priority: int) -> None:
    queue = new_queue()
    enqueue(store, spec(queue, lock_key="l", priority=MAX_PRIORITY))
    (holder,) = claim(store, queue)
    times = [NOW + 16 * step for step in range(1, 5)]
    for time in times:
        enqueue(store, spec(queue, now=time, lock_key="l", priority=priority), now=time)
    assert given(store, queue, now=times[-1]) == []

    ranks: list[int] = []
    finish(store, succeed(holder))
    while claims := claim(store, queue, now=times[-1]):
        ranks += [each.rank for each in claims]
        finish(store, succeed(claims[0]))

    assert ranks == [rank_of(priority, time) for time in times]


def test_lock_keys_of_any_characters_are_told_apart(store: Store) -> None:
    queue = new_queue()
    keys = ["k", "K", " k", "k ", "k:", "{k}", "k\x00", "k\x00\x00", "k\x01", "k\n", "%", "ключ", '{"a":1}', "x" * 512]
    firsts = enqueue(store, *[spec(queue, lock_key=key) for key in keys])
    seconds = enqueue(store, *[spec(queue, lock_key=key) for key in keys])
    claims = claim(store, queue)
    assert given(store, queue) == []

    given_after_each: list[list[str]] = []
    for each in claims:
        finish(store, succeed(each))
        given_after_each.append(given(store, queue))

    assert [each.spec.id for each in claims] == firsts
    assert given_after_each == [[second] for second in seconds]
