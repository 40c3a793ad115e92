"""Giving jobs to nodes: in order, each to one node only, only when it is time."""

import random

import pytest

from rota.model.ids import new_id
from rota.model.job import MAX_PRIORITY, JobState, node_of_token, rank_of
from rota.store import Store
from tests.contract.building import (
    FAR_MS,
    NOW,
    RETRY_DELAY_MS,
    claim,
    claim_one,
    counts,
    enqueue,
    fail_and_retry,
    find,
    finish,
    given,
    interrupt,
    new_node,
    new_queue,
    spec,
    state_of,
    succeed,
    token_of,
)


def test_an_empty_queue_gives_nothing(store: Store) -> None:
    answer = store.claim_jobs(new_queue(), token=token_of(new_node()), limit=10, now=NOW)

    assert answer.claims == []
    assert answer.next_due is None
    assert answer.refused == frozenset()


def test_a_claim_of_nothing_is_not_to_be_made_again_at_once_although_jobs_are_ready(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))

    answer = store.claim_jobs(queue, token=token_of(new_node()), limit=0, now=NOW)

    assert (answer.claims, answer.next_due) == ([], None)


def test_a_claim_carries_the_job_and_its_token(store: Store) -> None:
    queue, node = new_queue(), new_node()
    job = spec(queue, priority=3, arguments={"a": [1]})
    enqueue(store, job)
    token = token_of(node)

    (claimed,) = store.claim_jobs(queue, token=token, limit=1, now=NOW).claims

    assert claimed.spec == job
    assert claimed.token == token
    assert (claimed.attempts, claimed.attempt, claimed.deaths) == (0, 1, 0)
    assert claimed.rank == rank_of(3, NOW)


def test_a_claimed_job_runs_and_names_its_node(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))

    claimed = claim_one(store, queue, node=node)

    found = find(store, claimed.spec.id)
    assert found.state is JobState.RUNNING
    assert (found.token, found.node) == (claimed.token, node)
    assert node_of_token(claimed.token) == node
    assert found.attempts == 1


def test_a_job_is_given_to_one_node_only(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, spec(queue), spec(queue))

    first, second = given(store, queue), given(store, queue)

    assert first == ids
    assert second == []


def test_a_node_is_given_no_more_than_it_asked_for(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, *[spec(queue) for _ in range(5)])

    assert given(store, queue, limit=2) == ids[:2]
    assert given(store, queue, limit=0) == []
    assert given(store, queue, limit=2) == ids[2:4]
    assert given(store, queue, limit=2) == ids[4:]


def test_a_queue_gives_only_its_own_jobs(store: Store) -> None:
    first, second = new_queue(), new_queue()
    (mine,) = enqueue(store, spec(first))
    (other,) = enqueue(store, spec(second))

    assert given(store, first) == [mine]
    assert given(store, second) == [other]


def test_equal_jobs_come_in_the_order_of_their_ids(store: Store) -> None:
    queue = new_queue()
    jobs = [spec(queue) for _ in range(50)]
    shuffled = random.Random(1).sample(jobs, len(jobs))

    enqueue(store, *shuffled[:20])
    enqueue(store, *shuffled[20:])

    assert given(store, queue) == [job.id for job in jobs]


def test_jobs_that_were_ready_earlier_come_first(store: Store) -> None:
    queue = new_queue()
    smaller_id = new_id(NOW)
    early, late = spec(queue), spec(queue, now=NOW + 1_000, job_id=smaller_id)

    enqueue(store, early, now=NOW)
    enqueue(store, late, now=NOW + 1_000)

    assert late.id < early.id
    assert given(store, queue, now=NOW + 1_000) == [early.id, late.id]


def test_a_higher_priority_comes_first(store: Store) -> None:
    queue = new_queue()
    priorities = [0, 5, -5, MAX_PRIORITY, 1, -MAX_PRIORITY, -1]
    jobs = {priority: spec(queue, priority=priority) for priority in priorities}
    enqueue(store, *jobs.values())

    order = given(store, queue)

    assert order == [jobs[priority].id for priority in sorted(priorities, reverse=True)]


def test_priority_beats_waiting_time(store: Store) -> None:
    queue = new_queue()
    next_year = NOW + 365 * 24 * 3_600_000
    patient, urgent = spec(queue), spec(queue, now=next_year, priority=1)

    enqueue(store, patient, now=NOW)
    enqueue(store, urgent, now=next_year)

    assert given(store, queue, now=next_year) == [urgent.id, patient.id]


def test_a_delayed_job_is_not_given_before_its_time(store: Store) -> None:
    queue = new_queue()
    (job_id,) = enqueue(store, spec(queue, run_at=NOW + 1_000))

    assert given(store, queue, now=NOW + 999) == []
    assert state_of(store, job_id) is JobState.DELAYED
    assert given(store, queue, now=NOW + 1_000) == [job_id]


def test_a_due_job_takes_its_place_by_the_time_it_became_ready(store: Store) -> None:
    queue = new_queue()
    (before,) = enqueue(store, spec(queue), now=NOW)
    (delayed,) = enqueue(store, spec(queue, run_at=NOW + 1_000), now=NOW)
    (after,) = enqueue(store, spec(queue, now=NOW + 2_000), now=NOW + 2_000)

    assert given(store, queue, now=NOW + 5_000) == [before, delayed, after]


