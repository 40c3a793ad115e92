"""A cluster of which one server is away, or refuses to write: what the others have is found."""

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import count

import pytest

from rota.engine.definitions.moves import move_schedule
from rota.errors import StoreUnavailable
from rota.store import Store, open_store
from rota.store.contract.schedules import ScheduleEntry
from rota.store.redis.keys import QUEUES, QueueKeys
from tests.contract.building import NOW, claim_all, enqueue, finish, new_node, new_queue, renew, spec, succeed
from tests.contract.schedules.scheduling import LEASE_MS, firing, found, put, schedule
from tests.contract.steps import die, run_with
from tests.servers import RedisCluster, RedisServer, troubled, wait_until


@pytest.fixture
def cluster() -> Iterator[RedisCluster]:
    with RedisCluster() as cluster:
        yield cluster


def server_beside(cluster: RedisCluster, key: str) -> RedisServer:
    """One that does not have this key."""
    there = cluster.server_of(key)
    return next(server for server in cluster.servers if server is not there)


def lose_a_server(cluster: RedisCluster, store: Store) -> tuple[list[str], list[str]]:
    """Kill a server that has queues and not their names; returns the jobs that it had, and those of the others."""
    lost = server_beside(cluster, QUEUES)
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


# -- schedules that are due -----------------------------------------------------------------------------------------


def queue_of(cluster: RedisCluster, server: RedisServer) -> str:
    """A queue that this server has."""
    while True:
        queue = new_queue()
        if cluster.server_of(QueueKeys(queue).jobs) is server:
            return queue


def put_with_job(store: Store, queue: str) -> ScheduleEntry:
    """A schedule that is due, and whose last job has ended."""
    one = put(store, schedule(queue)).schedule
    assert store.fire_schedules(queue, [firing(found(store, one), spec(queue), due=NOW)], now=NOW) == [True]
    finish(store, *map(succeed, claim_all(store, queue)))
    return found(store, one)


def claim_due(store: Store, queue: str, now: int = NOW) -> list[str]:
    due = store.claim_due_schedules(queue, now=now, lease_ms=LEASE_MS, limit=100)
    return [entry.schedule.uuid for entry in due.entries]


def test_only_a_schedule_whose_job_may_be_on_a_server_that_is_away_waits_for_it(cluster: RedisCluster) -> None:
    """One whose job is not in its queue any more: it was forgotten, or is where the schedule was before."""
    with closing(open_store(cluster.url)) as store:
        lost = server_beside(cluster, QUEUES)
        enqueue(store, spec(queue_of(cluster, lost)))
        queue = queue_of(cluster, cluster.server_of(QUEUES))
        unsure, sure = put_with_job(store, queue), put_with_job(store, queue)
        assert store.delete_jobs(list(unsure.state.jobs)) == [True]
        lost.kill9()

        assert claim_due(store, queue) == [sure.schedule.uuid]
        lost.restart()
        wait_until(lambda: is_whole(store, unsure), "the server to be one of the cluster again")
        assert claim_due(store, queue, NOW + LEASE_MS) == [unsure.schedule.uuid, sure.schedule.uuid]


def is_whole(store: Store, entry: ScheduleEntry) -> bool:
    try:
        return store.find_jobs(entry.state.jobs) == [None]
    except StoreUnavailable:
        return False


def test_only_a_schedule_that_is_on_its_way_to_a_server_that_is_away_waits_for_it(
    cluster: RedisCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever moves it dies, at any step."""
    monkeypatch.setattr("rota.store.redis.nouns.schedules.moves.LONGEST_MOVE_MS", 0)
    with closing(open_store(cluster.url)) as store:
        lost = server_beside(cluster, QUEUES)
        queue, other = queue_of(cluster, cluster.server_of(QUEUES)), queue_of(cluster, lost)
        for number in count():
            moving = put(store, schedule(queue), due=None)
            if not run_with(store, number, partial(move_schedule, store, moving, other), before=die).is_reached:
                break
        stays = put(store, schedule(queue))
        lost.kill9()

        assert claim_due(store, queue, store.now(queue=queue)) == [stays.schedule.uuid]
