"""Attempts that failed stay with their job, with times and errors, until it is forgotten or brought back as new."""

from msgspec import structs

from rota.model.job import MAX_PAST, MAX_PAST_ERROR, JobState, PastAttempt, node_of_token
from rota.model.runs.outcome import failed
from rota.model.runs.retry import RetryPolicy
from rota.store import Store
from tests.contract.building import (
    LATER,
    NOW,
    RETRY_DELAY_MS,
    claim_one,
    claims_of,
    die,
    enqueue,
    fail,
    fail_and_retry,
    find,
    finish,
    interrupt,
    new_node,
    new_queue,
    reclaim,
    settled,
    spec,
    succeed,
)

THEN = NOW + RETRY_DELAY_MS


def test_a_job_that_succeeds_at_once_has_no_past(store: Store) -> None:
    queue = new_queue()
    (job,) = enqueue(store, spec(queue))
    finish(store, succeed(claim_one(store, queue)))

    assert find(store, job).past == ()


def test_an_attempt_that_failed_is_kept_while_the_next_one_waits_runs_and_is_over(store: Store) -> None:
    queue, node = new_queue(), new_node()
    (job,) = enqueue(store, spec(queue))
    finish(store, fail_and_retry(claim_one(store, queue, node=node)))
    expected = (PastAttempt(number=1, started_at=NOW, ended_at=NOW, node=node, error="try again"),)

    waiting = find(store, job)
    claim = claim_one(store, queue, now=THEN)
    running = find(store, job)
    finish(store, succeed(claim, THEN))
    ended = find(store, job)

    assert [one.past for one in (waiting, running, ended)] == [expected] * 3
    assert claim.past == expected
    assert ended.state is JobState.SUCCEEDED


def test_each_attempt_is_kept_and_the_last_one_is_the_ending(store: Store) -> None:
    queue = new_queue()
    (job,) = enqueue(store, spec(queue))
    finish(store, fail_and_retry(claim_one(store, queue)))
    finish(store, fail_and_retry(claim_one(store, queue, now=THEN), THEN))
    finish(store, fail(claim_one(store, queue, now=LATER), LATER, "for good"))

    found = find(store, job)

    assert [(one.number, one.ended_at, one.error) for one in found.past] == [
        (1, NOW, "try again"),
        (2, THEN, "try again"),
    ]
    assert (found.attempts, found.errors) == (3, "for good")


def test_a_death_is_kept_without_counting_as_an_attempt(store: Store) -> None:
    queue, node = new_queue(), new_node()
    (job,) = enqueue(store, spec(queue))
    reclaim(store, die(claim_one(store, queue, node=node), LATER))

    found = find(store, job)

    assert found.past == (PastAttempt(number=1, ended_at=LATER, node=node, error="its node died"),)
    assert (found.state, found.attempts, found.deaths) == (JobState.QUEUED, 0, 1)


def test_a_graceful_stop_neither_adds_to_the_past_nor_forgets_it(store: Store) -> None:
    queue = new_queue()
    (job,) = enqueue(store, spec(queue))
    finish(store, fail_and_retry(claim_one(store, queue)))
    finish(store, interrupt(claim_one(store, queue, now=THEN), THEN))

    assert [one.number for one in find(store, job).past] == [1]


def test_the_claims_of_a_dead_node_know_the_past_of_their_jobs(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    finish(store, fail_and_retry(claim_one(store, queue)))
    claim_one(store, queue, node=node, now=THEN)

    (claim,) = claims_of(store, queue, node)

    assert [one.error for one in claim.past] == ["try again"]


def test_a_returning_job_that_is_cancelled_keeps_its_past(store: Store) -> None:
    queue = new_queue()
    (job,) = enqueue(store, spec(queue))
    claim = claim_one(store, queue)
    store.cancel_jobs([job], now=NOW)
    finish(store, fail_and_retry(claim))

    found = find(store, job)

    assert (found.state, [one.error for one in found.past]) == (JobState.CANCELLED, ["try again"])


def test_a_job_that_is_brought_back_is_new(store: Store) -> None:
    queue = new_queue()
    (job,) = enqueue(store, spec(queue))
    finish(store, fail_and_retry(claim_one(store, queue)))
    finish(store, fail(claim_one(store, queue, now=THEN), THEN))
    assert store.retry_jobs([job], now=LATER) == [True]

    assert find(store, job).past == ()
    assert claim_one(store, queue, now=LATER).past == ()


def test_the_past_is_bounded(store: Store) -> None:
    queue = new_queue()
    (job,) = enqueue(store, spec(queue))
    long = tuple(PastAttempt(number=n, ended_at=NOW, error="e") for n in range(1, MAX_PAST + 1))
    claim = structs.replace(claim_one(store, queue), past=long, attempts=MAX_PAST)
    policy = RetryPolicy(attempts=100, jitter=0)
    finish(store, settled(claim, failed("x" * 10_000), policy=policy))

    found = find(store, job).past

    assert len(found) == MAX_PAST
    assert (found[-1].number, len(found[-1].error)) == (MAX_PAST + 1, MAX_PAST_ERROR)
    assert found[-1].node == node_of_token(claim.token)
