"""Cancelling: waiting jobs at once, running ones through their node, ended ones not at all."""

from collections.abc import Callable

import pytest

from rota.model.ids import new_id
from rota.model.job import Claim, JobState
from rota.model.runs.outcome import cancelled
from rota.model.runs.settlement import Settlement
from rota.store import Store
from rota.store.contract.jobs import CancelAnswer, JobQuery
from tests.contract.building import (
    FAR_MS,
    LATER,
    NOW,
    claim,
    claim_one,
    counts,
    die,
    ended_job,
    enqueue,
    fail_and_retry,
    find,
    finish,
    given,
    interrupt,
    listed,
    new_node,
    new_queue,
    reclaim,
    renew,
    settled,
    spec,
    state_of,
    succeed,
)


def test_a_queued_job_is_cancelled_at_once(store: Store) -> None:
    queue = new_queue()
    (job_id,) = enqueue(store, spec(queue))

    assert store.cancel_jobs([job_id], now=NOW + 5) == [CancelAnswer.CANCELLED]

    found = find(store, job_id)
    assert (found.state, found.ended_at, found.started_at, found.token) == (JobState.CANCELLED, NOW + 5, None, "")
    assert found.attempts == 0
    assert given(store, queue, now=NOW + FAR_MS) == []


def test_a_delayed_job_is_cancelled_at_once(store: Store) -> None:
    queue = new_queue()
    (job_id,) = enqueue(store, spec(queue, run_at=NOW + 1_000))

    assert store.cancel_jobs([job_id], now=NOW) == [CancelAnswer.CANCELLED]

    assert state_of(store, job_id) is JobState.CANCELLED
    assert given(store, queue, now=NOW + FAR_MS) == []


def test_a_job_between_two_attempts_is_cancelled_at_once(store: Store) -> None:
    queue = new_queue()
    (job_id,) = enqueue(store, spec(queue))
    finish(store, fail_and_retry(claim_one(store, queue)))

    assert store.cancel_jobs([job_id], now=NOW) == [CancelAnswer.CANCELLED]

    found = find(store, job_id)
    assert (found.state, found.attempts) == (JobState.CANCELLED, 1)
    assert given(store, queue, now=NOW + FAR_MS) == []


def test_a_job_that_is_cancelled_after_a_death_keeps_it(store: Store) -> None:
    queue, node = new_queue(), new_node()
    (job_id,) = enqueue(store, spec(queue))
    reclaim(store, die(claim_one(store, queue, node=node)))

    store.cancel_jobs([job_id], now=LATER)

    ended = find(store, job_id)
    assert (ended.state, ended.attempts, ended.deaths) == (JobState.CANCELLED, 0, 1)


def test_a_job_that_waits_for_a_lock_is_cancelled_at_once(store: Store) -> None:
    queue = new_queue()
    _first, second = enqueue(store, spec(queue, lock_key="l"), spec(queue, lock_key="l"))
    holder, *_ = claim(store, queue)
    claim(store, queue)

    assert store.cancel_jobs([second], now=NOW) == [CancelAnswer.CANCELLED]
    finish(store, succeed(holder))

    assert given(store, queue) == []
    assert counts(store, queue) == {JobState.SUCCEEDED: 1, JobState.CANCELLED: 1}


def test_a_cancelled_job_is_no_longer_the_next_due(store: Store) -> None:
    queue = new_queue()
    first, _second = enqueue(store, spec(queue, run_at=NOW + 1_000), spec(queue, run_at=NOW + 2_000))

    store.cancel_jobs([first], now=NOW)

    answer = store.claim_jobs(queue, token="n/1", limit=1, now=NOW)
    assert answer.next_due == NOW + 2_000


def test_a_running_job_is_marked_and_goes_on(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)

    assert store.cancel_jobs([claimed.spec.id], now=NOW) == [CancelAnswer.REQUESTED]
    assert store.cancel_jobs([claimed.spec.id], now=NOW) == [CancelAnswer.REQUESTED]

    found = find(store, claimed.spec.id)
    assert (found.state, found.cancel_requested, found.token) == (JobState.RUNNING, True, claimed.token)


def test_the_node_hears_of_it_at_every_renewal(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue), spec(queue))
    wanted, other = claim(store, queue, node=node)
    store.cancel_jobs([wanted.spec.id], now=NOW)

    for _ in range(2):
        renewal = renew(store, queue, node, wanted, other)
        assert (renewal.cancelled, renewal.lost) == ([wanted.spec.id], [])


def test_a_node_does_not_hear_of_jobs_that_others_hold(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue), spec(queue))
    mine, other = claim_one(store, queue, node=node), claim_one(store, queue)
    store.cancel_jobs([other.spec.id], now=NOW)

    renewal = renew(store, queue, node, mine)

    assert (renewal.cancelled, renewal.lost) == ([], [])


