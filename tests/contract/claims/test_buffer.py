"""Jobs that a node claims ahead wait in its buffer. They are the node's, and queued to everybody else."""

from rota.model.job import JobState
from rota.model.job_type import OnNodeDeath
from rota.store import Store
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
    find,
    finish,
    given,
    interrupt,
    listed,
    new_node,
    new_queue,
    reclaim,
    renew,
    spec,
    state_of,
    succeed,
    token_of,
)

QUEUED = JobQuery(states=frozenset({JobState.QUEUED}))
RUNNING = JobQuery(states=frozenset({JobState.RUNNING}))


def test_only_those_that_begin_at_once_run(store: Store) -> None:
    queue = new_queue()
    first, second, third, fourth = enqueue(store, *(spec(queue) for _ in range(4)))

    claims = store.claim_jobs(queue, token=token_of(new_node()), limit=3, now=NOW, begin=1).claims

    assert [one.spec.id for one in claims] == [first, second, third]
    assert [one.is_begun for one in claims] == [True, False, False]
    assert counts(store, queue) == {JobState.RUNNING: 1, JobState.QUEUED: 3}
    assert listed(store, JobQuery(queue=queue, states=QUEUED.states)) == [second, third, fourth]
    assert listed(store, JobQuery(queue=queue, states=RUNNING.states)) == [first]
    assert listed(store, JobQuery(queue=queue), limit=1) == [second, third, fourth, first]
    assert given(store, queue) == [fourth]


def test_no_more_begin_than_was_said_although_some_that_were_looked_at_had_to_wait(store: Store) -> None:
    queue = new_queue()
    locked = [spec(queue, lock_key="l") for _ in range(2)]
    ids = enqueue(store, *locked, *(spec(queue) for _ in range(3)))

    claims = store.claim_jobs(queue, token=token_of(new_node()), limit=3, now=NOW, begin=1).claims

    assert [one.spec.id for one in claims] == [ids[0], *ids[2:4]]
    assert [one.is_begun for one in claims] == [True, False, False]
    assert counts(store, queue) == {JobState.RUNNING: 1, JobState.QUEUED: 4}


def test_a_buffered_job_looks_like_any_that_waits(store: Store) -> None:
    queue = new_queue()
    (job_id,) = enqueue(store, spec(queue))

    store.claim_jobs(queue, token=token_of(new_node()), limit=1, now=NOW, begin=0)

    job = find(store, job_id)
    assert (job.state, job.attempts, job.deaths, job.started_at) == (JobState.QUEUED, 0, 0, None)


def test_a_buffered_claim_that_is_looked_up_has_begun_at_no_time(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue), spec(queue))
    store.claim_jobs(queue, token=token_of(node), limit=2, now=NOW, begin=1)

    found = store.claims_of_node(queue, node, limit=4)

    assert {(one.is_begun, one.began_at) for one in found} == {(True, NOW), (False, None)}


def test_a_buffered_job_runs_when_it_is_said_to_have_begun(store: Store) -> None:
    queue = new_queue()
    (job_id,) = enqueue(store, spec(queue))
    (claimed,) = store.claim_jobs(queue, token=token_of(new_node()), limit=1, now=NOW, begin=0).claims

    store.begin_jobs(queue, [claimed], now=LATER)
    store.begin_jobs(queue, [claimed], now=LATER)

    job = find(store, job_id)
    assert (job.state, job.attempts, job.started_at) == (JobState.RUNNING, 1, LATER)
    assert counts(store, queue) == {JobState.RUNNING: 1}
    assert finish(store, succeed(claimed)) == frozenset()
    assert state_of(store, job_id) is JobState.SUCCEEDED


def test_a_short_job_is_settled_without_having_been_said_to_have_begun(store: Store) -> None:
    queue, node = new_queue(), new_node()
    first, second = enqueue(store, spec(queue), spec(queue))
    claims = store.claim_jobs(queue, token=token_of(node), limit=1, now=NOW, begin=0).claims

    answer = store.finish_and_claim_jobs(
        queue, [succeed(one) for one in claims], token=token_of(node), limit=1, now=NOW, begin=0
    )

    assert state_of(store, first) is JobState.SUCCEEDED
    assert [(one.spec.id, one.is_begun) for one in answer.claims] == [(second, False)]
    assert counts(store, queue) == {JobState.SUCCEEDED: 1, JobState.QUEUED: 1}


def test_a_stale_token_begins_nothing(store: Store) -> None:
    queue = new_queue()
    (job_id,) = enqueue(store, spec(queue))
    (stale,) = store.claim_jobs(queue, token=token_of(new_node()), limit=1, now=NOW, begin=0).claims
    finish(store, interrupt(stale))

    store.begin_jobs(queue, [stale], now=LATER)
    assert counts(store, queue) == {JobState.QUEUED: 1}

    store.claim_jobs(queue, token=token_of(new_node()), limit=1, now=NOW, begin=0)
    store.begin_jobs(queue, [stale], now=LATER)
    assert state_of(store, job_id) is JobState.QUEUED


