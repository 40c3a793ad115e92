"""What a person may do to ended jobs: bring failed and cancelled ones back, or forget them."""

import pytest

from rota.model.ids import new_id
from rota.model.job import JobState
from rota.store import Store
from rota.store.contract.jobs import CancelAnswer, JobQuery
from tests.contract.building import (
    NOW,
    claim_all,
    claim_one,
    counts,
    die,
    ended_job,
    enqueue,
    fail,
    fail_and_retry,
    find,
    finish,
    given,
    listed,
    log_batch,
    messages_of,
    new_node,
    new_queue,
    reclaim,
    renew,
    spec,
    state_of,
    states_of,
    succeed,
)


@pytest.mark.parametrize("state", [JobState.FAILED, JobState.CANCELLED])
def test_a_job_is_brought_back_as_new_when_it_has(store: Store, state: JobState) -> None:
    queue = new_queue()
    job_id = ended_job(store, queue, state)

    assert store.retry_jobs([job_id], now=NOW + 64) == [True]

    found = find(store, job_id)
    assert (found.state, found.attempts, found.deaths) == (JobState.QUEUED, 0, 0)
    assert (found.ended_at, found.results, found.errors) == (None, None, None)
    assert found.available_at == NOW + 64
    assert counts(store, queue) == {JobState.QUEUED: 1}
    assert claim_one(store, queue, now=NOW + 64).attempts == 0


def test_earlier_attempts_and_deaths_of_a_retried_job_are_forgotten(store: Store) -> None:
    queue = new_queue()
    (job_id,) = enqueue(store, spec(queue))
    finish(store, fail_and_retry(claim_one(store, queue)))
    due = NOW + 1_000
    dead = due + 10_001
    reclaim(store, die(claim_one(store, queue, now=due), dead), now=dead)
    last = claim_one(store, queue, now=dead)
    finish(store, fail(last, dead), now=dead)

    store.retry_jobs([job_id], now=dead)

    again = claim_one(store, queue, now=dead)
    assert (last.attempts, last.deaths) == (1, 1)
    assert (again.attempts, again.deaths) == (0, 0)


def test_earlier_attempts_of_a_job_that_was_cancelled_between_two_are_forgotten(store: Store) -> None:
    queue = new_queue()
    (job_id,) = enqueue(store, spec(queue))
    finish(store, fail_and_retry(claim_one(store, queue)))
    store.cancel_jobs([job_id], now=NOW)
    before = find(store, job_id)

    store.retry_jobs([job_id], now=NOW)

    found, again = find(store, job_id), claim_one(store, queue)
    assert (before.attempts, found.attempts, found.token) == (1, 0, "")
    assert (again.attempts, again.deaths) == (0, 0)


def test_a_retried_job_queues_up_at_the_end(store: Store) -> None:
    queue = new_queue()
    retried = ended_job(store, queue, JobState.FAILED)
    (waiting,) = enqueue(store, spec(queue, now=NOW + 1_000), now=NOW + 1_000)

    store.retry_jobs([retried], now=NOW + 2_000)

    assert given(store, queue, now=NOW + 2_000) == [waiting, retried]


def test_a_retried_job_does_not_wait_for_the_time_it_once_had(store: Store) -> None:
    queue = new_queue()
    (job_id,) = enqueue(store, spec(queue, run_at=NOW + 60_000))
    store.cancel_jobs([job_id], now=NOW)

    store.retry_jobs([job_id], now=NOW)

    assert given(store, queue) == [job_id]


def test_a_succeeded_job_is_not_retried(store: Store) -> None:
    job_id = ended_job(store, new_queue(), JobState.SUCCEEDED)
    before = find(store, job_id)

    assert store.retry_jobs([job_id], now=NOW) == [False]

    assert find(store, job_id) == before


def test_live_and_unknown_jobs_are_not_retried(store: Store) -> None:
    queue = new_queue()
    (running,) = enqueue(store, spec(queue))
    claim_one(store, queue)
    queued, delayed = enqueue(store, spec(queue), spec(queue, run_at=NOW + 60_000))

    assert store.retry_jobs([running, queued, delayed, new_id(NOW)], now=NOW) == [False] * 4

    assert states_of(store, [running, queued, delayed]) == [JobState.RUNNING, JobState.QUEUED, JobState.DELAYED]
    assert given(store, queue) == [queued]


