"""A cluster of which one server is away, or refuses to write: what the others have is found."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from rota.errors import StoreUnavailable
from rota.store import Store, open_store
from rota.store.redis.keys import QUEUES, QueueKeys
from tests.contract.building import enqueue, new_node, new_queue, renew, spec
from tests.servers import RedisCluster, troubled


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


def test_who_asks_about_one_queue_asks_its_server_only(cluster: RedisCluster) -> None:
    with closing(open_store(cluster.url)) as store:
        gone, left = lose_a_server(cluster, store)
        queues = [job.spec.queue for job in store.find_jobs(left) if job]

        assert store.find_jobs([*gone, left[0]], queue=queues[0])[-1] is not None
        assert len([store.now(queue=queue) for queue in queues * 20]) == len(queues) * 20


def test_of_a_job_that_no_other_has_it_is_not_said_that_it_is_gone(cluster: RedisCluster) -> None:
    with closing(open_store(cluster.url)) as store:
        gone, left = lose_a_server(cluster, store)

        with pytest.raises(StoreUnavailable):
            store.find_jobs([*left, gone[0]])


def test_to_try_to_write_is_refused_where_signs_of_life_are(cluster: RedisCluster) -> None:
    """Others of the cluster may take them all the while."""
    with closing(open_store(cluster.url)) as store:
        queue, node = new_queue(), new_node()
        server = cluster.server_of(QueueKeys(queue).pulses)
        renew(store, queue, node)

        with troubled(server, "min-replicas-to-write"):
            for write in (lambda: renew(store, queue, node), lambda: store.try_to_write(queue)):
                with pytest.raises(StoreUnavailable):
                    write()
            assert store.read_pulses(queue).keys() == {node}
        store.try_to_write(queue)
