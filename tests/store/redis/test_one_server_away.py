"""A cluster of which one server is away: what the others have is found."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from rota.errors import StoreUnavailable
from rota.store import Store, open_store
from rota.store.redis.keys import QUEUES, QueueKeys
from tests.contract.building import enqueue, new_queue, spec
from tests.servers import RedisCluster


@pytest.fixture
def cluster() -> Iterator[RedisCluster]:
    with RedisCluster() as cluster:
        yield cluster


def lose_a_server(cluster: RedisCluster, store: Store) -> tuple[list[str], list[str]]:
    """Kill a server that has queues and not their names; returns the jobs that it had, and those of the others."""
    names = cluster.server_of(QUEUES)
    lost = next(server for server in cluster.servers if server is not names)
    gone, left = list[str](), list[str]()
    while len(gone) < 3 or len(left) < 3:
        queue = new_queue()
        kept_by = cluster.server_of(QueueKeys(queue).jobs)
        (gone if kept_by is lost else left).extend(enqueue(store, spec(queue)))
    store.find_jobs([*gone, *left])  # the queues are known from now on
    lost.kill9()
    return gone, left


def test_jobs_of_the_other_servers_are_found(cluster: RedisCluster) -> None:
    with closing(open_store(cluster.url)) as store:
        _, left = lose_a_server(cluster, store)

        assert [job.id for job in store.find_jobs(left) if job] == left


def test_of_a_job_that_no_other_has_it_is_not_said_that_it_is_gone(cluster: RedisCluster) -> None:
    with closing(open_store(cluster.url)) as store:
        gone, left = lose_a_server(cluster, store)

        with pytest.raises(StoreUnavailable):
            store.find_jobs([*left, gone[0]])
