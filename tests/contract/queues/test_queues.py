"""Queues as a whole: paused, resumed and counted."""

import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest
import redis

from rota.model.job import JobState
from rota.model.node import NodeType
from rota.model.rate import Rate, rate_key
from rota.store import Store
from rota.store.contract.queues import Stats
from tests.conftest import OpenStore
from tests.contract.building import (
    FAR_MS,
    NOW,
    claim,
    claim_one,
    counts,
    ended_job,
    enqueue,
    fail,
    fail_and_retry,
    finish,
    given,
    new_node,
    new_queue,
    renew,
    spec,
    state_of,
    succeed,
    token_of,
)
from tests.contract.events.configuring import JOB_TYPE, await_ends, configuration, make_queue, outcomes
from tests.contract.events.configuring import put as put_configuration
from tests.contract.raw_records import records_with
from tests.contract.schedules.scheduling import put as put_schedule
from tests.contract.schedules.scheduling import schedule
from tests.servers import RedisServer


def test_a_paused_queue_gives_nothing_until_it_is_resumed(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, spec(queue), spec(queue))

    store.pause_queue(queue)
    while_paused = given(store, queue)
    store.resume_queue(queue)

    assert while_paused == []
    assert given(store, queue) == ids


def test_a_paused_queue_names_no_time_that_has_passed(store: Store) -> None:
    queue, due = new_queue(), NOW + 1_000
    store.pause_queue(queue)
    enqueue(store, spec(queue, run_at=due))

    before, after = (
        store.claim_jobs(queue, token=token_of(new_node()), limit=1, now=now) for now in (due - 1, due + 1)
    )

    assert (before.claims, after.claims) == ([], [])
    assert after.next_due is None, "a worker would ask again at once, for ever"


def test_a_paused_queue_accepts_jobs(store: Store) -> None:
    queue = new_queue()
    store.pause_queue(queue)

    (job_id,) = enqueue(store, spec(queue))

    assert state_of(store, job_id) is JobState.QUEUED
    assert given(store, queue) == []


def test_running_jobs_of_a_paused_queue_go_on_and_end(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue), spec(queue))
    held = claim_one(store, queue, node=node)
    store.pause_queue(queue)

    renewal = renew(store, queue, node, held)
    answer = store.finish_and_claim_jobs(queue, [succeed(held)], token=token_of(node), limit=5, now=NOW)

    assert renewal.lost == []
    assert (answer.claims, answer.refused) == ([], frozenset())
    assert counts(store, queue) == {JobState.SUCCEEDED: 1, JobState.QUEUED: 1}


def test_due_jobs_of_a_paused_queue_wait_for_its_resumption(store: Store) -> None:
    queue = new_queue()
    (job_id,) = enqueue(store, spec(queue, run_at=NOW + 1_000))
    store.pause_queue(queue)

    assert given(store, queue, now=NOW + 2_000) == []
    store.resume_queue(queue)

    assert given(store, queue, now=NOW + 2_000) == [job_id]


def test_waiting_jobs_of_a_paused_queue_can_be_cancelled(store: Store) -> None:
    queue = new_queue()
    (job_id,) = enqueue(store, spec(queue))
    store.pause_queue(queue)

    store.cancel_jobs([job_id], now=NOW)
    store.resume_queue(queue)

    assert given(store, queue) == []


def test_other_queues_go_on(store: Store) -> None:
    paused, other = new_queue(), new_queue()
    (job_id,) = enqueue(store, spec(other))

    store.pause_queue(paused)

    assert given(store, other) == [job_id]


def test_paused_queues_are_named(store: Store) -> None:
    first, second = new_queue(), new_queue()
    before = store.paused_queues()

    store.pause_queue(first)
    store.pause_queue(second)
    store.pause_queue(first)
    both = store.paused_queues()
    store.resume_queue(first)
    store.resume_queue(first)

    assert before == frozenset()
    assert both == {first, second}
    assert store.paused_queues() == {second}


def test_resuming_a_queue_that_is_not_paused_changes_nothing(store: Store) -> None:
    queue = new_queue()
    (job_id,) = enqueue(store, spec(queue))

    store.resume_queue(queue)

    assert given(store, queue) == [job_id]


def test_a_pause_holds_for_every_handle(store: Store, open_again: OpenStore) -> None:
    queue = new_queue()
    other = open_again()
    enqueue(store, spec(queue))

    other.pause_queue(queue)

    assert given(store, queue) == []
    assert store.paused_queues() == {queue}


def test_every_state_is_counted_also_when_it_has_no_jobs(store: Store) -> None:
    assert store.count_jobs(new_queue()) == dict.fromkeys(JobState, 0)


