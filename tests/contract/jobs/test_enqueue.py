"""Handing in jobs: accepted once, in the right state, as they were asked for."""

from functools import partial
from itertools import count
from uuid import uuid4

import pytest
import redis
from msgspec import structs

from rota.errors import InvalidInput
from rota.model.ids import new_id
from rota.model.job import Cause, JobSpec, JobState
from rota.model.runs.retry import RetryPolicy
from rota.store import Store
from rota.store.contract.jobs import Admission
from rota.store.redis.keys import CHOSEN_IDS
from tests.conftest import OpenStore
from tests.contract.building import (
    NOW,
    claim_all,
    claim_one,
    counts,
    enqueue,
    fail_and_retry,
    find,
    finish,
    given,
    new_queue,
    spec,
    state_of,
    states_of,
    succeed,
)
from tests.contract.steps import lose_answer, run_with
from tests.servers import RedisServer

# More than a Lua script can unpack onto its stack at once.
MANY = 9_000


def test_an_accepted_job_is_queued_and_named_in_the_answer(store: Store) -> None:
    job = spec(new_queue())

    answer = store.enqueue_jobs([job], now=NOW)

    assert answer == [Admission(job_id=job.id, is_new=True)]
    assert state_of(store, job.id) is JobState.QUEUED


def test_a_new_job_has_no_past(store: Store) -> None:
    job = spec(new_queue())

    enqueue(store, job)

    found = find(store, job.id)
    assert (found.attempts, found.deaths, found.token, found.node) == (0, 0, "", None)
    assert (found.started_at, found.ended_at, found.results, found.errors) == (None, None, None, None)
    assert found.cancel_requested is False
    assert found.available_at == NOW


def test_a_job_for_later_is_delayed(store: Store) -> None:
    job = spec(new_queue(), run_at=NOW + 1)

    enqueue(store, job)

    found = find(store, job.id)
    assert found.state is JobState.DELAYED
    assert found.available_at == NOW + 1


def test_a_job_for_now_or_earlier_is_queued(store: Store) -> None:
    queue = new_queue()

    ids = enqueue(store, spec(queue, run_at=NOW), spec(queue, run_at=NOW - 60_000))

    assert states_of(store, ids) == [JobState.QUEUED, JobState.QUEUED]


def test_there_is_one_answer_per_job_in_order(store: Store) -> None:
    first, second = new_queue(), new_queue()
    jobs = [spec(first), spec(second, run_at=NOW + 5), spec(first), spec(second), spec(new_queue())]

    answers = store.enqueue_jobs(jobs, now=NOW)

    assert answers == [Admission(job.id, is_new=True) for job in jobs]
    assert counts(store, first) == {JobState.QUEUED: 2}
    assert counts(store, second) == {JobState.DELAYED: 1, JobState.QUEUED: 1}


def test_enqueueing_nothing_answers_nothing(store: Store) -> None:
    assert store.enqueue_jobs([], now=NOW) == []


def test_everything_that_was_asked_for_is_kept(store: Store) -> None:
    queue = new_queue()
    asked = JobSpec(
        id=new_id(NOW),
        job_type=new_id(NOW),
        queue=queue,
        enqueued_at=NOW - 17,
        arguments={"a": 1},
        priority=-7,
        run_at=NOW - 3,
        unique_key="unique: ключ",
        lock_key="lock: ключ",
        timeout_ms=12_345,
        retry=RetryPolicy(attempts=4, delay_ms=7, factor=3.5, max_delay_ms=70, jitter=0.5),
        cause=Cause("schedule", "nightly", NOW - 100),
    )

    enqueue(store, asked)

    assert find(store, asked.id).spec == asked
    assert claim_one(store, queue).spec == asked


def test_arguments_come_back_with_their_types(store: Store) -> None:
    queue = new_queue()
    arguments: dict[str, object] = {
        "empty list": [],
        "empty object": {},
        "nested": {"list": [[], {}, [None]], "object": {"": {}}},
        "whole": 2**60 + 1,
        "negative": -(2**60) - 1,
        "fraction": 0.1,
        "tiny": 5e-324,
        "true": True,
        "false": False,
        "null": None,
        "text": 'quote " backslash \\ slash / newline \n nul \x00 é 語 \U0001f600 \u2028',
        "ключ": "значение",
        "looks like a number": "1e5",
    }
    job = spec(queue, arguments=arguments)

    enqueue(store, job)

    found, claimed = find(store, job.id).spec.arguments, claim_one(store, queue).spec.arguments
    assert found == arguments
    assert claimed == arguments
    assert {name: type(value) for name, value in found.items()} == {n: type(v) for n, v in arguments.items()}


