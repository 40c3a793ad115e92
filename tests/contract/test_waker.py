"""Wakers: a node waits without asking all the time, and is told when there is something to do.

A wait gets a time far longer than the test may take; the test fails if the wait does not end long before that.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from rota.model.job import JobState
from rota.store import Store
from rota.store.store import Waker
from tests.conftest import OpenStore
from tests.contract.building import (
    LATER,
    NOW,
    claim,
    claim_one,
    die,
    ended_job,
    enqueue,
    finish,
    given,
    interrupt,
    new_node,
    new_queue,
    reclaim,
    spec,
    succeed,
)

LONG_S = 300.0
DEADLINE_S = 30.0


class Waiting:
    """A wait in a thread of its own."""

    def __init__(self, waker: Waker, *, wants_jobs: bool, ended: threading.Event | None = None) -> None:
        self.answer: list[str] | None = None
        self.ended = ended or threading.Event()
        self._waker, self._wants_jobs = waker, wants_jobs
        self.thread = threading.Thread(target=self._wait, daemon=True)
        self.thread.start()

    def _wait(self) -> None:
        self.answer = self._waker.wait(LONG_S, wants_jobs=self._wants_jobs)
        self.ended.set()

    def ends(self) -> bool:
        return self.ended.wait(DEADLINE_S)


@contextmanager
def waker_of(store: Store, queue: str, node: str | None = None) -> Iterator[Waker]:
    waker = store.waker(queue, node or new_node())
    try:
        yield waker
    finally:
        waker.close()


def quieten(waker: Waker) -> None:
    """Use up what happened before, so that the next wait has a reason of its own."""
    waker.wait(0.01, wants_jobs=True)


def test_a_wait_ends_when_its_time_is_over(store: Store) -> None:
    with waker_of(store, new_queue()) as waker:
        assert waker.wait(0.05, wants_jobs=True) == []
        assert waker.wait(0.05, wants_jobs=False) == []
        assert waker.wait(0, wants_jobs=True) == []


def test_a_nudge_ends_the_wait_under_way(store: Store) -> None:
    with waker_of(store, new_queue()) as waker:
        quieten(waker)
        waiting = Waiting(waker, wants_jobs=False)

        waker.nudge()

        assert waiting.ends()
        assert waiting.answer == []


def test_a_nudge_before_the_wait_ends_it(store: Store) -> None:
    with waker_of(store, new_queue()) as waker:
        quieten(waker)
        waker.nudge()

        waiting = Waiting(waker, wants_jobs=False)

        assert waiting.ends()


def test_closing_ends_the_wait_under_way(store: Store) -> None:
    waker = store.waker(new_queue(), new_node())
    quieten(waker)
    waiting = Waiting(waker, wants_jobs=True)

    waker.close()

    waiting.thread.join(DEADLINE_S)
    assert not waiting.thread.is_alive()


def prepare_nothing(store: Store, queue: str) -> Callable[[Store], object]:
    return lambda other: enqueue(other, spec(queue))


def prepare_failed_job(store: Store, queue: str) -> Callable[[Store], object]:
    job_id = ended_job(store, queue, JobState.FAILED)
    return lambda other: other.retry_jobs([job_id], now=NOW)


def prepare_paused_queue(store: Store, queue: str) -> Callable[[Store], object]:
    enqueue(store, spec(queue))
    store.pause_queue(queue)
    return lambda other: other.resume_queue(queue)


def prepare_running_job(store: Store, queue: str) -> Callable[[Store], object]:
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    return lambda other: finish(other, interrupt(claimed))


def prepare_held_lock(store: Store, queue: str) -> Callable[[Store], object]:
    enqueue(store, spec(queue, lock_key="l"), spec(queue, lock_key="l"))
    (holder,) = claim(store, queue)
    return lambda other: finish(other, succeed(holder))


def prepare_dead_node(store: Store, queue: str) -> Callable[[Store], object]:
    enqueue(store, spec(queue))
    claimed, later = claim_one(store, queue), LATER
    return lambda other: reclaim(other, die(claimed, later), now=later)


def prepare_forgetful_node(store: Store, queue: str) -> Callable[[Store], object]:
    enqueue(store, spec(queue))
    node = new_node()
    claim_one(store, queue, node=node)
    return lambda other: other.recover_claims(queue, node, {}, floor=0, now=NOW)


Prepare = Callable[[Store, str], Callable[[Store], object]]
REASONS: dict[str, Prepare] = {
    "a job is enqueued": prepare_nothing,
    "a failed job is retried": prepare_failed_job,
    "its queue is resumed": prepare_paused_queue,
    "a job is put back": prepare_running_job,
    "a lock becomes free": prepare_held_lock,
    "a job is taken from a dead node": prepare_dead_node,
    "a claim is recovered": prepare_forgetful_node,
}


@pytest.mark.parametrize("prepare", REASONS.values(), ids=REASONS.keys())
def test_a_node_is_woken_when(store: Store, prepare: Prepare) -> None:
    queue = new_queue()
    act = prepare(store, queue)
    with waker_of(store, queue) as waker:
        given(store, queue)
        quieten(waker)
        waiting = Waiting(waker, wants_jobs=True)

        act(store)

        assert waiting.ends()
    assert len(given(store, queue, now=LATER)) == 1


@pytest.mark.parametrize("prepare", REASONS.values(), ids=REASONS.keys())
def test_a_node_is_woken_through_another_handle_when(store: Store, open_again: OpenStore, prepare: Prepare) -> None:
    queue, other = new_queue(), open_again()
    act = prepare(store, queue)
    with waker_of(store, queue) as waker:
        given(store, queue)
        quieten(waker)
        waiting = Waiting(waker, wants_jobs=True)

        act(other)

        assert waiting.ends()
    assert len(given(store, queue, now=LATER)) == 1


def test_a_job_that_came_just_before_the_wait_ends_it(store: Store, open_again: OpenStore) -> None:
    queue, other = new_queue(), open_again()
    with waker_of(store, queue) as waker:
        quieten(waker)
        assert given(store, queue) == []
        enqueue(other, spec(queue))

        waiting = Waiting(waker, wants_jobs=True)

        assert waiting.ends()


def test_every_new_job_wakes_a_node_that_waits_again(store: Store) -> None:
    queue = new_queue()
    with waker_of(store, queue) as waker:
        quieten(waker)
        for _ in range(5):
            waiting = Waiting(waker, wants_jobs=True)
            (job_id,) = enqueue(store, spec(queue))
            assert waiting.ends()
            waiting.thread.join(DEADLINE_S)
            assert given(store, queue) == [job_id]


def test_of_several_waiting_nodes_at_least_one_is_woken(store: Store) -> None:
    queue = new_queue()
    wakers = [store.waker(queue, new_node()) for _ in range(3)]
    for waker in wakers:
        quieten(waker)
    ended = threading.Event()
    waiting = [Waiting(waker, wants_jobs=True, ended=ended) for waker in wakers]

    enqueue(store, spec(queue))

    assert ended.wait(DEADLINE_S)
    for waker, each in zip(wakers, waiting, strict=True):
        waker.nudge()
        each.thread.join(DEADLINE_S)
        assert not each.thread.is_alive()
        waker.close()


def test_all_jobs_are_taken_when_several_nodes_wait(store: Store) -> None:
    queue = new_queue()
    done: list[str] = []
    wakers = [store.waker(queue, new_node()) for _ in range(3)]
    all_done = threading.Event()

    def work(waker: Waker) -> None:
        while not all_done.is_set():
            waker.wait(LONG_S, wants_jobs=True)
            while claims := claim(store, queue, limit=1):
                finish(store, succeed(claims[0]))
                done.append(claims[0].spec.id)
                if len(done) >= 30:
                    all_done.set()

    threads = [threading.Thread(target=work, args=(waker,), daemon=True) for waker in wakers]
    for thread in threads:
        thread.start()
    ids = [job_id for _ in range(30) for job_id in enqueue(store, spec(queue))]

    assert all_done.wait(DEADLINE_S), f"only {len(done)} of 30 jobs were taken"
    for waker, thread in zip(wakers, threads, strict=True):
        waker.nudge()
        thread.join(DEADLINE_S)
        waker.close()
    assert sorted(done) == sorted(ids)


def test_a_request_to_cancel_wakes_the_node_that_holds_the_job(store: Store, open_again: OpenStore) -> None:
    queue, node, other = new_queue(), new_node(), open_again()
    enqueue(store, spec(queue))
    with waker_of(store, queue, node) as waker:
        claimed = claim_one(store, queue, node=node)
        quieten(waker)
        waiting = Waiting(waker, wants_jobs=False)

        other.cancel_jobs([claimed.spec.id], now=NOW)

        assert waiting.ends()
        assert set(waiting.answer or []) <= {claimed.spec.id}


def test_a_request_to_cancel_wakes_the_node_on_the_same_handle(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    with waker_of(store, queue, node) as waker:
        claimed = claim_one(store, queue, node=node)
        quieten(waker)
        waiting = Waiting(waker, wants_jobs=False)

        store.cancel_jobs([claimed.spec.id], now=NOW)

        assert waiting.ends()
        assert set(waiting.answer or []) <= {claimed.spec.id}
