"""Unique keys: while a live job has the key in its queue, no other is accepted, and the answer names the live one."""

from collections.abc import Callable

import pytest
from msgspec import structs

from rota.model.job import Claim, JobSpec, JobState
from rota.model.runs.outcome import cancelled, expired
from rota.model.runs.settlement import Settlement
from rota.store import Store
from rota.store.contract.jobs import Admission
from tests.contract.building import (
    FAR_MS,
    LATER,
    NOW,
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
    interrupt,
    new_node,
    new_queue,
    reclaim,
    settled,
    spec,
    succeed,
)

FAR = LATER + FAR_MS
Settle = Callable[[Claim], Settlement]


def test_the_answer_names_the_job_that_holds_the_key(store: Store) -> None:
    queue = new_queue()
    first, second = spec(queue, unique_key="k"), spec(queue, unique_key="k")
    enqueue(store, first)

    answer = store.enqueue_jobs([second], now=NOW)

    assert answer == [Admission(first.id, is_new=False)]
    assert store.find_jobs([second.id]) == [None]
    assert counts(store, queue) == {JobState.QUEUED: 1}


def test_jobs_with_other_keys_or_none_are_accepted(store: Store) -> None:
    queue = new_queue()
    jobs = [spec(queue, unique_key="a"), spec(queue, unique_key="b"), spec(queue), spec(queue)]

    answers = store.enqueue_jobs(jobs, now=NOW)

    assert [answer.is_new for answer in answers] == [True] * 4


def test_the_same_key_in_another_queue_is_another_key(store: Store) -> None:
    jobs = [spec(new_queue(), unique_key="k"), spec(new_queue(), unique_key="k")]

    answers = store.enqueue_jobs(jobs, now=NOW)

    assert answers == [Admission(job.id, is_new=True) for job in jobs]


def test_whoever_is_refused_is_told_who_holds_the_key_in_the_same_queue(store: Store) -> None:
    queues = [new_queue() for _ in range(3)]
    holders = enqueue(store, *(spec(queue, unique_key="k") for queue in queues))

    assert enqueue(store, *(spec(queue, unique_key="k") for queue in queues)) == holders


def test_a_unique_key_and_an_equal_lock_key_have_nothing_to_do_with_each_other(store: Store) -> None:
    queue = new_queue()
    jobs = [spec(queue, unique_key="k"), spec(queue, lock_key="k")]

    enqueue(store, *jobs)

    assert given(store, queue) == [job.id for job in jobs]


def test_the_first_of_one_call_gets_the_key(store: Store) -> None:
    queue = new_queue()
    first, second, other = spec(queue, unique_key="k"), spec(queue, unique_key="k"), spec(queue, unique_key="l")

    answers = store.enqueue_jobs([first, second, other], now=NOW)

    assert answers == [Admission(first.id, True), Admission(first.id, False), Admission(other.id, True)]
    assert given(store, queue) == [first.id, other.id]


def test_each_of_many_jobs_of_one_call_is_judged_by_its_own_key(store: Store) -> None:
    """More than a Lua script hands to one command."""
    queue, many = new_queue(), 4_500
    holders = [spec(queue, unique_key=f"{n}") for n in (0, many - 1)]
    enqueue(store, *holders)
    jobs = [spec(queue, unique_key=f"{n}") for n in range(many)]
    again = [spec(queue, unique_key=f"{n}") for n in (0, many - 1, many - 2)]

    answers = store.enqueue_jobs([*jobs, *again], now=NOW)

    first, last = (Admission(holder.id, False) for holder in holders)
    accepted = jobs[1:-1]
    assert answers == [
        first,
        *(Admission(job.id, True) for job in accepted),
        last,
        first,
        last,
        Admission(accepted[-1].id, False),
    ]
    assert enqueue(store, *(spec(queue, unique_key=job.unique_key) for job in accepted)) == [one.id for one in accepted]