def test_large_arguments_come_back_whole(store: Store) -> None:
    job = spec(new_queue(), arguments={"text": "x" * 200_000})

    enqueue(store, job)

    assert find(store, job.id).spec == job


def test_a_known_id_is_not_stored_again(store: Store) -> None:
    queue = new_queue()
    job = spec(queue)
    enqueue(store, job)

    (answer,) = store.enqueue_jobs([job], now=NOW + 1)

    assert answer.job_id == job.id
    assert counts(store, queue) == {JobState.QUEUED: 1}
    assert given(store, queue) == [job.id]


def test_an_id_that_another_queue_has_is_not_stored_again(store: Store) -> None:
    job = spec(new_queue(), job_id=str(uuid4()))
    other = spec(new_queue(), now=NOW + 1, job_id=job.id)
    enqueue(store, job)

    answer = store.enqueue_jobs([spec(other.queue, now=NOW + 1), other], now=NOW + 1)

    assert [one.is_new for one in answer] == [True, False]
    assert answer[1].job_id == job.id
    assert find(store, job.id).spec.queue == job.queue
    assert counts(store, other.queue) == {JobState.QUEUED: 1}


def test_an_id_that_was_just_made_and_given_to_another_queue_is_not_stored_again(store: Store) -> None:
    job = structs.replace(spec(new_queue()), has_own_id=True)
    enqueue(store, job)
    other = structs.replace(job, queue=new_queue())

    assert store.enqueue_jobs([other], now=NOW) == [Admission(job.id, False)]

    assert counts(store, other.queue) == {}


def test_an_id_that_another_queue_had_is_accepted_after_its_job_was_deleted(store: Store) -> None:
    queue, other = new_queue(), new_queue()
    job_id = str(uuid4())
    enqueue(store, spec(queue, job_id=job_id))
    finish(store, succeed(claim_one(store, queue)))
    store.delete_jobs([job_id])

    assert store.enqueue_jobs([spec(other, job_id=job_id)], now=NOW) == [Admission(job_id, True)]
    assert find(store, job_id).spec.queue == other


def test_an_id_that_comes_twice_in_one_call_for_two_queues_is_stored_once(store: Store) -> None:
    job = spec(new_queue())
    other = spec(new_queue(), job_id=job.id)

    answer = store.enqueue_jobs([job, other], now=NOW)

    assert answer == [Admission(job.id, True), Admission(job.id, False)]
    assert counts(store, other.queue) == {}


@pytest.mark.stores("sqlite-file", "redis")  # on a cluster no step reaches two queues
def test_of_an_id_that_is_given_to_two_queues_at_once_one_is_stored(store: Store, open_again: OpenStore) -> None:
    """Whichever step of the first the second comes before."""
    other, is_reached, numbers = open_again(), True, count()
    while is_reached:
        job_id, answers = str(uuid4()), list[Admission]()
        mine, theirs = spec(new_queue(), job_id=job_id), spec(new_queue(), job_id=job_id)

        answer, is_reached = run_with(
            store,
            next(numbers),
            partial(store.enqueue_jobs, [spec(mine.queue), mine], now=NOW),
            before=lambda: answers.extend(other.enqueue_jobs([theirs], now=NOW)),  # noqa: B023 (it is called here)
        )

        assert answer is not None
        assert answer[0].is_new
        assert [one.is_new for one in (answer[1], *answers)].count(True) == 1
        assert {one.job_id for one in (answer[1], *answers)} == {job_id}
        assert sum(job_id in given(store, queue) for queue in (mine.queue, theirs.queue)) == 1


@pytest.mark.stores("redis", "redis-cluster")  # no other store repeats a call
def test_a_job_with_an_id_of_its_caller_is_new_although_an_answer_was_lost(store: Store) -> None:
    queue = new_queue()
    for number in count():
        job = spec(queue, job_id=str(uuid4()))

        ran = run_with(store, number, partial(store.enqueue_jobs, [job], now=NOW), after=lose_answer)

        assert ran.answer == [Admission(job.id, True)]
        if not ran.is_reached:
            break


@pytest.mark.stores("redis")
def test_of_ids_of_callers_the_latest_ones_are_remembered(store: Store, redis_server: RedisServer) -> None:
    for _ in range(3):
        enqueue(store, *(spec(new_queue(), job_id=str(uuid4())) for _ in range(2)))
        store.enqueue_jobs([spec(queue, job_id=str(uuid4())) for queue in [new_queue()] * MANY], now=NOW)

    with redis.Redis.from_url(redis_server.url) as client:
        assert client.zcard(CHOSEN_IDS) == 10_000


