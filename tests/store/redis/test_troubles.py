"""A Redis that answers but refuses to write, or lost what it had acknowledged, says so."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.errors import InvalidInput, StoreUnavailable
from rota.store import open_store
from rota.store.redis.keys import LOSSES, PROBE
from rota.store.redis.link.troubles import Troubles
from rota.store.redis.store import RedisStore
from tests.contract.building import NOW, counts, enqueue, new_queue, spec
from tests.ports import HOST
from tests.servers import RedisCluster, RedisServer, raw_command, troubled, wait_until
from tests.system.proxy import Proxy


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer({"save": "3600 1"}) as server:
        yield server


@pytest.fixture
def store(server: RedisServer) -> Iterator[RedisStore]:
    opened = RedisStore.open(server.url)
    yield opened
    opened.close()


def test_a_server_that_is_well_has_no_troubles(store: RedisStore) -> None:
    assert [store.troubles(), store.troubles()] == [[], []]


def test_what_was_lost_is_told_for_a_minute_and_kept_for_a_day(store: RedisStore) -> None:
    seconds = [0.0]
    troubles = Troubles(store._link, lambda: seconds[0])
    assert troubles.look() == []
    store.access().ask("zadd", LOSSES, {"two days ago": store.now() - 48 * 3_600_000})
    assert troubles.past() == [], "that is too long ago"

    store.access().ask("delete", PROBE)

    (told,) = troubles.look()
    assert "a number in it went back" in told
    seconds[0] = 59.0
    assert troubles.look() == [told]
    seconds[0] = 61.0
    assert troubles.look() == []
    (kept,) = troubles.past()
    assert kept.startswith(told)
    assert store.access().ask("zcard", LOSSES) == 1
    (lost_at,) = (at for _, at in store.access().ask("zrange", LOSSES, 0, -1, withscores=True))
    store.access().ask("zadd", LOSSES, {told: lost_at - 23 * 3_600_000})
    assert len(troubles.past()) == 1, "it is less than a day ago"


def test_a_full_memory_is_told_until_there_is_room(server: RedisServer, store: RedisStore) -> None:
    raw_command(server.port, "CONFIG", "SET", "maxmemory", 1)

    assert store.troubles() == ["the store refuses to write: its memory is full; raise maxmemory, or keep less history"]

    raw_command(server.port, "CONFIG", "SET", "maxmemory", 0)
    assert store.troubles() == []


def test_a_snapshot_that_failed_is_told(server: RedisServer, store: RedisStore) -> None:
    # A folder stands where the file is to be.
    folder = Path(raw_command(server.port, "CONFIG", "GET", "dir").splitlines()[1])
    (folder / "dump.rdb" / "in the way").mkdir(parents=True)
    enqueue(store, spec(new_queue()))
    raw_command(server.port, "BGSAVE")
    wait_until(lambda: server.info("persistence")["rdb_last_bgsave_status"] == "err", "the snapshot to fail")

    troubles = store.troubles()

    assert any("refuses to write: it could not save to its disk" in one for one in troubles)


def test_a_primary_that_became_a_replica_is_told(server: RedisServer, store: RedisStore) -> None:
    with RedisServer() as other:
        raw_command(server.port, "REPLICAOF", HOST, other.port)

        assert any("refuses to write: it is a replica" in one for one in store.troubles())


def test_too_few_replicas_are_told(server: RedisServer, store: RedisStore) -> None:
    raw_command(server.port, "CONFIG", "SET", "min-replicas-to-write", 1)

    assert any("refuses to write: too few replicas" in one for one in store.troubles())


def test_a_server_that_is_away_is_an_error(server: RedisServer, store: RedisStore) -> None:
    server.kill9()

    with pytest.raises(StoreUnavailable):
        store.troubles()


@pytest.mark.parametrize(
    ("setting", "reason"),
    [("maxmemory", "its memory is full"), ("min-replicas-to-write", "too few replicas follow it")],
)
def test_every_server_of_a_cluster_is_tried_and_named(redis_cluster: RedisCluster, setting: str, reason: str) -> None:
    store = RedisStore.open(redis_cluster.url)
    assert store.troubles() == []
    for server in redis_cluster.servers:
        with troubled(server, setting):
            (told,) = store.troubles()

        assert told.startswith(f"the store refuses to write on {server.address}: {reason}")
    assert store.troubles() == []
    store.close()


def test_a_server_of_a_cluster_that_lost_what_it_had_is_told(redis_cluster: RedisCluster) -> None:
    for server in redis_cluster.servers:
        store = RedisStore.open(redis_cluster.url)
        assert store.troubles() == []

        server.flush()

        assert any("a number in it went back" in one for one in store.troubles())
        store.close()


class Pair:
    """A primary, a replica that follows it through a way that can be cut, and the store's address in front of both."""

    def __init__(self, primary: RedisServer, replica: RedisServer, way: Proxy, front: Proxy) -> None:
        self._primary, self._replica, self._way, self._front = primary, replica, way, front

    def url(self, options: str = "") -> str:
        return f"redis://{HOST}:{self._front.ports[0]}/0{options}"

    def await_replica(self) -> None:
        """Wait until the replica has all that the primary was given."""

        def is_level() -> bool:
            offsets = [server.info("replication")["master_repl_offset"] for server in (self._primary, self._replica)]
            return offsets[0] == offsets[1]

        wait_until(is_level, "the replica to have everything")

    def cut(self) -> None:
        """The replica gets nothing more, and nobody notices."""
        self._way.freeze()

    def fail_over(self) -> None:
        self._primary.kill9()
        raw_command(self._replica.port, "REPLICAOF", "NO", "ONE")
        self._front.turn_to(self._replica.port)


