"""The stores of the soak, each with the faults that only it knows. Nodes and producers reach it by `url`, the judge by
`plain_url`, which no fault cuts off."""

import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from rota.store.redis.link.scripts import SCRIPTS
from tests.servers import RedisCluster, RedisServer, raw_command
from tests.system.proxy import Proxy

DURABLE = {"appendonly": "yes", "appendfsync": "always"}
"""What Redis acknowledged is on disk, so that whatever is lost when it is killed was lost by others."""
LONGEST_OUTAGE_S = 30.0
_DISTURBED = ("claim_jobs", "finish_jobs", "enqueue_jobs", "renew_claims", "fire_schedules")


class StoreFault(Struct, frozen=True):
    """Something that happens to the store. It takes `seconds`, drawn from the range, and then is over."""

    name: str
    happen: Callable[[float], None]
    shortest_s: float = 0.0
    longest_s: float = 0.0
    is_outage: bool = True
    """Nobody can use the store meanwhile, so nobody can watch over others."""
    is_partial: bool = False
    """Only a part of the store is away: whoever watches in another part goes on."""
    can_look: bool = False
    """It can be read meanwhile, and not written."""


class SoakStore(Struct, frozen=True):
    """A store that is under test."""

    kind: str
    url: str
    plain_url: str
    faults: list[StoreFault]
    ports: list[int] = []
    """Of its Redis servers."""


@contextmanager
def sqlite(folder: Path, chance: random.Random) -> Iterator[SoakStore]:
    """A file that a foreign program locks now and then."""
    path = folder / "rota.db"

    def hold_lock(seconds: float) -> None:
        with _foreign_transaction(path):
            time.sleep(seconds)

    url = f"sqlite:///{path}"
    locked = StoreFault("foreign lock on the file", hold_lock, 2.0, LONGEST_OUTAGE_S, can_look=True)
    yield SoakStore("sqlite", url, url, [locked])


@contextmanager
def _foreign_transaction(path: Path) -> Iterator[None]:
    database = sqlite3.connect(path, isolation_level=None, timeout=30.0)
    try:
        database.execute("BEGIN IMMEDIATE")
        yield
        database.execute("ROLLBACK")
    finally:
        database.close()


@contextmanager
def redis(folder: Path, chance: random.Random) -> Iterator[SoakStore]:
    """A single Redis behind a proxy that breaks connections."""
    with RedisServer(DURABLE) as server, Proxy(server.port) as proxy:

        def swallow(seconds: float) -> None:
            proxy.swallow_replies(SCRIPTS[chance.choice(_DISTURBED)].sha.encode(), chance.randint(1, 3))

        faults = [
            *_server_faults([server], chance),
            StoreFault("connections reset", lambda _: proxy.reset_all(), is_outage=False),
            StoreFault("connections silent", lambda _: proxy.freeze(), is_outage=False),
            StoreFault("replies lost", swallow, is_outage=False),
        ]
        yield SoakStore("redis", f"redis://127.0.0.1:{proxy.ports[0]}/0", server.url, faults, [server.port])


@contextmanager
def redis_cluster(folder: Path, chance: random.Random) -> Iterator[SoakStore]:
    """Three primaries; a fault meets one of them, and whoever asks the others goes on."""
    with RedisCluster(DURABLE) as cluster:
        faults = _server_faults(cluster.servers, chance)
        yield SoakStore("redis-cluster", cluster.url, cluster.url, faults, [server.port for server in cluster.servers])


def _server_faults(servers: Sequence[RedisServer], chance: random.Random) -> list[StoreFault]:
    def hang(seconds: float) -> None:
        pid = chance.choice(servers).pid
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            os.kill(pid, signal.SIGCONT)

    def crash(seconds: float) -> None:
        server = chance.choice(servers)
        server.kill9()
        time.sleep(seconds)
        server.restart()

    def forget_scripts(seconds: float) -> None:
        for server in servers:
            raw_command(server.port, "SCRIPT", "FLUSH")

    is_partial = len(servers) > 1
    return [
        StoreFault("Redis hangs", hang, 5.0, LONGEST_OUTAGE_S, is_partial=is_partial),
        StoreFault("Redis killed and restarted", crash, 0.0, 5.0, is_partial=is_partial),
        StoreFault("scripts forgotten", forget_scripts, is_outage=False),
    ]


STORES = {"sqlite": sqlite, "redis": redis, "redis-cluster": redis_cluster}