def test_the_old_token_of_a_retried_job_is_worth_nothing(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    old = claim_one(store, queue)
    finish(store, fail(old))
    store.retry_jobs([old.spec.id], now=NOW)

    refused = finish(store, succeed(old))

    assert refused == {old.spec.id}
    assert state_of(store, old.spec.id) is JobState.QUEUED


def test_a_retried_job_has_no_request_to_cancel(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    store.cancel_jobs([claimed.spec.id], now=NOW)
    finish(store, fail(claimed))

    store.retry_jobs([claimed.spec.id], now=NOW)

    again = claim_one(store, queue, node=node)
    renewal = renew(store, queue, node, again)
    assert find(store, claimed.spec.id).cancel_requested is False
    assert renewal.cancelled == []


def test_a_retried_job_keeps_the_log_of_its_earlier_attempts(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    first = claim_one(store, queue)
    store.append_logs([log_batch(first, "first try")])
    finish(store, fail(first))
    store.retry_jobs([first.spec.id], now=NOW)

    store.append_logs([log_batch(claim_one(store, queue), "second try")])

    assert messages_of(store, first.spec.id) == ["first try", "second try"]


def test_a_job_may_be_retried_again_and_again(store: Store) -> None:
    queue = new_queue()
    job_id = ended_job(store, queue, JobState.CANCELLED)

    for _ in range(3):
        assert store.retry_jobs([job_id], now=NOW) == [True]
        finish(store, fail(claim_one(store, queue)))

    assert counts(store, queue) == {JobState.FAILED: 1}
    assert listed(store, JobQuery(queue=queue)) == [job_id]


def test_retries_are_answered_one_by_one_across_queues(store: Store) -> None:
    first, second = new_queue(), new_queue()
    failed, succeeded = ended_job(store, first, JobState.FAILED), ended_job(store, first, JobState.SUCCEEDED)
    cancelled = ended_job(store, second, JobState.CANCELLED)

    answers = store.retry_jobs([succeeded, cancelled, new_id(NOW), failed], now=NOW)

    assert answers == [False, True, False, True]
    assert given(store, first) == [failed]
    assert given(store, second) == [cancelled]


@pytest.mark.parametrize("state", [JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED])
def test_a_deleted_job_is_forgotten_when_it_has(store: Store, state: JobState) -> None:
    queue = new_queue()
    job_id = ended_job(store, queue, state)

    assert store.delete_jobs([job_id]) == [True]

    assert store.find_jobs([job_id]) == [None]
    assert counts(store, queue) == {}
    assert listed(store, JobQuery(queue=queue)) == []
    assert listed(store, JobQuery()) == []
    assert store.cancel_jobs([job_id], now=NOW) == [CancelAnswer.UNKNOWN]
    assert store.retry_jobs([job_id], now=NOW) == [False]
    assert store.delete_jobs([job_id]) == [False]


def test_the_log_of_a_deleted_job_is_forgotten(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    store.append_logs([log_batch(claimed, "one", "two")])
    finish(store, succeed(claimed))

    store.delete_jobs([claimed.spec.id])

    assert messages_of(store, claimed.spec.id) == []


def test_a_later_job_of_the_same_id_does_not_find_the_log_of_a_deleted_one(store: Store) -> None:
    queue = new_queue()
    job = spec(queue)
    enqueue(store, job)
    held = claim_one(store, queue)
    store.append_logs([log_batch(held, "line")])
    finish(store, fail(held))

    store.delete_jobs([job.id])
    enqueue(store, job)

    assert messages_of(store, job.id) == []
    assert find(store, job.id).attempts == 0


def test_live_and_unknown_jobs_are_not_deleted(store: Store) -> None:
    queue = new_queue()
    (running,) = enqueue(store, spec(queue))
    claim_one(store, queue)
    queued, delayed = enqueue(store, spec(queue), spec(queue, run_at=NOW + 60_000))

    assert store.delete_jobs([running, new_id(NOW), queued, delayed]) == [False] * 4

    assert states_of(store, [running, queued, delayed]) == [JobState.RUNNING, JobState.QUEUED, JobState.DELAYED]


def test_a_retried_job_is_live_and_not_deleted(store: Store) -> None:
    job_id = ended_job(store, new_queue(), JobState.FAILED)
    store.retry_jobs([job_id], now=NOW)

    assert store.delete_jobs([job_id]) == [False]

    assert state_of(store, job_id) is JobState.QUEUED


def test_deleting_leaves_the_other_jobs(store: Store) -> None:
    first, second = new_queue(), new_queue()
    gone, kept = ended_job(store, first, JobState.FAILED), ended_job(store, first, JobState.FAILED)
    other = ended_job(store, second, JobState.SUCCEEDED)

    assert store.delete_jobs([other, gone]) == [True, True]

    assert states_of(store, [gone, kept, other]) == [None, JobState.FAILED, None]
    assert counts(store, first) == {JobState.FAILED: 1}


def test_many_jobs_are_retried_and_deleted_in_one_call(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, *[spec(queue) for _ in range(2_000)])
    store.cancel_jobs(ids, now=NOW)

    assert store.retry_jobs(ids, now=NOW) == [True] * len(ids)
    finish(store, *[fail(each) for each in claim_all(store, queue)])
    assert store.delete_jobs(ids) == [True] * len(ids)

    assert counts(store, queue) == {}


def test_empty_calls_answer_nothing(store: Store) -> None:
    assert store.retry_jobs([], now=NOW) == []
    assert store.delete_jobs([]) == []