def test_a_job_is_found_in_a_queue_that_another_handle_made(store: Store, open_again: OpenStore) -> None:
    job = spec(new_queue())
    store.find_jobs([job.id])

    enqueue(open_again(), job)

    assert state_of(store, job.id) is JobState.QUEUED


def test_an_id_that_comes_twice_in_one_call_is_stored_once(store: Store) -> None:
    queue = new_queue()
    job = spec(queue)

    answers = store.enqueue_jobs([job, job], now=NOW)

    assert [answer.job_id for answer in answers] == [job.id, job.id]
    assert counts(store, queue) == {JobState.QUEUED: 1}
    assert given(store, queue) == [job.id]


def test_enqueueing_again_leaves_a_running_job_alone(store: Store) -> None:
    queue = new_queue()
    job = spec(queue)
    enqueue(store, job)
    claimed = claim_one(store, queue)

    enqueue(store, job)

    assert given(store, queue) == []
    assert finish(store, succeed(claimed)) == frozenset()


def test_enqueueing_again_leaves_an_ended_job_alone(store: Store) -> None:
    queue = new_queue()
    job = spec(queue)
    enqueue(store, job)
    finish(store, succeed(claim_one(store, queue), results="done"))
    before = find(store, job.id)

    assert enqueue(store, job, now=NOW + 1) == [job.id]

    assert find(store, job.id) == before
    assert given(store, queue, now=NOW + 1) == []


def test_enqueueing_again_leaves_a_job_between_attempts_alone(store: Store) -> None:
    queue = new_queue()
    job = spec(queue)
    enqueue(store, job)
    finish(store, fail_and_retry(claim_one(store, queue)))
    before = find(store, job.id)

    enqueue(store, job)

    assert find(store, job.id) == before


def test_a_large_batch_is_accepted_given_and_finished_whole(store: Store) -> None:
    queue = new_queue()
    jobs = [spec(queue) for _ in range(MANY)]

    answers = store.enqueue_jobs(jobs, now=NOW)
    claims = claim_all(store, queue)
    refused = finish(store, *[succeed(each) for each in claims])

    assert all(answer.is_new for answer in answers)
    assert [each.spec.id for each in claims] == [job.id for job in jobs]
    assert refused == frozenset()
    assert counts(store, queue) == {JobState.SUCCEEDED: MANY}
    assert states_of(store, [job.id for job in jobs]) == [JobState.SUCCEEDED] * MANY


@pytest.mark.stores("redis", "redis-cluster")  # there the jobs of a queue are the arguments of one command
def test_more_jobs_of_a_queue_than_one_step_takes_are_refused_with_all_others(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.store.redis.nouns.jobs.enqueue._MOST_ENQUEUED", 3)
    queue, other = new_queue(), new_queue()

    with pytest.raises(InvalidInput, match=f"4 jobs for {queue} at once; 3 is the most"):
        store.enqueue_jobs([spec(other), *(spec(queue) for _ in range(4))], now=NOW)

    assert (counts(store, queue), counts(store, other)) == ({}, {})
    enqueue(store, *(spec(one) for one in (queue, other) for _ in range(3)))
    assert counts(store, queue) == counts(store, other) == {JobState.QUEUED: 3}


def test_a_large_batch_of_delayed_jobs_becomes_ready_whole(store: Store) -> None:
    queue = new_queue()
    jobs = [spec(queue, run_at=NOW + 16 * (number + 1)) for number in range(MANY)]
    enqueue(store, *jobs)
    later = NOW + 16 * MANY

    claims = claim_all(store, queue, now=later)

    assert [each.spec.id for each in claims] == [job.id for job in jobs]


def test_an_accepted_job_is_seen_through_every_handle(store: Store, open_again: OpenStore) -> None:
    queue = new_queue()
    other = open_again()

    (job_id,) = enqueue(store, spec(queue))

    assert state_of(other, job_id) is JobState.QUEUED
    assert given(other, queue) == [job_id]
    assert state_of(store, job_id) is JobState.RUNNING


def test_jobs_stay_when_the_store_is_closed_and_opened(store: Store, open_again: OpenStore) -> None:
    queue = new_queue()
    (job_id,) = enqueue(store, spec(queue))
    first = open_again()
    finish(first, succeed(claim_one(first, queue), results={"kept": True}))

    second = open_again()

    assert find(second, job_id).results == {"kept": True}
