"""What is left of jobs in the tables of a store, whatever became of them: nothing live once they ended, and nothing at
all once they are deleted."""

import sqlite3
from contextlib import closing

import pytest
import redis
from msgspec import structs

from rota.model.ids import new_id
from rota.model.job import JobSpec, JobState
from rota.model.rate import Rate, rate_key
from rota.model.runs.progress import Progress
from rota.store import Store
from tests.contract.building import (
    LATER,
    NOW,
    claim,
    claim_one,
    die,
    enqueue,
    fail,
    fail_and_retry,
    finish,
    interrupt,
    log_batch,
    new_queue,
    reclaim,
    spec,
    states_of,
    succeed,
)
from tests.servers import RedisServer

HOUR_MS = 3_600_000
LIVE_KEYS = ("ready", "delayed", "held", "running", "cancelling", "locks", "unique")
KEPT_KEYS = ("awaited_since", "fence", "floors", "pulses", "rates", "rates_spent", "totals", "wake")
"""Of the queue, its nodes and its rates, not of its jobs."""


def rich(queue: str, **more: object) -> JobSpec:
    """A job of which a store keeps all that it can keep of one."""
    fields: dict[str, object] = {"unique_key": new_id(NOW), "lock_key": new_id(NOW), "series": ("s", "t")}
    return spec(queue, **fields | more)  # type: ignore[arg-type]


def succeeds_at_once(store: Store, queue: str) -> str:
    (job_id,) = enqueue(store, rich(queue, rate_key=rate_key(Rate(9, HOUR_MS), "often", {})))
    held = claim_one(store, queue)
    store.append_logs([structs.replace(log_batch(held, "a line"), progress=Progress(done=1, time=NOW))])
    finish(store, succeed(held))
    return job_id


def fails_after_a_retry(store: Store, queue: str) -> str:
    (job_id,) = enqueue(store, rich(queue))
    finish(store, fail_and_retry(claim_one(store, queue)))
    finish(store, fail(claim_one(store, queue, now=LATER)), now=LATER)
    return job_id


def is_brought_back_and_succeeds(store: Store, queue: str) -> str:
    job_id = fails_after_a_retry(store, queue)
    assert store.retry_jobs([job_id], now=LATER) == [True]
    finish(store, succeed(claim_one(store, queue, now=LATER)), now=LATER)
    return job_id


def outlives_its_node(store: Store, queue: str) -> str:
    (job_id,) = enqueue(store, rich(queue))
    assert reclaim(store, die(claim_one(store, queue)), now=LATER) == frozenset()
    finish(store, succeed(claim_one(store, queue, now=LATER)), now=LATER)
    return job_id


def is_cancelled_before_it_is_due(store: Store, queue: str) -> str:
    (job_id,) = enqueue(store, rich(queue, run_at=LATER))
    store.cancel_jobs([job_id], now=NOW)
    return job_id


def is_cancelled_while_it_waits_for_another_attempt(store: Store, queue: str) -> str:
    (job_id,) = enqueue(store, rich(queue))
    finish(store, fail_and_retry(claim_one(store, queue)))
    store.cancel_jobs([job_id], now=NOW)
    return job_id


def is_cancelled_while_it_runs(store: Store, queue: str) -> str:
    (job_id,) = enqueue(store, rich(queue))
    held = claim_one(store, queue)
    store.cancel_jobs([job_id], now=NOW)
    finish(store, interrupt(held))
    return job_id


def is_cancelled_behind_a_lock(store: Store, queue: str) -> str:
    enqueue(store, spec(queue, lock_key="taken"))
    holder = claim_one(store, queue)
    (job_id,) = enqueue(store, rich(queue, lock_key="taken"))
    assert claim(store, queue) == []
    store.cancel_jobs([job_id], now=NOW)
    finish(store, succeed(holder))
    store.delete_jobs([holder.spec.id])
    return job_id


def is_cancelled_behind_a_rate(store: Store, queue: str) -> str:
    used_up = rate_key(Rate(1, HOUR_MS), "seldom", {})
    enqueue(store, spec(queue, rate_key=used_up))
    first = claim_one(store, queue)
    (job_id,) = enqueue(store, rich(queue, rate_key=used_up))
    assert claim(store, queue) == []
    store.cancel_jobs([job_id], now=NOW)
    finish(store, succeed(first))
    store.delete_jobs([first.spec.id])
    return job_id


FATES = [
    succeeds_at_once,
    fails_after_a_retry,
    is_brought_back_and_succeeds,
    outlives_its_node,
    is_cancelled_before_it_is_due,
    is_cancelled_while_it_waits_for_another_attempt,
    is_cancelled_while_it_runs,
    is_cancelled_behind_a_lock,
    is_cancelled_behind_a_rate,
]


@pytest.mark.stores("redis")
def test_an_ended_job_leaves_nothing_live_in_redis_and_a_deleted_one_nothing(
    store: Store, redis_server: RedisServer
) -> None:
    for fate in FATES:
        queue = new_queue()

        job_id = fate(store, queue)

        with redis.Redis.from_url(redis_server.url, decode_responses=True) as client:
            keys = {key.partition("}:")[2] for key in client.keys(f"*{queue}*")}
            assert keys.isdisjoint(LIVE_KEYS), (fate.__name__, keys)
            assert ("marks" in keys) is (fate is is_cancelled_while_it_waits_for_another_attempt), fate.__name__
            assert store.delete_jobs([job_id]) == [True]
            assert claim(store, queue, now=store.now()) == [], "and nobody waits for a rate"
            left = {key.partition("}:")[2] for key in client.keys(f"*{queue}*")} - {*KEPT_KEYS}
        assert {key for key in left if not key.startswith(("inbox:", "stats:"))} == set(), fate.__name__


@pytest.mark.stores("sqlite-file")
def test_a_deleted_job_leaves_nothing_in_sqlite(store: Store, store_url: str) -> None:
    for fate in FATES:
        queue = new_queue()

        job_id = fate(store, queue)

        assert states_of(store, [job_id])[0] in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)
        assert store.delete_jobs([job_id]) == [True]
        with closing(sqlite3.connect(store_url.removeprefix("sqlite:///"))) as db:
            tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            left = {
                (name, row) for name in tables for row in map(str, db.execute(f"SELECT * FROM {name}")) if job_id in row
            }
        assert left == set(), fate.__name__