def test_a_job_that_is_tried_again_takes_its_place_by_the_time_of_its_next_attempt(store: Store) -> None:
    queue = new_queue()
    (failing,) = enqueue(store, spec(queue))
    finish(store, fail_and_retry(claim_one(store, queue)))
    between = NOW + RETRY_DELAY_MS // 2
    (later,) = enqueue(store, spec(queue, now=between), now=between)

    assert given(store, queue, now=NOW + RETRY_DELAY_MS) == [later, failing]


def test_due_jobs_keep_their_priority(store: Store) -> None:
    queue = new_queue()
    (plain,) = enqueue(store, spec(queue))
    (urgent,) = enqueue(store, spec(queue, run_at=NOW + 1_000, priority=2))

    assert given(store, queue, now=NOW + 1_000) == [urgent, plain]


def test_a_due_job_that_was_not_given_is_queued(store: Store) -> None:
    queue = new_queue()
    first, second = enqueue(store, spec(queue, run_at=NOW + 16), spec(queue, run_at=NOW + 32))

    assert given(store, queue, limit=1, now=NOW + 1_000) == [first]

    assert state_of(store, second) is JobState.QUEUED
    assert counts(store, queue) == {JobState.RUNNING: 1, JobState.QUEUED: 1}


def test_a_claim_says_when_the_next_job_becomes_ready(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue, run_at=NOW + 5_001), spec(queue, run_at=NOW + 3_003), spec(queue))

    first = store.claim_jobs(queue, token=token_of(new_node()), limit=9, now=NOW)
    second = store.claim_jobs(queue, token=token_of(new_node()), limit=9, now=NOW + 3_003)
    third = store.claim_jobs(queue, token=token_of(new_node()), limit=9, now=NOW + 5_001)

    assert (len(first.claims), first.next_due) == (1, NOW + 3_003)
    assert (len(second.claims), second.next_due) == (1, NOW + 5_001)
    assert (len(third.claims), third.next_due) == (1, None)


def test_one_step_makes_a_thousand_delayed_jobs_ready_and_no_more(store: Store) -> None:
    queue, due = new_queue(), NOW + 1_000
    enqueue(store, *[spec(queue, run_at=due) for _ in range(1_500)])

    first = store.claim_jobs(queue, token=token_of(new_node()), limit=1, now=due)
    after_one = counts(store, queue)
    store.claim_jobs(queue, token=token_of(new_node()), limit=1, now=due)

    assert (len(first.claims), first.next_due) == (1, due)
    assert after_one == {JobState.DELAYED: 500, JobState.QUEUED: 999, JobState.RUNNING: 1}
    assert counts(store, queue) == {JobState.QUEUED: 1_498, JobState.RUNNING: 2}


def test_a_job_is_due_at_its_very_millisecond(store: Store) -> None:
    queue, due = new_queue(), NOW + 1_000
    (job_id,) = enqueue(store, spec(queue, run_at=due))

    assert given(store, queue, now=due - 1) == []
    assert state_of(store, job_id) is JobState.DELAYED
    assert given(store, queue, now=due) == [job_id]


# SQLite has no clock but the machine's, which its callers read.
@pytest.mark.stores("redis", "redis-cluster")
def test_a_caller_whose_clock_is_ahead_is_given_nothing_early(store: Store) -> None:
    queue, now = new_queue(), store.now()
    (job_id,) = enqueue(store, spec(queue, now=now, run_at=now + 3_600_000), now=now)

    assert given(store, queue, now=now + 24 * 3_600_000) == []

    assert state_of(store, job_id) is JobState.DELAYED


def test_the_next_attempt_counts_the_ones_before(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    now = NOW

    for used in range(3):
        claimed = claim_one(store, queue, now=now)
        assert (claimed.attempts, claimed.attempt) == (used, used + 1)
        assert find(store, claimed.spec.id).attempts == used + 1
        finish(store, fail_and_retry(claimed, now), now=now)
        now += RETRY_DELAY_MS

    assert claim_one(store, queue, now=now).attempts == 3


def test_an_interrupted_job_returns_to_its_place(store: Store) -> None:
    queue = new_queue()
    first, second = enqueue(store, spec(queue), spec(queue))
    (urgent,) = enqueue(store, spec(queue, priority=1))
    claims = claim(store, queue, limit=2)

    finish(store, *[interrupt(each, NOW + 60_000) for each in claims], now=NOW + 60_000)

    assert given(store, queue, now=NOW + 60_000) == [urgent, first, second]


def test_two_claims_of_one_node_have_their_own_tokens(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue), spec(queue))

    first, second = claim_one(store, queue, node=node), claim_one(store, queue, node=node)

    assert first.token != second.token
    assert finish(store, succeed(second), succeed(first)) == frozenset()


def test_the_time_may_jump_back_between_claims(store: Store) -> None:
    queue = new_queue()
    first, second = enqueue(store, spec(queue), spec(queue))

    assert given(store, queue, limit=1, now=NOW + FAR_MS) == [first]
    assert given(store, queue, limit=1, now=NOW - FAR_MS) == [second]