def test_a_repeated_enqueue_names_the_job_itself(store: Store) -> None:
    queue = new_queue()
    job = spec(queue, unique_key="k")
    enqueue(store, job)

    assert enqueue(store, job) == [job.id]

    assert counts(store, queue) == {JobState.QUEUED: 1}


def test_a_repeated_enqueue_of_a_job_that_has_ended_leaves_alone_who_has_its_key_since(store: Store) -> None:
    queue = new_queue()
    old = spec(queue, unique_key="k")
    enqueue(store, old)
    finish(store, succeed(claim_one(store, queue)))
    (holder,) = enqueue(store, expiring(queue))

    assert enqueue(store, old, now=LATER) == [old.id]

    assert find(store, holder).state is JobState.QUEUED


def test_a_delayed_job_holds_its_key(store: Store) -> None:
    queue = new_queue()
    (first,) = enqueue(store, spec(queue, unique_key="k", run_at=NOW + 60_000))

    assert enqueue(store, spec(queue, unique_key="k")) == [first]


def test_a_running_job_holds_its_key(store: Store) -> None:
    queue = new_queue()
    (first,) = enqueue(store, spec(queue, unique_key="k"))
    claim_one(store, queue)

    assert enqueue(store, spec(queue, unique_key="k")) == [first]


RETURNS: dict[str, Settle] = {"is retried": fail_and_retry, "is interrupted": interrupt}


@pytest.mark.parametrize("settle", RETURNS.values(), ids=RETURNS.keys())
def test_a_job_keeps_its_key_when_it(store: Store, settle: Settle) -> None:
    queue = new_queue()
    (first,) = enqueue(store, spec(queue, unique_key="k"))
    finish(store, settle(claim_one(store, queue)))

    assert enqueue(store, spec(queue, unique_key="k")) == [first]


def test_a_job_keeps_its_key_when_its_node_dies(store: Store) -> None:
    queue = new_queue()
    (first,) = enqueue(store, spec(queue, unique_key="k"))
    claimed = claim_one(store, queue)
    later = LATER
    reclaim(store, die(claimed, later), now=later)

    assert enqueue(store, spec(queue, unique_key="k"), now=later) == [first]


ENDS: dict[str, Settle] = {
    "succeeds": succeed,
    "fails": fail,
    "is cancelled while it runs": lambda claim: settled(claim, cancelled()),
}


@pytest.mark.parametrize("settle", ENDS.values(), ids=ENDS.keys())
def test_a_job_frees_its_key_when_it(store: Store, settle: Settle) -> None:
    queue = new_queue()
    enqueue(store, spec(queue, unique_key="k"))
    finish(store, settle(claim_one(store, queue)))
    next_job = spec(queue, unique_key="k")

    assert store.enqueue_jobs([next_job], now=NOW) == [Admission(next_job.id, is_new=True)]


@pytest.mark.parametrize("settle", RETURNS.values(), ids=RETURNS.keys())
def test_a_job_whose_cancellation_was_asked_for_frees_its_key_when_it(store: Store, settle: Settle) -> None:
    queue = new_queue()
    enqueue(store, spec(queue, unique_key="k"))
    held = claim_one(store, queue)
    store.cancel_jobs([held.spec.id], now=NOW)
    finish(store, settle(held))
    next_job = spec(queue, unique_key="k")

    assert store.enqueue_jobs([next_job], now=NOW) == [Admission(next_job.id, is_new=True)]


@pytest.mark.parametrize("way", ["recover", "leave", "reclaim"])
def test_a_lost_claim_whose_cancellation_was_asked_for_frees_its_key(store: Store, way: str) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue, unique_key="k"))
    held = claim_one(store, queue, node=node)
    store.cancel_jobs([held.spec.id], now=NOW)
    if way == "recover":
        store.recover_claims(queue, node, {}, floor=0, now=NOW)
    elif way == "leave":
        store.leave_queue(queue, node, floor=0, now=NOW)
    else:
        reclaim(store, die(held))
    next_job = spec(queue, unique_key="k")

    assert store.enqueue_jobs([next_job], now=NOW) == [Admission(next_job.id, is_new=True)]


