"""Ending and returning claimed jobs: only for the token that holds them, and once."""

import pytest

from rota.model.job import Claim, JobState
from rota.model.runs.outcome import Outcome, cancelled, failed, refused, succeeded, timed_out
from rota.store import Store
from tests.contract.building import (
    LATER,
    NOW,
    RETRY_DELAY_MS,
    claim,
    claim_one,
    counts,
    enqueue,
    fail,
    fail_and_retry,
    find,
    finish,
    given,
    interrupt,
    new_node,
    new_queue,
    settled,
    spec,
    state_of,
    states_of,
    succeed,
    token_of,
)

OUTCOMES = {
    "succeeded": (succeeded({"rows": [1, 2.5, None, []], "text": "é\x00"}), JobState.SUCCEEDED),
    "succeeded without results": (succeeded(), JobState.SUCCEEDED),
    "failed": (failed({"code": 3}, {"partial": True}), JobState.FAILED),
    "failed with plain text": (failed("it broke"), JobState.FAILED),
    "refused": (refused("no_function", "there is no such function"), JobState.FAILED),
    "timed out": (timed_out(500, "half"), JobState.FAILED),
    "cancelled": (cancelled(["half"]), JobState.CANCELLED),
}


@pytest.mark.parametrize(("outcome", "state"), OUTCOMES.values(), ids=OUTCOMES.keys())
def test_an_ended_job_gets_its_ending(store: Store, outcome: Outcome, state: JobState) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)

    refused_ids = finish(store, settled(claimed, outcome, NOW + 77), now=NOW + 77)

    found = find(store, claimed.spec.id)
    assert refused_ids == frozenset()
    assert found.state is state
    assert (found.results, found.errors) == (outcome.results, outcome.errors)
    assert (found.started_at, found.ended_at) == (NOW + 77, NOW + 77)
    assert (found.attempts, found.deaths) == (1, 0)
    assert found.token == claimed.token
    assert found.spec == claimed.spec


def test_an_ended_job_is_not_given_again(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))

    finish(store, succeed(claim_one(store, queue)))

    assert given(store, queue, now=LATER) == []


def test_a_large_result_comes_back_whole(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)

    finish(store, succeed(claimed, results="x" * 1_000_000))

    assert find(store, claimed.spec.id).results == "x" * 1_000_000


def test_a_failed_attempt_with_another_one_left_is_delayed(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)

    finish(store, fail_and_retry(claimed, NOW + 500), now=NOW + 500)

    found = find(store, claimed.spec.id)
    ready_at = NOW + 500 + RETRY_DELAY_MS
    assert (found.state, found.attempts, found.available_at) == (JobState.DELAYED, 1, ready_at)
    assert found.ended_at is None
    assert given(store, queue, now=ready_at - 1) == []
    assert given(store, queue, now=ready_at) == [claimed.spec.id]


def test_an_interrupted_job_is_queued_and_keeps_its_attempt(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)

    finish(store, interrupt(claimed))

    found = find(store, claimed.spec.id)
    again = claim_one(store, queue)
    assert (found.state, found.attempts, found.deaths) == (JobState.QUEUED, 0, 0)
    assert (again.attempts, again.deaths, again.rank) == (claimed.attempts, claimed.deaths, claimed.rank)


def test_many_settlements_of_all_kinds_go_in_one_call(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, *[spec(queue) for _ in range(5)])
    a, b, c, d, e = claim(store, queue)

    refused_ids = finish(store, succeed(a), fail(b), settled(c, cancelled()), fail_and_retry(d), interrupt(e))

    assert refused_ids == frozenset()
    assert states_of(store, ids) == [
        JobState.SUCCEEDED,
        JobState.FAILED,
        JobState.CANCELLED,
        JobState.DELAYED,
        JobState.QUEUED,
    ]


def test_finishing_nothing_refuses_nothing(store: Store) -> None:
    assert store.finish_jobs(new_queue(), [], now=NOW) == frozenset()


