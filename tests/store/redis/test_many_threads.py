"""A program of many threads, which all use one store."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager

import pytest

from rota.model.job import JobState
from rota.store import open_store
from tests.contract.building import counts, enqueue, new_queue, spec
from tests.patience import LONG_DEADLINE_S
from tests.servers import RedisCluster, RedisSentinel, RedisServer, raw_command, wait_until

MANY = 150
"""More than redis-py lets one client have connections, by itself."""


@contextmanager
def writing_nothing(port: int) -> Iterator[None]:
    """A server that is too slow for now."""
    raw_command(port, "CLIENT", "PAUSE", round(2_000 * LONG_DEADLINE_S), "WRITE")
    try:
        yield
    finally:
        raw_command(port, "CLIENT", "UNPAUSE")


@pytest.mark.parametrize("kind", [RedisServer, RedisSentinel, RedisCluster])
def test_threads_wait_for_a_slow_server_however_many_they_are(
    kind: type[RedisServer | RedisSentinel | RedisCluster],
) -> None:
    with (
        kind() as servers,
        closing(open_store(f"{servers.url}?answer_timeout_s={2 * LONG_DEADLINE_S:.0f}")) as store,
        ThreadPoolExecutor(MANY) as threads,
    ):
        queue = new_queue()
        enqueue(store, spec(queue))
        ports = (
            [servers.primary_port()] if isinstance(servers, RedisSentinel) else [one.port for one in servers.servers]
        )

        with ExitStack() as slow:
            for port in ports:
                slow.enter_context(writing_nothing(port))
            calls = [threads.submit(enqueue, store, spec(queue)) for _ in range(MANY)]
            wait_until(lambda: store.contacts >= MANY or any(one.done() for one in calls), "all of them to have asked")

        for one in calls:
            one.result()
        assert counts(store, queue) == {JobState.QUEUED: 1 + MANY}
