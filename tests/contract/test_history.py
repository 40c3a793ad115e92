"""Trimming history: by age and by number, ended jobs only, with their logs."""

from functools import partial
from itertools import count

from rota.model.job import JobState
from rota.store import Store
from rota.store.contract.jobs import JobQuery
from tests.conftest import OpenStore
from tests.contract.building import (
    LATER,
    NOW,
    claim,
    claim_one,
    counts,
    ended_job,
    enqueue,
    finish,
    listed,
    log_batch,
    messages_of,
    new_queue,
    spec,
    states_of,
    succeed,
)
from tests.contract.steps import run_with

ALL = 1_000_000
NEVER = 0
"""An instant before which nothing ended."""


def history(store: Store, queue: str, number: int) -> list[str]:
    """Ended jobs of all kinds, one per millisecond, oldest first."""
    kinds = [JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED]
    return [ended_job(store, queue, kinds[step % 3], now=NOW + step) for step in range(number)]


def test_jobs_that_ended_before_an_instant_are_forgotten(store: Store) -> None:
    queue = new_queue()
    ids = history(store, queue, 6)

    trimmed = store.trim_history(queue, ended_before=NOW + 2, keep=ALL, limit=100)

    assert trimmed == 2
    assert store.find_jobs(ids[:2]) == [None, None]
    assert sorted(listed(store, JobQuery(queue=queue))) == sorted(ids[2:])


def test_a_job_that_ended_at_the_instant_itself_is_kept(store: Store) -> None:
    queue = new_queue()
    for state in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED):
        ended_job(store, queue, state, now=NOW)

    assert store.trim_history(queue, ended_before=NOW, keep=ALL, limit=100) == 0
    assert sum(counts(store, queue).values()) == 3

    assert store.trim_history(queue, ended_before=NOW + 1, keep=ALL, limit=100) == 3
    assert counts(store, queue) == {}


def test_as_many_as_are_to_be_kept_stay_and_one_more_is_one_too_many(store: Store) -> None:
    queue = new_queue()
    ids = history(store, queue, 4)

    assert store.trim_history(queue, ended_before=NEVER, keep=4, limit=100) == 0
    assert store.trim_history(queue, ended_before=NEVER, keep=3, limit=100) == 1

    assert listed(store, JobQuery(queue=queue)) == ids[:0:-1]


def test_the_oldest_beyond_the_number_to_keep_are_forgotten(store: Store) -> None:
    queue = new_queue()
    ids = history(store, queue, 6)

    trimmed = store.trim_history(queue, ended_before=NEVER, keep=4, limit=100)

    assert trimmed == 2
    assert listed(store, JobQuery(queue=queue)) == ids[:1:-1]


def test_the_oldest_are_those_that_ended_first_whenever_they_were_made(store: Store) -> None:
    for reason in ({"ended_before": LATER, "keep": 100, "limit": 1}, {"ended_before": NEVER, "keep": 1, "limit": 100}):
        queue = new_queue()
        enqueue(store, spec(queue), spec(queue))
        first, second = claim(store, queue)
        finish(store, succeed(second, NOW + 1), now=NOW + 1)
        finish(store, succeed(first, NOW + 2), now=NOW + 2)

        assert store.trim_history(queue, **reason) == 1

        assert listed(store, JobQuery(queue=queue)) == [first.spec.id]


def test_nodes_that_trim_at_once_forget_no_more_than_is_too_many(store: Store, open_again: OpenStore) -> None:
    other = open_again()
    for number in count():
        queue = new_queue()
        ids = history(store, queue, 6)
        trim = partial(store.trim_history, queue, ended_before=NEVER, keep=4, limit=100)

        ran = run_with(store, number, trim, before=partial(other.trim_history, *trim.args, **trim.keywords))

        assert listed(store, JobQuery(queue=queue)) == ids[:1:-1], f"another trimmed before step {number}"
        if not ran.is_reached:
            break


