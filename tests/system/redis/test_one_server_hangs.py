"""A cluster of which one server hangs: it takes connections and answers nothing. Nobody gives up on it within these
tests, so what happens to the others' queues happens beside it, and not after it."""

import os
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from rota.model.events.configuration_request import read_configuration
from rota.model.job import JobState
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.schedules.request import ScheduleRequest
from rota.store import Store, open_store
from rota.store.redis.keys import CONFIGURATION_QUEUES, EVENT_RECORDS, NODE_TYPES, SCHEDULE_QUEUES, SETTINGS, QueueKeys
from tests.contract.building import claim, finish, new_queue, succeed
from tests.installation import Installation
from tests.servers import RedisCluster, RedisServer, freeze, wait_until
from tests.system.crew import Crew

PER_SERVER = 2


@contextmanager
def hanging(server: RedisServer) -> Iterator[None]:
    freeze(server.pid)
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


class Spread(Installation):
    """An installation with some queues on each server of a cluster, and a job type for each queue."""

    def __init__(self, cluster: RedisCluster, store: Store) -> None:
        super().__init__(store)
        self.cluster = cluster
        self.on: dict[str, list[str]] = {server.address: [] for server in cluster.servers}
        while any(len(queues) < PER_SERVER for queues in self.on.values()):
            queue = new_queue()
            queues = self.on[cluster.server_of(QueueKeys(queue).jobs).address]
            if len(queues) < PER_SERVER:
                queues.append(queue)
                self.definitions.define(
                    [NodeType(uuid=queue, name=queue)],
                    [JobType(uuid=new_queue(), name=f"of {queue}", executor="log", node_type=queue)],
                )

    def beside(self, server: RedisServer) -> list[str]:
        """The queues of the other servers."""
        return [queue for address, queues in self.on.items() if address != server.address for queue in queues]

    def await_more(self, queues: list[str], count: int) -> None:
        """Wait until each of these queues has so many jobs more that wait to be run."""
        before = {queue: self.waiting_in(queue) for queue in queues}
        wait_until(
            lambda: all(self.waiting_in(queue) >= before[queue] + count for queue in queues),
            f"{count} more jobs in each of {len(queues)} queues",
        )

    def waiting_in(self, queue: str) -> int:
        return self.store.count_jobs(queue)[JobState.QUEUED]


@pytest.fixture
def cluster() -> Iterator[RedisCluster]:
    with RedisCluster() as cluster:
        yield cluster


@pytest.fixture
def spread(cluster: RedisCluster) -> Iterator[Spread]:
    with closing(open_store(cluster.url)) as store:
        yield Spread(cluster, store)


@pytest.fixture
def crew(cluster: RedisCluster, tmp_path: Path) -> Iterator[Crew]:
    """Its nodes wait for an answer for an hour."""
    with Crew(f"{cluster.url}?answer_timeout_s=3600", tmp_path) as crew:
        yield crew


@pytest.mark.parametrize("key", [NODE_TYPES.bodies, SCHEDULE_QUEUES, EVENT_RECORDS])
def test_schedules_in_the_queues_of_the_other_servers_fire(spread: Spread, crew: Crew, key: str) -> None:
    """Whatever else the server has that hangs: the definitions, the names of schedules, or neither."""
    server = spread.cluster.server_of(key)
    for queue in [queue for queues in spread.on.values() for queue in queues]:
        spread.engine.schedules.create(ScheduleRequest(job_type=f"of {queue}", interval=1_000, overlap="allow"))
    crew.hire_rota("scheduler")
    spread.await_more([queue for queues in spread.on.values() for queue in queues], 1)

    with hanging(server):
        spread.await_more(spread.beside(server), 2)

    spread.await_more(spread.on[server.address], 1)


def test_ends_of_jobs_in_the_queues_of_the_other_servers_are_told(spread: Spread, crew: Crew) -> None:
    """Of a server that has neither the configurations nor the events: those need an answer."""
    server = spread.cluster.server_of(SETTINGS)
    assert server not in [spread.cluster.server_of(key) for key in (CONFIGURATION_QUEUES, EVENT_RECORDS)]
    first, second = spread.beside(server)[:2]
    wish = {
        "name": "after",
        "job": {"job_type": f"of {second}"},
        "dependencies": [{"type": "JOB", "resourceId": f"of {first}", "lifeDuration": 0}],
    }
    spread.engine.configurations.create(read_configuration(wish, ()))
    for queue in [*spread.on[server.address], first, first, first]:
        spread.enqueue(f"of {queue}")  # everywhere, so that whoever looks for jobs looks at the server too
    crew.hire_rota("scheduler")

    def end_one_and_hear_of_it() -> None:
        before, now = spread.waiting_in(second), spread.clock.now()
        (claimed,) = claim(spread.store, first, limit=1, now=now)
        finish(spread.store, succeed(claimed, now), now=now)
        wait_until(lambda: spread.waiting_in(second) == before + 1, "the end to be told")

    end_one_and_hear_of_it()
    with hanging(server):
        end_one_and_hear_of_it()
        end_one_and_hear_of_it()
