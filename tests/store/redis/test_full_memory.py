"""A Redis whose memory is full takes no new jobs, but hears the end of those that it gave out."""

from collections.abc import Iterator

import pytest

from rota.errors import StoreFull
from rota.model.ids import new_id
from rota.model.job import Claim, JobState
from rota.model.node import Node
from rota.store import Store, open_store
from rota.store.contract.jobs import CancelAnswer
from rota.store.contract.queues import Cancellation
from rota.store.redis.keys import QueueKeys
from tests.contract.building import (
    NOW,
    beat,
    claim,
    claim_all,
    claim_one,
    counts,
    enqueue,
    fail_and_retry,
    finish,
    given,
    interrupt,
    log_batch,
    new_node,
    new_queue,
    renew,
    spec,
    state_of,
    succeed,
)
from tests.servers import RedisCluster, RedisServer, raw_command


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def store(server: RedisServer) -> Iterator[Store]:
    opened = open_store(server.url)
    yield opened
    opened.close()


def fill(server: RedisServer) -> None:
    """From now on the server has more in memory than it may have."""
    raw_command(server.port, "CONFIG", "SET", "maxmemory", 1)


def claimed(store: Store, queue: str, count: int, *, node: str | None = None) -> list[Claim]:
    enqueue(store, *(spec(queue) for _ in range(count)))
    return claim(store, queue, node=node)


def test_no_job_is_accepted_and_the_error_says_that_the_store_is_full(server: RedisServer, store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    fill(server)

    with pytest.raises(StoreFull, match="nothing was written"):
        enqueue(store, spec(queue), spec(queue))

    assert counts(store, queue) == {JobState.QUEUED: 1}


def test_many_jobs_are_accepted_whole_or_not_at_all(server: RedisServer, store: Store) -> None:
    queue, many = new_queue(), 10_000
    used = int(server.info("memory")["used_memory"])
    raw_command(server.port, "CONFIG", "SET", "maxmemory", used + 12_000_000)

    def enqueue_for_ever() -> None:
        while True:
            enqueue(store, *(spec(queue, unique_key=new_id(NOW)) for _ in range(many)))

    with pytest.raises(StoreFull, match="nothing was written"):
        enqueue_for_ever()

    accepted = counts(store, queue)[JobState.QUEUED]
    assert accepted > 0
    assert accepted % many == 0


def test_an_error_says_what_was_accepted_if_one_shard_of_a_cluster_is_full(redis_cluster: RedisCluster) -> None:
    store = open_store(redis_cluster.url)
    with_room, full = new_queue(), new_queue()
    while _shard_of(redis_cluster, full) is _shard_of(redis_cluster, with_room):
        full = new_queue()
    enqueue(store, spec(with_room), spec(full))
    raw_command(_shard_of(redis_cluster, full).port, "CONFIG", "SET", "maxmemory", 1)

    with pytest.raises(StoreFull, match="1 of 2 queues were accepted"):
        enqueue(store, spec(with_room), spec(full))

    raw_command(_shard_of(redis_cluster, full).port, "CONFIG", "SET", "maxmemory", 0)
    assert [counts(store, queue)[JobState.QUEUED] for queue in (with_room, full)] == [2, 1]
    store.close()


def _shard_of(cluster: RedisCluster, queue: str) -> RedisServer:
    return cluster.server_of(QueueKeys(queue).jobs)


def test_ends_are_told_whatever_they_write(server: RedisServer, store: Store) -> None:
    queue = new_queue()
    one, other, third, fourth = claimed(store, queue, 4)
    fill(server)

    assert finish(store, succeed(one)) == frozenset()
    assert finish(store, fail_and_retry(other)) == frozenset()
    assert finish(store, interrupt(third)) == frozenset()
    assert finish(store, succeed(fourth, results={"rows": 1_000})) == frozenset()

    assert counts(store, queue) == {JobState.SUCCEEDED: 2, JobState.DELAYED: 1, JobState.QUEUED: 1}


def test_log_lines_are_refused(server: RedisServer, store: Store) -> None:
    (held,) = claimed(store, new_queue(), 1)
    fill(server)

    with pytest.raises(StoreFull):
        store.append_logs([log_batch(held, "a line")])


def test_what_waits_is_given_out_and_what_is_due_is_made_ready(server: RedisServer, store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue), spec(queue, run_at=NOW + 1))
    fill(server)

    assert len(claim_all(store, queue, now=NOW + 1)) == 2


def test_a_node_beats_renews_and_recovers(server: RedisServer, store: Store) -> None:
    queue, node = new_queue(), new_node()
    (held,) = claimed(store, queue, 1, node=node)
    fill(server)

    beat(store, Node(uuid=node, node_type=queue, last_ping=NOW, started_at=NOW))
    renewal = renew(store, queue, node, held)
    recovered = store.recover_claims(queue, node, {}, floor=0, now=NOW)

    assert [one.uuid for one in store.list_nodes(since=0)] == [node]
    assert (renewal.cancelled, renewal.lost) == ([], [])
    assert recovered == 1
    assert given(store, queue) == [held.spec.id]


def test_jobs_are_cancelled_and_forgotten(server: RedisServer, store: Store) -> None:
    queue = new_queue()
    node = new_node()
    running, ended = claimed(store, queue, 2, node=node)
    finish(store, succeed(ended))
    (waiting,) = enqueue(store, spec(queue))
    waker = store.waker(queue, node)
    fill(server)

    assert store.cancel_jobs([running.spec.id, waiting], now=NOW) == [CancelAnswer.REQUESTED, CancelAnswer.CANCELLED]
    assert waker.wait(10.0, wants_jobs=False) == [Cancellation(running.spec.id, running.token)]
    assert store.delete_jobs([ended.spec.id]) == [True]
    assert state_of(store, waiting) is JobState.CANCELLED
    waker.close()


def test_a_paused_queue_is_resumed(server: RedisServer, store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    store.pause_queue(queue)
    fill(server)

    store.resume_queue(queue)

    assert claim_one(store, queue)


def test_jobs_are_accepted_again_when_there_is_room(server: RedisServer, store: Store) -> None:
    queue = new_queue()
    fill(server)
    with pytest.raises(StoreFull):
        enqueue(store, spec(queue))

    raw_command(server.port, "CONFIG", "SET", "maxmemory", 0)

    assert len(enqueue(store, spec(queue))) == 1