@pytest.fixture
def pair() -> Iterator[Pair]:
    with (
        RedisServer() as primary,
        Proxy(primary.port) as way,
        RedisServer({"replicaof": f"{HOST} {way.ports[0]}"}) as replica,
        Proxy(primary.port) as front,
    ):
        wait_until(lambda: replica.info("replication")["master_link_status"] == "up", "the replica to follow")
        wait_until(lambda: "state=online" in primary.info("replication").get("slave0", ""), "the primary to know it")
        yield Pair(primary, replica, way, front)


def test_a_fail_over_that_lost_acknowledged_writes_is_told(pair: Pair) -> None:
    store = RedisStore.open(pair.url())
    assert store.troubles() == []
    pair.await_replica()
    pair.cut()
    assert store.troubles() == []

    pair.fail_over()

    told = " ".join(store.troubles())
    assert "a number in it went back" in told
    assert "a fail-over lost at least" in told
    assert store.troubles(), "it is told for a while"
    store.close()
    later = RedisStore.open(pair.url())
    assert later.troubles() == []
    assert any("a fail-over lost at least" in one for one in later.problems())
    later.close()


def test_a_fail_over_that_may_have_lost_something_is_told_as_that(pair: Pair) -> None:
    store = RedisStore.open(pair.url())
    assert store.troubles() == []
    pair.await_replica()

    pair.fail_over()

    (told,) = store.troubles()
    assert "may be lost" in told
    assert not any("lost" in one and "fail-over" in one for one in store.problems())
    store.close()


def test_an_enqueue_is_acknowledged_when_replicas_have_it(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.store.redis.link.link._REPLICA_PATIENCE_MS", 60_000)
    store = open_store(pair.url("?wait_replicas=1&answer_timeout_s=90"))
    queue = new_queue()

    (job_id,) = enqueue(store, spec(queue))
    pair.fail_over()

    assert store.find_jobs([job_id])[0] is not None
    store.close()


def test_an_enqueue_that_replicas_do_not_confirm_is_an_error_and_may_be_repeated(pair: Pair) -> None:
    store = open_store(pair.url("?wait_replicas=1"))
    job = spec(new_queue())
    pair.cut()

    with pytest.raises(StoreUnavailable, match="0 of 1 replicas confirmed it"):
        store.enqueue_jobs([job], now=NOW)
    with pytest.raises(StoreUnavailable, match="0 of 1 replicas confirmed it"):
        store.enqueue_jobs([job], now=NOW)

    assert sum(counts(store, job.queue).values()) == 1
    store.close()


def test_replicas_are_waited_for_on_a_cluster_too(redis_cluster: RedisCluster) -> None:
    store = open_store(f"{redis_cluster.url}?wait_replicas=1")

    with pytest.raises(StoreUnavailable, match="0 of 1 replicas confirmed it"):
        enqueue(store, spec(new_queue()))

    store.close()


def test_a_number_of_replicas_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match="wait_replicas must be a number"):
        open_store("redis://127.0.0.1:1/0?wait_replicas=all")