def test_jobs_are_counted_by_state(store: Store) -> None:
    queue = new_queue()
    for state, number in ((JobState.SUCCEEDED, 3), (JobState.FAILED, 2), (JobState.CANCELLED, 4)):
        for _ in range(number):
            ended_job(store, queue, state)
    enqueue(store, *[spec(queue) for _ in range(5)])
    claim(store, queue)
    enqueue(store, *[spec(queue) for _ in range(6)])
    enqueue(store, *[spec(queue, run_at=NOW + 60_000) for _ in range(7)])

    assert store.count_jobs(queue) == {
        JobState.DELAYED: 7,
        JobState.QUEUED: 6,
        JobState.RUNNING: 5,
        JobState.SUCCEEDED: 3,
        JobState.FAILED: 2,
        JobState.CANCELLED: 4,
    }


def test_a_job_between_attempts_is_counted_as_delayed(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))

    finish(store, fail_and_retry(claim_one(store, queue)))

    assert counts(store, queue) == {JobState.DELAYED: 1}


def test_a_queue_counts_only_its_own_jobs(store: Store) -> None:
    first, second = new_queue(), new_queue()
    enqueue(store, spec(first), spec(second), spec(second, run_at=NOW + 1))

    assert counts(store, first) == {JobState.QUEUED: 1}
    assert counts(store, second) == {JobState.QUEUED: 1, JobState.DELAYED: 1}


def test_a_queue_is_listed_while_it_has_a_node_type_or_jobs(store: Store) -> None:
    empty, used = sorted([new_queue(), new_queue()])
    store.put_node_types([NodeType(uuid=empty, name="empty"), NodeType(uuid=used, name="used")])
    ended_job(store, used, JobState.SUCCEEDED)

    store.delete_node_types([used])

    assert sorted(store.list_queues()) == [empty, used]


def test_a_queue_is_listed_while_schedules_are_due_in_it(store: Store) -> None:
    """Whoever fires them finds them so, when its node type is gone."""
    first, second = sorted([new_queue(), new_queue()])
    for queue in (first, second, second):
        put_schedule(store, schedule(queue))

    assert sorted(store.list_queues()) == [first, second]


@pytest.mark.parametrize(
    "use",
    [
        lambda store, queue: put_schedule(store, schedule(queue), due=None),
        lambda store, queue: put_configuration(store, configuration(queue)),
        lambda store, queue: store.pause_queue(queue),
    ],
    ids=["schedule that is not due", "configuration", "pause"],
)
def test_a_queue_is_listed_while_anything_of_it_is_remembered(
    use: Callable[[Store, str], object], store: Store
) -> None:
    """A copy would leave it out, and nobody would ever forget it."""
    queue = new_queue()

    use(store, queue)

    assert store.list_queues() == [queue]


def test_a_queue_without_a_node_type_and_jobs_is_forgotten_with_what_was_counted(store: Store) -> None:
    queue = new_queue()
    job_id = ended_job(store, queue, JobState.FAILED)
    store.pause_queue(queue)
    store.delete_jobs([job_id])

    assert store.forget_queue(queue)

    assert store.list_queues() == []
    assert store.paused_queues() == frozenset()
    assert store.read_totals(queue) == Stats()
    assert store.read_stats(queue, since=NOW - FAR_MS, until=NOW + FAR_MS) == []
    (new,) = enqueue(store, spec(queue))
    assert store.list_queues() == [queue]
    finish(store, succeed(claim_one(store, queue)))
    assert state_of(store, new) is JobState.SUCCEEDED
    assert counts(store, queue) == {JobState.SUCCEEDED: 1}


def test_a_queue_in_which_anything_lives_is_not_forgotten(store: Store) -> None:
    defined, waiting, over, triggered, caused = (new_queue() for _ in range(5))
    store.put_node_types([NodeType(uuid=defined, name="defined")])
    store.pause_queue(defined)
    enqueue(store, spec(waiting, run_at=NOW + 1))
    ended_job(store, over, JobState.CANCELLED)
    put_schedule(store, schedule(triggered))
    put_configuration(store, configuration(caused))

    answers = [store.forget_queue(queue) for queue in (defined, waiting, over, triggered, caused)]

    assert answers == [False] * 5
    assert store.paused_queues() == {defined}
    assert store.read_totals(over).cancelled == 1


def test_a_queue_with_an_end_that_nobody_took_is_not_forgotten(store: Store) -> None:
    queue = make_queue(store)
    await_ends(store)
    job_id = ended_job(store, queue, JobState.FAILED)
    store.delete_jobs([job_id])
    store.delete_job_types([JOB_TYPE])
    store.delete_node_types([queue])

    assert not store.forget_queue(queue)
    assert queue in store.list_queues()
    assert outcomes(store, queue) == ["failed"]

    store.clear_outbox(queue, store.read_outbox(queue, limit=9))
    assert store.forget_queue(queue)
    assert queue not in store.list_queues()