@pytest.mark.parametrize("way", ["recover", "leave"])
def test_a_lost_claim_that_goes_back_keeps_its_key(store: Store, way: str) -> None:
    queue, node = new_queue(), new_node()
    (first,) = enqueue(store, spec(queue, unique_key="k"))
    claim_one(store, queue, node=node)
    if way == "recover":
        store.recover_claims(queue, node, {}, floor=0, now=NOW)
    else:
        store.leave_queue(queue, node, floor=0, now=NOW)

    assert enqueue(store, spec(queue, unique_key="k")) == [first]


def test_a_second_end_of_any_kind_leaves_the_key_with_its_new_holder(store: Store) -> None:
    queue, node = new_queue(), new_node()
    (first,) = enqueue(store, spec(queue, unique_key="k"))
    held = claim_one(store, queue, node=node)
    store.cancel_jobs([first], now=NOW)
    finish(store, interrupt(held))
    (second,) = enqueue(store, spec(queue, unique_key="k"))

    finish(store, succeed(held))
    finish(store, interrupt(held))
    reclaim(store, die(held))
    store.recover_claims(queue, node, {}, floor=0, now=NOW)
    store.cancel_jobs([first], now=NOW)
    store.retry_jobs([first], now=NOW)
    store.delete_jobs([first])

    assert enqueue(store, spec(queue, unique_key="k")) == [second]


def test_a_waiting_job_frees_its_key_when_it_is_cancelled(store: Store) -> None:
    queue = new_queue()
    queued = spec(queue, unique_key="a")
    delayed = spec(queue, unique_key="b", run_at=NOW + 60_000)
    enqueue(store, queued, delayed)
    store.cancel_jobs([queued.id, delayed.id], now=NOW)
    again = [spec(queue, unique_key="a"), spec(queue, unique_key="b")]

    assert store.enqueue_jobs(again, now=NOW) == [Admission(job.id, is_new=True) for job in again]


def test_a_request_to_cancel_leaves_the_key_with_the_running_job(store: Store) -> None:
    queue = new_queue()
    (first,) = enqueue(store, spec(queue, unique_key="k"))
    claim_one(store, queue)

    store.cancel_jobs([first], now=NOW)

    assert enqueue(store, spec(queue, unique_key="k")) == [first]


def test_a_retried_job_takes_its_key_again(store: Store) -> None:
    queue = new_queue()
    failed = ended_job(store, queue, JobState.FAILED, unique_key="k")

    assert store.retry_jobs([failed], now=NOW) == [True]

    assert enqueue(store, spec(queue, unique_key="k")) == [failed]


def test_a_job_whose_key_belongs_to_another_cannot_be_retried(store: Store) -> None:
    queue = new_queue()
    failed = ended_job(store, queue, JobState.FAILED, unique_key="k")
    (holder,) = enqueue(store, spec(queue, unique_key="k"))

    assert store.retry_jobs([failed], now=NOW) == [False]

    assert counts(store, queue) == {JobState.FAILED: 1, JobState.QUEUED: 1}
    assert enqueue(store, spec(queue, unique_key="k")) == [holder]


def test_of_two_ended_jobs_with_one_key_one_is_retried(store: Store) -> None:
    queue = new_queue()
    first = ended_job(store, queue, JobState.FAILED, unique_key="k")
    second = ended_job(store, queue, JobState.CANCELLED, unique_key="k")

    assert store.retry_jobs([first, second], now=NOW) == [True, False]

    assert counts(store, queue) == {JobState.QUEUED: 1, JobState.CANCELLED: 1}