def test_either_reason_is_enough(store: Store) -> None:
    by_age, by_number = new_queue(), new_queue()
    history(store, by_age, 6)
    history(store, by_number, 6)

    assert store.trim_history(by_age, ended_before=NOW + 5, keep=3, limit=100) == 5
    assert store.trim_history(by_number, ended_before=NOW + 1, keep=2, limit=100) == 4


def test_nothing_is_kept_when_the_number_to_keep_is_zero(store: Store) -> None:
    queue = new_queue()
    history(store, queue, 3)

    assert store.trim_history(queue, ended_before=NEVER, keep=0, limit=100) == 3

    assert counts(store, queue) == {}


def test_nothing_is_forgotten_without_a_reason(store: Store) -> None:
    queue = new_queue()
    history(store, queue, 3)

    assert store.trim_history(queue, ended_before=NOW, keep=3, limit=100) == 0

    assert sum(counts(store, queue).values()) == 3


def test_one_call_forgets_no_more_than_its_limit(store: Store) -> None:
    queue = new_queue()
    ids = history(store, queue, 7)

    trimmed = [store.trim_history(queue, ended_before=NOW + 5, keep=1, limit=2) for _ in range(4)]

    assert trimmed == [2, 2, 2, 0]
    assert listed(store, JobQuery(queue=queue)) == ids[6:]


def test_live_jobs_are_never_forgotten(store: Store) -> None:
    queue = new_queue()
    (running,) = enqueue(store, spec(queue))
    claim_one(store, queue)
    queued, delayed = enqueue(store, spec(queue), spec(queue, run_at=NOW + 60_000))

    assert store.trim_history(queue, ended_before=NOW + ALL, keep=0, limit=100) == 0

    assert states_of(store, [running, queued, delayed]) == [JobState.RUNNING, JobState.QUEUED, JobState.DELAYED]


def test_a_job_that_was_brought_back_is_not_forgotten(store: Store) -> None:
    queue = new_queue()
    ended = ended_job(store, queue, JobState.FAILED)
    store.retry_jobs([ended], now=NOW + 1)

    assert store.trim_history(queue, ended_before=NOW + ALL, keep=0, limit=100) == 0

    assert states_of(store, [ended]) == [JobState.QUEUED]


def test_a_deleted_job_does_not_count(store: Store) -> None:
    queue = new_queue()
    ids = history(store, queue, 3)
    store.delete_jobs(ids[2:])

    assert store.trim_history(queue, ended_before=NEVER, keep=2, limit=100) == 0

    assert listed(store, JobQuery(queue=queue)) == [ids[1], ids[0]]


def test_other_queues_are_left_alone(store: Store) -> None:
    first, second = new_queue(), new_queue()
    history(store, first, 3)
    kept = history(store, second, 3)

    store.trim_history(first, ended_before=NOW + ALL, keep=0, limit=100)

    assert counts(store, first) == {}
    assert sorted(listed(store, JobQuery())) == sorted(kept)


def test_logs_are_forgotten_with_their_jobs(store: Store) -> None:
    queue = new_queue()
    old, new = spec(queue), spec(queue)
    for job, now in ((old, NOW), (new, NOW + 10)):
        enqueue(store, job, now=now)
        claimed = claim_one(store, queue, now=now)
        store.append_logs([log_batch(claimed, "line")])
        finish(store, succeed(claimed, now), now=now)

    store.trim_history(queue, ended_before=NOW + 5, keep=ALL, limit=100)

    assert messages_of(store, old.id) == []
    assert messages_of(store, new.id) == ["line"]


def test_many_jobs_are_forgotten_in_one_call(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, *[spec(queue) for _ in range(9_000)])
    store.cancel_jobs(ids, now=NOW)

    assert store.trim_history(queue, ended_before=NOW + 1, keep=0, limit=len(ids)) == len(ids)

    assert counts(store, queue) == {}
