"""Jobs that are looked for by their id alone among many queues of a Redis Cluster."""

import time
from collections.abc import Iterator

import pytest

from rota.errors import StoreUnavailable
from rota.store import Store, open_store
from rota.store.redis.keys import QueueKeys
from tests.contract.building import enqueue, new_queue, spec
from tests.contract.steps import count_steps, lose_answer, run_with
from tests.patience import LONG_DEADLINE_S
from tests.servers import POLL_S, RedisCluster, RedisServer, raw_command

MANY = 40
"""Queues, so that each server has some of them."""


@pytest.fixture
def cluster() -> Iterator[RedisCluster]:
    with RedisCluster() as cluster:
        yield cluster


@pytest.fixture
def store(cluster: RedisCluster) -> Iterator[Store]:
    opened = open_store(f"{cluster.url}?answer_timeout_s=120")
    yield opened
    opened.close()


def add_queues(store: Store, number: int) -> list[str]:
    """Queues with a job each, of which the store knows; returns the jobs."""
    ids = enqueue(store, *(spec(new_queue()) for _ in range(number)))
    assert store.find_jobs([new_queue()]) == [None]  # so that the queues are read anew
    return ids


def found(store: Store, ids: list[str]) -> list[str | None]:
    return [job.id if job else None for job in store.find_jobs(ids)]


def test_finding_a_job_costs_one_round_trip_to_each_server_whatever_the_number_of_queues(
    store: Store, cluster: RedisCluster
) -> None:
    ids = add_queues(store, MANY)
    store.find_jobs([ids[0]])  # so that its server knows all scripts

    def steps() -> int:
        return count_steps(store, lambda: store.find_jobs([ids[0]]))

    few = steps()
    add_queues(store, 3 * MANY)

    assert few == len(cluster.servers) + 1, "the servers are asked for its queue, and that for the job"
    assert steps() == few


def test_jobs_are_found_by_servers_that_have_forgotten_the_scripts(store: Store, cluster: RedisCluster) -> None:
    ids = add_queues(store, MANY)
    for server in cluster.servers:
        raw_command(server.port, "SCRIPT", "FLUSH")

    assert found(store, ids) == ids


def test_jobs_are_found_also_if_all_connections_broke(store: Store, cluster: RedisCluster) -> None:
    ids = add_queues(store, MANY)
    for server in cluster.servers:
        raw_command(server.port, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    assert found(store, ids) == ids


def test_jobs_are_found_also_if_any_answer_is_lost(store: Store) -> None:
    ids, number, is_reached = add_queues(store, MANY), 0, True

    while is_reached:
        answer, is_reached = run_with(store, number, lambda: found(store, ids[:2]), after=lose_answer)
        assert answer == ids[:2], number
        number += 1


def test_a_job_is_found_in_a_queue_whose_slot_has_moved(store: Store, cluster: RedisCluster) -> None:
    ids = add_queues(store, MANY)
    queue = empty_slot_queue(cluster)
    old = cluster.server_of(QueueKeys(queue).jobs)
    new = next(server for server in cluster.servers if server is not old)
    move_slot(cluster, queue, old, new)
    other = open_store(cluster.url)
    ids += enqueue(other, spec(queue))
    other.close()

    assert found(store, ids) == ids
    assert raw_command(new.port, "HLEN", QueueKeys(queue).jobs) == "1"


def empty_slot_queue(cluster: RedisCluster) -> str:
    """A queue whose slot has no keys."""
    while True:
        queue = new_queue()
        server, slot = cluster.server_of(QueueKeys(queue).jobs), slot_of(cluster, queue)
        if raw_command(server.port, "CLUSTER", "COUNTKEYSINSLOT", slot) == "0":
            return queue


def slot_of(cluster: RedisCluster, queue: str) -> int:
    return int(raw_command(cluster.servers[0].port, "CLUSTER", "KEYSLOT", QueueKeys(queue).jobs))


def move_slot(cluster: RedisCluster, queue: str, old: RedisServer, new: RedisServer) -> None:
    slot, name = slot_of(cluster, queue), raw_command(new.port, "CLUSTER", "MYID")
    for server in (new, old, *cluster.servers):
        raw_command(server.port, "CLUSTER", "SETSLOT", slot, "NODE", name)


def test_jobs_are_found_after_another_server_took_the_place_of_theirs(store: Store, cluster: RedisCluster) -> None:
    ids = add_queues(store, MANY)

    cluster.take_over(cluster.servers[0])

    assert found_at_last(store, ids) == ids


def found_at_last(store: Store, ids: list[str]) -> list[str | None]:
    """What is found once the servers have told each other who has which slots."""
    end = time.monotonic() + LONG_DEADLINE_S
    while True:
        try:
            return found(store, ids)
        except StoreUnavailable:
            assert time.monotonic() < end
            time.sleep(POLL_S)