def test_a_queue_is_listed_until_it_is_forgotten_although_all_its_jobs_are_deleted(store: Store) -> None:
    """Whoever forgets queues finds it so."""
    queue = new_queue()
    job_id = ended_job(store, queue, JobState.CANCELLED)
    store.delete_jobs([job_id])

    assert queue in store.list_queues()
    assert store.forget_queue(queue)
    assert queue not in store.list_queues()


@pytest.mark.stores("redis", "redis-cluster")  # which lists queues by names that it was told; SQLite by what is in it
@pytest.mark.parametrize(
    "use",
    [
        lambda store, queue: enqueue(store, spec(queue)),
        lambda store, queue: put_schedule(store, schedule(queue)),
        lambda store, queue: put_configuration(store, configuration(queue)),
        lambda store, queue: store.pause_queue(queue),
    ],
    ids=["enqueue", "put a schedule", "put a configuration", "pause"],
)
def test_a_queue_that_another_process_forgot_is_listed_as_soon_as_it_is_used(
    use: Callable[[Store, str], object], store: Store, open_again: OpenStore
) -> None:
    """A program that only enqueues hears of no definition that goes."""
    queue = new_queue()
    store.delete_jobs([ended_job(store, queue, JobState.CANCELLED)])
    other = open_again()
    assert other.forget_queue(queue)

    use(store, queue)

    assert other.list_queues() == [queue]


def test_a_job_that_comes_to_a_queue_which_another_process_forgot_is_found_by_everybody(
    store: Store, open_again: OpenStore
) -> None:
    queue = new_queue()
    store.delete_jobs([ended_job(store, queue, JobState.CANCELLED)])
    other = open_again()
    assert other.forget_queue(queue)

    (job_id,) = enqueue(store, spec(queue))

    assert state_of(other, job_id) is JobState.QUEUED


def end_a_job_of_which_all_is_kept(store: Store) -> str:
    """A queue that has a lock, a rate and stats, of a job that is deleted and whose end was taken."""
    queue, now = make_queue(store), store.now()
    await_ends(store)
    enqueue(store, spec(queue, lock_key="l", rate_key=rate_key(Rate(1, 60_000), "k", {}), now=now), now=now)
    job = claim_one(store, queue, now=now)
    finish(store, fail(job, now), now=now)
    assert outcomes(store, queue) == ["failed"]
    store.clear_outbox(queue, store.read_outbox(queue, limit=9))
    store.delete_jobs([job.spec.id])
    store.delete_job_types([JOB_TYPE])
    store.delete_node_types([queue])
    return queue


@pytest.mark.stores("sqlite-file")  # it has a column for the queue in many tables
def test_nothing_of_a_forgotten_queue_is_left_in_sqlite(store: Store, store_url: str) -> None:
    queue = end_a_job_of_which_all_is_kept(store)
    store.pause_queue(queue)

    store.forget_queue(queue)

    with closing(sqlite3.connect(store_url.removeprefix("sqlite:///"))) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {name: [row[1] for row in db.execute(f"PRAGMA table_info({name})")] for name in tables}
        queued = [name for name in tables if "queue" in columns[name]]
        left = {name: db.execute(f"SELECT * FROM {name} WHERE queue = ?", [queue]).fetchall() for name in queued}
    assert {name: rows for name, rows in left.items() if rows} == {}


@pytest.mark.stores("sqlite-file", "sqlite-memory", "redis")  # of which all records can be looked through
def test_nobody_speaks_of_a_forgotten_queue_in_which_schedules_and_configurations_were(store: Store) -> None:
    queue = new_queue()
    one, other = put_schedule(store, schedule(queue)).schedule, put_configuration(store, configuration(queue))
    assert not store.forget_queue(queue)
    store.delete_schedules([one.uuid])
    assert not store.forget_queue(queue)
    store.delete_configurations([other.configuration.uuid])

    assert store.forget_queue(queue)

    assert records_with(store, queue) == []


@pytest.mark.stores("redis")  # it has keys of its own for every queue
def test_nothing_of_a_forgotten_queue_is_left_in_redis(store: Store, redis_server: RedisServer) -> None:
    queue = end_a_job_of_which_all_is_kept(store)
    store.pause_queue(queue)
    store.put_node_types([NodeType(uuid=queue, name="gone")])
    store.delete_node_types([queue])

    store.forget_queue(queue)

    with redis.Redis.from_url(redis_server.url) as client:
        assert client.keys(f"*{queue}*") == []