def test_what_goes_back_from_a_buffer_has_the_place_that_it_had(store: Store) -> None:
    queue = new_queue()
    first, second, third = enqueue(store, *(spec(queue) for _ in range(3)))
    claims = store.claim_jobs(queue, token=token_of(new_node()), limit=2, now=NOW, begin=0).claims

    finish(store, *(interrupt(one, LATER) for one in reversed(claims)), now=LATER)

    assert given(store, queue, now=LATER) == [first, second, third]


def test_a_job_that_had_not_begun_dies_no_death(store: Store) -> None:
    queue, node = new_queue(), new_node()
    ran, told, waited = enqueue(store, *(spec(queue) for _ in range(3)))
    claims = store.claim_jobs(queue, token=token_of(node), limit=3, now=NOW, begin=1).claims
    store.begin_jobs(queue, claims[1:2], now=NOW)

    held = sorted(claims_of(store, queue, node), key=lambda one: one.spec.id)
    reclaim(store, *(die(one, on_node_death=OnNodeDeath.REQUEUE) for one in held))

    assert [one.is_begun for one in held] == [True, True, False]
    assert [find(store, job_id).deaths for job_id in (ran, told, waited)] == [1, 1, 0]
    assert given(store, queue, now=LATER) == [ran, told, waited]


def test_a_job_that_had_not_begun_when_its_node_died_begins_at_once_the_next_time(store: Store) -> None:
    queue, node, other = new_queue(), new_node(), new_node()
    first, second, third = enqueue(store, *(spec(queue) for _ in range(3)))
    claims = store.claim_jobs(queue, token=token_of(node), limit=2, now=NOW, begin=0).claims
    reclaim(store, *(die(one, on_node_death=OnNodeDeath.REQUEUE) for one in claims))

    again = store.claim_jobs(queue, token=token_of(other), limit=3, now=LATER, begin=0).claims
    held = claims_of(store, queue, other)

    expected = {first: True, second: True, third: False}
    assert {one.spec.id: one.is_begun for one in again} == expected
    assert {one.spec.id: one.is_begun for one in held} == expected
    assert [one.error for one in find(store, first).past] == ["its node died, perhaps before it began"]


def test_a_job_that_begins_out_of_turn_has_its_place_in_the_claim(store: Store) -> None:
    queue, node = new_queue(), new_node()
    (late,) = enqueue(store, spec(queue, priority=-1))
    (claimed,) = store.claim_jobs(queue, token=token_of(node), limit=1, now=NOW, begin=0).claims
    reclaim(store, die(claimed, on_node_death=OnNodeDeath.REQUEUE))
    first, second = enqueue(store, spec(queue), spec(queue))

    claims = store.claim_jobs(queue, token=token_of(new_node()), limit=3, now=LATER, begin=1).claims

    assert [(one.spec.id, one.is_begun) for one in claims] == [(first, True), (second, False), (late, True)]


def test_a_job_that_had_not_begun_does_not_fail_with_its_node(store: Store) -> None:
    queue, node = new_queue(), new_node()
    (job_id,) = enqueue(store, spec(queue))
    (claimed,) = store.claim_jobs(queue, token=token_of(node), limit=1, now=NOW, begin=0).claims

    reclaim(store, die(claimed, on_node_death=OnNodeDeath.FAIL))

    assert state_of(store, job_id) is JobState.QUEUED


def test_a_buffered_job_is_its_nodes_and_can_be_cancelled(store: Store) -> None:
    queue, node = new_queue(), new_node()
    (job_id,) = enqueue(store, spec(queue))
    (claimed,) = store.claim_jobs(queue, token=token_of(node), limit=1, now=NOW, begin=0).claims

    store.cancel_jobs([job_id], now=NOW)
    renewal = renew(store, queue, node, claimed)

    assert (renewal.cancelled, renewal.lost) == ([job_id], [])
    finish(store, interrupt(claimed))
    assert state_of(store, job_id) is JobState.CANCELLED


def test_what_a_node_does_not_know_of_comes_back_from_its_buffer_as_it_was(store: Store) -> None:
    queue, node = new_queue(), new_node()
    (job_id,) = enqueue(store, spec(queue))
    store.claim_jobs(queue, token=token_of(node), limit=1, now=NOW, begin=0)

    assert store.recover_claims(queue, node, {}, floor=0, now=NOW) == 1

    assert counts(store, queue) == {JobState.QUEUED: 1}
    assert claim_one(store, queue).spec.id == job_id


def test_a_lock_is_taken_by_a_buffered_job_too(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue, lock_key="one"), spec(queue, lock_key="one"))

    (first,) = store.claim_jobs(queue, token=token_of(new_node()), limit=2, now=NOW, begin=0).claims

    assert claim(store, queue) == []
    assert counts(store, queue) == {JobState.QUEUED: 2}
    finish(store, succeed(first))
    assert len(claim(store, queue)) == 1