def test_a_node_ends_the_job_that_it_was_asked_to_cancel(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    store.cancel_jobs([claimed.spec.id], now=NOW)

    assert finish(store, settled(claimed, cancelled("half"), NOW + 9), now=NOW + 9) == frozenset()

    found = find(store, claimed.spec.id)
    assert (found.state, found.results, found.ended_at) == (JobState.CANCELLED, "half", NOW + 9)


def test_a_job_that_succeeds_before_its_node_hears_of_it_has_succeeded(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    store.cancel_jobs([claimed.spec.id], now=NOW)

    assert finish(store, succeed(claimed)) == frozenset()

    assert state_of(store, claimed.spec.id) is JobState.SUCCEEDED


RETURNS: dict[str, Callable[[Claim], Settlement]] = {
    "is interrupted": interrupt,
    "fails and has another attempt": fail_and_retry,
}


@pytest.mark.parametrize("settle", RETURNS.values(), ids=RETURNS.keys())
def test_the_request_takes_effect_when_the_job(store: Store, settle: Callable[[Claim], Settlement]) -> None:
    queue = new_queue()
    enqueue(store, spec(queue, lock_key="l", unique_key="u"), spec(queue, lock_key="l"))
    claimed = claim_one(store, queue)
    store.cancel_jobs([claimed.spec.id], now=NOW)

    assert finish(store, settle(claimed), now=NOW + 3) == frozenset()

    found = find(store, claimed.spec.id)
    next_one, same_key = claim_one(store, queue), spec(queue, unique_key="u")
    assert (found.state, found.ended_at) == (JobState.CANCELLED, NOW + 3)
    assert next_one.spec.lock_key == "l"
    assert enqueue(store, same_key) == [same_key.id]


@pytest.mark.parametrize("settle", RETURNS.values(), ids=RETURNS.keys())
def test_in_history_the_job_has_its_place_by_when_it_ended(store: Store, settle: Callable[[Claim], Settlement]) -> None:
    queue = new_queue()
    first, second, third = enqueue(store, spec(queue), spec(queue, priority=1), spec(queue))
    claimed = claim_one(store, queue)
    store.cancel_jobs([first], now=NOW + 1)
    store.cancel_jobs([second], now=NOW + 1)
    finish(store, settle(claimed), now=NOW + 3)
    store.cancel_jobs([third], now=NOW + 5)

    history = JobQuery(queue=queue, states=frozenset({JobState.CANCELLED}))
    assert listed(store, history) == [third, second, first]


def test_the_request_takes_effect_when_the_node_dies(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    store.cancel_jobs([claimed.spec.id], now=NOW)
    later = LATER

    assert reclaim(store, die(claimed, later), now=later) == frozenset()

    assert state_of(store, claimed.spec.id) is JobState.CANCELLED
    assert given(store, queue, now=later) == []


def test_a_repeated_return_of_a_cancelled_job_is_not_refused(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    settlement = interrupt(claim_one(store, queue))
    store.cancel_jobs([settlement.claim.spec.id], now=NOW)
    finish(store, settlement)

    assert finish(store, settlement) == frozenset()

    assert counts(store, queue) == {JobState.CANCELLED: 1}


def test_the_request_takes_effect_when_the_claim_is_recovered(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue, lock_key="l", unique_key="u"), spec(queue, lock_key="l"))
    claimed = claim_one(store, queue, node=node)
    store.cancel_jobs([claimed.spec.id], now=NOW)

    store.recover_claims(queue, node, {}, floor=0, now=NOW + 3)

    found, same_key = find(store, claimed.spec.id), spec(queue, unique_key="u")
    assert (found.state, found.attempts, found.ended_at) == (JobState.CANCELLED, 0, NOW + 3)
    assert claim_one(store, queue).spec.lock_key == "l"
    assert enqueue(store, same_key) == [same_key.id]


@pytest.mark.parametrize("state", [JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED])
def test_an_ended_job_stays_as_it_is(store: Store, state: JobState) -> None:
    job_id = ended_job(store, new_queue(), state)
    before = find(store, job_id)

    assert store.cancel_jobs([job_id], now=NOW + 5) == [CancelAnswer.FINAL]

    assert find(store, job_id) == before


def test_there_is_one_answer_per_id_in_order(store: Store) -> None:
    first, second = new_queue(), new_queue()
    ended = ended_job(store, first, JobState.SUCCEEDED)
    (running,) = enqueue(store, spec(first))
    claim_one(store, first)
    (delayed,) = enqueue(store, spec(second, run_at=NOW + 1))
    (queued,) = enqueue(store, spec(first))

    answers = store.cancel_jobs([new_id(NOW), queued, ended, running, delayed], now=NOW)

    assert answers == [
        CancelAnswer.UNKNOWN,
        CancelAnswer.CANCELLED,
        CancelAnswer.FINAL,
        CancelAnswer.REQUESTED,
        CancelAnswer.CANCELLED,
    ]


def test_cancelling_nothing_answers_nothing(store: Store) -> None:
    assert store.cancel_jobs([], now=NOW) == []


def test_many_jobs_are_cancelled_in_one_call(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, *[spec(queue) for _ in range(2_000)])

    answers = store.cancel_jobs(ids, now=NOW)

    assert answers == [CancelAnswer.CANCELLED] * len(ids)
    assert counts(store, queue) == {JobState.CANCELLED: len(ids)}


@pytest.mark.parametrize("way", ["recover", "leave"])
def test_a_lost_claim_that_was_cancelled_is_history_like_any_other(store: Store, way: str) -> None:
    queue, node = new_queue(), new_node()
    (job_id,) = enqueue(store, spec(queue))
    claim_one(store, queue, node=node)
    store.cancel_jobs([job_id], now=NOW)

    if way == "recover":
        store.recover_claims(queue, node, {}, floor=0, now=NOW)
    else:
        store.leave_queue(queue, node, floor=0, now=NOW)

    assert counts(store, queue) == {JobState.CANCELLED: 1}
    assert store.retry_jobs([job_id], now=NOW) == [True]
    assert counts(store, queue) == {JobState.QUEUED: 1}
