"""Many nodes at once, as threads on one handle and as processes with their own: everything happens exactly once."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from rota.errors import Conflict
from rota.model.ids import new_id
from rota.model.job import JobState
from rota.model.job_type import OnNodeDeath
from rota.model.node import NodeType
from rota.store import Store
from rota.store.contract.jobs import Admission, CancelAnswer, JobQuery
from tests.conftest import OpenStore
from tests.contract.building import (
    LATER,
    NOW,
    claim,
    claims_of,
    counts,
    die,
    ended_job,
    enqueue,
    fail_and_retry,
    finish,
    listed,
    new_node,
    new_queue,
    reclaim,
    spec,
    states_of,
    succeed,
    token_of,
)
from tests.contract.racing import in_processes, in_threads

THREADS = 8
PROCESSES = 3


def work_off(store: Store, queue: str) -> list[str]:
    """A node that claims and finishes until the queue is empty; returns the ids it was given and ended."""
    node = new_node()
    done: list[str] = []
    claims = claim(store, queue, node=node, limit=7)
    while claims:
        done.extend(each.spec.id for each in claims)
        answer = store.finish_and_claim_jobs(
            queue, [succeed(each) for each in claims], token=token_of(node), limit=7, now=NOW
        )
        assert answer.refused == frozenset()
        claims = answer.claims
    return done


def enqueue_and_work_off(store: Store, queue: str, number: int) -> tuple[list[str], list[str]]:
    """A node that also hands in jobs, a few at a time; returns what it handed in, and what it ended."""
    made: list[str] = []
    done: list[str] = []
    for _ in range(number // 5):
        made += enqueue(store, *[spec(queue) for _ in range(5)])
        done += work_off(store, queue)
    return made, done


def submit_unique(store: Store, queue: str, keys: int) -> list[Admission]:
    """Hand in one job per key, in an order of its own."""
    order = random.sample(range(keys), keys)
    answers = {key: store.enqueue_jobs([spec(queue, unique_key=str(key))], now=NOW)[0] for key in order}
    return [answers[key] for key in range(keys)]


def put_setting_once(store: Store, value: str) -> str:
    return store.put_setting("key", value, only_if_absent=True)


def flatten(lists: list[list[str]]) -> list[str]:
    return [item for each in lists for item in each]


def test_threads_are_given_each_job_once(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, *[spec(queue) for _ in range(400)])

    done = in_threads(lambda _: work_off(store, queue), THREADS)

    assert sorted(flatten(done)) == sorted(ids)
    assert counts(store, queue) == {JobState.SUCCEEDED: len(ids)}


def test_processes_are_given_each_job_once(store: Store, open_again: OpenStore, store_url: str) -> None:
    queue = new_queue()
    ids = enqueue(store, *[spec(queue) for _ in range(600)])

    done: list[list[str]] = in_processes(work_off, [(queue,)] * PROCESSES, url=store_url)

    assert sorted(flatten(done)) == sorted(ids)
    assert counts(open_again(), queue) == {JobState.SUCCEEDED: len(ids)}


def test_processes_that_enqueue_and_work_lose_nothing(store: Store, open_again: OpenStore, store_url: str) -> None:
    queue = new_queue()

    answers: list[tuple[list[str], list[str]]] = in_processes(
        enqueue_and_work_off, [(queue, 100)] * PROCESSES, url=store_url
    )

    made, done = flatten([made for made, _ in answers]), flatten([done for _, done in answers])
    assert len(made) == PROCESSES * 100
    assert sorted(done) == sorted(made)
    assert counts(open_again(), queue) == {JobState.SUCCEEDED: len(made)}
    assert sorted(listed(store, JobQuery(queue=queue))) == sorted(made)


def check_one_winner_per_key(answers: list[list[Admission]], live: list[str]) -> None:
    """One submitter made the job of each key, and all others were told its id."""
    for of_one_key in zip(*answers, strict=True):
        assert sum(answer.is_new for answer in of_one_key) == 1
        assert len({answer.job_id for answer in of_one_key}) == 1
    assert sorted(live) == sorted(answer.job_id for answer in answers[0])


def test_of_racing_threads_one_makes_the_unique_job(store: Store) -> None:
    queue = new_queue()

    answers = in_threads(lambda _: submit_unique(store, queue, 20), THREADS)

    check_one_winner_per_key(answers, listed(store, JobQuery(queue=queue)))


def test_of_racing_processes_one_makes_the_unique_job(store: Store, open_again: OpenStore, store_url: str) -> None:
    queue = new_queue()

    answers: list[list[Admission]] = in_processes(submit_unique, [(queue, 100)] * PROCESSES, url=store_url)

    assert store.url == open_again().url
    check_one_winner_per_key(answers, listed(store, JobQuery(queue=queue)))


def test_threads_that_hand_in_the_same_jobs_store_them_once(store: Store) -> None:
    queue = new_queue()
    jobs = [spec(queue) for _ in range(50)]

    in_threads(lambda _: [store.enqueue_jobs([job], now=NOW) for job in jobs], THREADS)

    assert listed(store, JobQuery(queue=queue)) == [job.id for job in jobs]
    assert work_off(store, queue) == [job.id for job in jobs]


def test_one_job_with_a_lock_runs_at_a_time_in_many_threads(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, *[spec(queue, lock_key=str(number % 3)) for number in range(90)])
    running = {str(key): threading.Lock() for key in range(3)}
    left = Counter(ids)
    guard = threading.Lock()

    def work(_: int) -> None:
        while +left:
            claims = claim(store, queue, limit=2)
            for each in claims:
                assert running[str(each.spec.lock_key)].acquire(blocking=False), "two hold the same lock"
                with guard:
                    left[each.spec.id] -= 1
            for each in claims:
                running[str(each.spec.lock_key)].release()
                finish(store, succeed(each))

    in_threads(work, 4)

    assert set(left.values()) == {0}
    assert counts(store, queue) == {JobState.SUCCEEDED: len(ids)}


def test_a_node_and_a_watchdog_cannot_both_end_a_job(store: Store) -> None:
    queue = new_queue()
    enqueue(store, *[spec(queue) for _ in range(60)])
    claims = claim(store, queue)
    later = LATER

    def end_all(number: int) -> dict[str, bool]:
        order = random.sample(claims, len(claims))
        if number % 2:
            return {each.spec.id: not reclaim(store, die(each, later, OnNodeDeath.FAIL), now=later) for each in order}
        return {each.spec.id: not finish(store, succeed(each, later), now=later) for each in order}

    by_node, by_watchdog = in_threads(end_all, 2)

    states = dict(zip(by_node, states_of(store, list(by_node)), strict=True))
    for job_id, was_node in by_node.items():
        assert was_node is not by_watchdog[job_id]
        assert states[job_id] is (JobState.SUCCEEDED if was_node else JobState.FAILED)


def test_a_job_is_cancelled_or_given_but_not_both(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, *[spec(queue) for _ in range(200)])

    def act(number: int) -> dict[str, CancelAnswer] | list[str]:
        if number % 2:
            return {job_id: store.cancel_jobs([job_id], now=NOW)[0] for job_id in reversed(ids)}
        given: list[str] = []
        while claims := claim(store, queue, limit=3):
            given += [each.spec.id for each in claims]
        return given

    given, cancels = in_threads(act, 2)

    assert isinstance(given, list)
    assert isinstance(cancels, dict)
    cancelled = {job_id for job_id, answer in cancels.items() if answer is CancelAnswer.CANCELLED}
    requested = {job_id for job_id, answer in cancels.items() if answer is CancelAnswer.REQUESTED}
    assert cancelled | requested == set(ids)
    assert sorted(given) == sorted(set(ids) - cancelled)
    assert requested == set(given)


def test_one_of_many_retries_brings_a_job_back(store: Store) -> None:
    queue = new_queue()
    ids = [ended_job(store, queue, JobState.FAILED) for _ in range(20)]

    answers = in_threads(lambda _: [store.retry_jobs([job_id], now=NOW)[0] for job_id in ids], THREADS)

    assert [sum(each) for each in zip(*answers, strict=True)] == [1] * len(ids)
    assert sorted(work_off(store, queue)) == sorted(ids)


def test_a_job_is_deleted_or_brought_back_but_not_both(store: Store) -> None:
    queue = new_queue()
    ids = [ended_job(store, queue, JobState.CANCELLED) for _ in range(100)]

    def act(number: int) -> list[bool]:
        if number % 2:
            return [store.delete_jobs([job_id])[0] for job_id in reversed(ids)][::-1]
        return [store.retry_jobs([job_id], now=NOW)[0] for job_id in ids]

    retried, deleted = in_threads(act, 2)

    assert all(back is not gone for back, gone in zip(retried, deleted, strict=True))
    kept = [job_id for job_id, back in zip(ids, retried, strict=True) if back]
    assert sorted(listed(store, JobQuery(queue=queue))) == sorted(kept)


def test_attempts_are_counted_once_when_threads_fail_and_retry(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, *[spec(queue) for _ in range(40)])

    def work(_: int, steps: int = 4) -> None:
        for step in range(steps):
            now = NOW + step * 10_000
            while claims := claim(store, queue, limit=3, now=now):
                settlements = [fail_and_retry(each, now) for each in claims if each.attempts < 3]
                settlements += [succeed(each, now) for each in claims if each.attempts >= 3]
                assert finish(store, *settlements, now=now) == frozenset()

    in_threads(work, 4)
    # A thread that was ahead of the others may have failed a job at the last instant, long before its last attempt.
    work(0, steps=8)

    assert counts(store, queue) == {JobState.SUCCEEDED: len(ids)}
    assert {job.attempts for job in store.find_jobs(ids) if job} == {4}


def test_a_setting_is_made_by_one_of_many(store: Store, open_again: OpenStore, store_url: str) -> None:
    values = [(f"value {number}",) for number in range(PROCESSES)]

    answers: list[str] = in_processes(put_setting_once, values, url=store_url)

    assert len(set(answers)) == 1
    assert store.get_setting("key") == open_again().get_setting("key") == answers[0]


def test_a_name_goes_to_one_of_many_definitions(store: Store) -> None:
    def put(_: int) -> bool:
        try:
            store.put_node_types([NodeType(uuid=new_id(NOW), name="default")])
        except Conflict:
            return False
        return True

    winners = in_threads(put, THREADS)

    assert sum(winners) == 1
    assert len(store.list_node_types()) == 1


CRASHING_NODE = """
import sys
from rota.store import open_store
from tests.contract.building import claim, enqueue, finish, spec, succeed