def test_forgetting_an_ended_job_leaves_the_key_with_its_holder(store: Store) -> None:
    queue = new_queue()
    deleted = ended_job(store, queue, JobState.SUCCEEDED, unique_key="k")
    trimmed = ended_job(store, queue, JobState.FAILED, unique_key="k")
    (holder,) = enqueue(store, spec(queue, unique_key="k"))

    store.delete_jobs([deleted])
    store.trim_history(queue, ended_before=NOW + 1, keep=0, limit=10)

    assert store.find_jobs([deleted, trimmed]) == [None, None]
    assert enqueue(store, spec(queue, unique_key="k")) == [holder]


def test_a_repeated_settlement_leaves_the_key_with_its_new_holder(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue, unique_key="k"))
    settlement = succeed(claim_one(store, queue))
    finish(store, settlement)
    (holder,) = enqueue(store, spec(queue, unique_key="k"))

    finish(store, settlement)
    store.cancel_jobs([settlement.claim.spec.id], now=NOW)

    assert enqueue(store, spec(queue, unique_key="k")) == [holder]


def test_keys_of_any_characters_are_told_apart(store: Store) -> None:
    queue = new_queue()
    keys = ["k", "K", " k", "k ", "k:", "{k}", "k\x00", "k\n", "ключ", "é", "e\u0301", '{"a":1}', "x" * 512, "x" * 511]
    jobs = [spec(queue, unique_key=key) for key in keys]

    answers = store.enqueue_jobs(jobs, now=NOW)
    again = enqueue(store, *[spec(queue, unique_key=key) for key in keys])

    assert [answer.is_new for answer in answers] == [True] * len(keys)
    assert again == [job.id for job in jobs]


def expiring(queue: str, *, run_at: int | None = None) -> JobSpec:
    return structs.replace(spec(queue, unique_key="k", run_at=run_at), expires_at=LATER)


@pytest.mark.parametrize("run_at", [None, FAR])
def test_a_waiting_job_that_has_expired_gives_its_key_to_the_next(store: Store, run_at: int | None) -> None:
    queue = new_queue()
    old, other, new = expiring(queue, run_at=run_at), spec(queue), spec(queue, unique_key="k")
    enqueue(store, old)

    answer = store.enqueue_jobs([new, other, spec(queue, unique_key="k")], now=LATER)

    assert answer == [Admission(new.id, True), Admission(other.id, True), Admission(new.id, False)]
    ended = find(store, old.id)
    assert (ended.state, ended.ended_at, ended.errors) == (JobState.CANCELLED, LATER, expired().errors)
    assert counts(store, queue) == {JobState.QUEUED: 2, JobState.CANCELLED: 1}
    assert (store.read_totals(queue).enqueued, store.read_totals(queue).cancelled) == (3, 1)
    assert enqueue(store, spec(queue, unique_key="k"), now=LATER) == [new.id]
    assert sorted(given(store, queue, now=LATER)) == sorted([new.id, other.id])


def test_a_job_keeps_its_key_until_it_expires(store: Store) -> None:
    queue = new_queue()
    (old,) = enqueue(store, expiring(queue))

    assert enqueue(store, spec(queue, unique_key="k"), now=LATER - 1) == [old]


@pytest.mark.stores("redis", "redis-cluster")  # all that use a SQLite file have one clock
def test_a_caller_whose_clock_is_ahead_ends_no_job_early(store: Store) -> None:
    queue, now = new_queue(), store.now()
    (old,) = enqueue(store, structs.replace(expiring(queue), expires_at=now + 240_000), now=now)

    assert enqueue(store, spec(queue, unique_key="k"), now=now + 300_000) == [old]
    assert find(store, old).state is JobState.QUEUED


@pytest.mark.parametrize("settle", [fail_and_retry, interrupt, die, None])
def test_a_job_that_began_before_it_expired_keeps_its_key(store: Store, settle: Settle | None) -> None:
    queue = new_queue()
    (old,) = enqueue(store, expiring(queue))
    claimed = claim_one(store, queue)
    if settle is not None:
        finish(store, settle(claimed))

    assert enqueue(store, spec(queue, unique_key="k"), now=LATER) == [old]
    assert find(store, old).state is not JobState.CANCELLED