def test_a_token_that_never_held_the_job_is_refused(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    stranger = Claim(claimed.spec, token_of(new_node()), claimed.rank, 0, 0)

    assert finish(store, succeed(stranger)) == {claimed.spec.id}

    assert state_of(store, claimed.spec.id) is JobState.RUNNING
    assert finish(store, succeed(claimed)) == frozenset()


def test_a_job_that_nobody_holds_cannot_be_finished(store: Store) -> None:
    queue = new_queue()
    queued, delayed, unknown = spec(queue), spec(queue, run_at=NOW + 60_000), spec(queue)
    enqueue(store, queued, delayed)
    token = token_of(new_node())

    refused_ids = finish(store, *[succeed(Claim(each, token, 0, 0, 0)) for each in (queued, delayed, unknown)])

    assert refused_ids == {queued.id, delayed.id, unknown.id}
    assert states_of(store, [queued.id, delayed.id, unknown.id]) == [JobState.QUEUED, JobState.DELAYED, None]


def test_a_refused_settlement_does_not_stop_the_others(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, spec(queue), spec(queue), spec(queue))
    first, second, third = claim(store, queue)
    stale = Claim(second.spec, token_of(new_node()), second.rank, 0, 0)

    refused_ids = finish(store, succeed(first), succeed(stale), succeed(third))

    assert refused_ids == {second.spec.id}
    assert states_of(store, ids) == [JobState.SUCCEEDED, JobState.RUNNING, JobState.SUCCEEDED]


def test_an_old_token_is_refused_when_another_node_runs_the_job(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    old = claim_one(store, queue)
    finish(store, interrupt(old))
    new = claim_one(store, queue)

    assert finish(store, succeed(old, results="from the old")) == {old.spec.id}
    assert finish(store, interrupt(old)) == {old.spec.id}

    assert find(store, old.spec.id).token == new.token
    assert finish(store, succeed(new, results="from the new")) == frozenset()
    assert find(store, old.spec.id).results == "from the new"


def test_an_ending_that_was_carried_out_before_is_not_refused_and_changes_nothing(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    settlement = succeed(claim_one(store, queue), results="once")
    finish(store, settlement)
    before = find(store, settlement.claim.spec.id)

    assert finish(store, settlement, now=NOW + 5) == frozenset()

    assert find(store, before.id) == before
    assert counts(store, queue) == {JobState.SUCCEEDED: 1}


def test_a_return_that_was_carried_out_before_is_not_refused_and_changes_nothing(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue), spec(queue))
    first, second = claim(store, queue)
    settlements = [fail_and_retry(first), interrupt(second)]
    finish(store, *settlements)
    before = store.find_jobs([first.spec.id, second.spec.id])

    assert finish(store, *settlements) == frozenset()

    assert store.find_jobs([first.spec.id, second.spec.id]) == before
    assert counts(store, queue) == {JobState.DELAYED: 1, JobState.QUEUED: 1}


def test_a_settlement_that_comes_twice_in_one_call_is_carried_out_once(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    settlement = succeed(claim_one(store, queue))

    assert finish(store, settlement, settlement) == frozenset()

    assert counts(store, queue) == {JobState.SUCCEEDED: 1}


def test_of_two_settlements_of_one_job_in_one_call_the_first_is_carried_out(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)

    finish(store, succeed(claimed), fail(claimed), interrupt(claimed))

    assert state_of(store, claimed.spec.id) is JobState.SUCCEEDED
    assert counts(store, queue) == {JobState.SUCCEEDED: 1}
    assert given(store, queue) == []


def test_an_ended_job_does_not_end_in_another_way(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    finish(store, succeed(claimed, results="done"))
    before = find(store, claimed.spec.id)

    assert finish(store, fail(claimed, NOW + 1, "too late"), now=NOW + 1) == {claimed.spec.id}
    assert finish(store, interrupt(claimed)) == {claimed.spec.id}
    assert finish(store, fail_and_retry(claimed)) == {claimed.spec.id}

    assert find(store, claimed.spec.id) == before
    assert counts(store, queue) == {JobState.SUCCEEDED: 1}


def test_a_job_that_was_put_back_does_not_end_by_its_old_token(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    finish(store, interrupt(claimed))

    assert finish(store, succeed(claimed)) == {claimed.spec.id}

    assert state_of(store, claimed.spec.id) is JobState.QUEUED


def test_finish_and_claim_ends_the_old_jobs_and_gives_new_ones(store: Store) -> None:
    queue, node = new_queue(), new_node()
    ids = enqueue(store, *[spec(queue) for _ in range(4)])
    enqueue(store, spec(queue, run_at=NOW + 9_000))
    held = claim(store, queue, node=node, limit=2)

    answer = store.finish_and_claim_jobs(
        queue, [succeed(each) for each in held], token=token_of(node), limit=1, now=NOW
    )

    assert [each.spec.id for each in answer.claims] == [ids[2]]
    assert answer.refused == frozenset()
    assert answer.next_due == NOW + 9_000
    assert states_of(store, ids) == [
        JobState.SUCCEEDED,
        JobState.SUCCEEDED,
        JobState.RUNNING,
        JobState.QUEUED,
    ]


def test_finish_and_claim_names_what_it_refused(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue), spec(queue), spec(queue))
    mine, lost = claim(store, queue, node=node, limit=2)
    finish(store, interrupt(lost))
    thief = claim_one(store, queue)

    answer = store.finish_and_claim_jobs(queue, [succeed(mine), succeed(lost)], token=token_of(node), limit=5, now=NOW)

    assert thief.spec.id == lost.spec.id
    assert answer.refused == {lost.spec.id}
    assert len(answer.claims) == 1
    assert state_of(store, mine.spec.id) is JobState.SUCCEEDED
    assert find(store, lost.spec.id).token == thief.token


def test_finish_and_claim_gives_a_job_that_the_finish_made_ready(store: Store) -> None:
    queue, node = new_queue(), new_node()
    first, second = enqueue(store, spec(queue, lock_key="one"), spec(queue, lock_key="one"))
    (held,) = claim(store, queue, node=node)

    answer = store.finish_and_claim_jobs(queue, [succeed(held)], token=token_of(node), limit=5, now=NOW)

    assert held.spec.id == first
    assert [each.spec.id for each in answer.claims] == [second]