url, queue = sys.argv[1:]
store = open_store(url)
while True:
    made = enqueue(store, spec(queue), spec(queue), spec(queue, lock_key="l"))
    print("made", *made, flush=True)
    claims = claim(store, queue, limit=2)
    finish(store, *[succeed(each) for each in claims])
    print("ended", *[each.spec.id for each in claims], flush=True)
"""


@pytest.mark.parametrize("acknowledged", [1, 20, 75])
def test_a_killed_process_leaves_everything_whole(
    store: Store, open_again: OpenStore, store_url: str, acknowledged: int
) -> None:
    queue = new_queue()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)}
    node = subprocess.Popen(
        [sys.executable, "-c", CRASHING_NODE, store_url, queue], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert node.stdout is not None

    lines = [node.stdout.readline() for _ in range(acknowledged)]
    node.send_signal(signal.SIGKILL)
    lines += node.stdout.read().split("\n")[:-1]
    node.wait()
    node.stdout.close()

    made = flatten([line.split()[1:] for line in lines if line.startswith("made")])
    ended = flatten([line.split()[1:] for line in lines if line.startswith("ended")])
    assert made, "the process ended before it began"
    assert None not in states_of(store, made)
    assert set(states_of(store, ended)) <= {JobState.SUCCEEDED}
    check_nothing_is_torn(open_again(), queue)


def check_nothing_is_torn(store: Store, queue: str) -> None:
    """Every job is listed once in the state in which it is counted, and all of them can still be brought to an end."""
    jobs = listed(store, JobQuery(queue=queue), limit=1_000)
    assert len(set(jobs)) == len(jobs)
    assert Counter(states_of(store, jobs)) == counts(store, queue)
    for node in store.read_pulses(queue):
        for held in claims_of(store, queue, node):
            assert reclaim(store, die(held, LATER)) == frozenset()
    work_off(store, queue)
    assert counts(store, queue) == {JobState.SUCCEEDED: len(jobs)}
