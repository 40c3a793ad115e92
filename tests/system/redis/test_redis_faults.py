"""Redis that is killed, hangs, forgets its scripts or its data, or answers into the void: one server, or a cluster."""

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest

from rota.engine.definitions.definitions import DEFAULT_NODE_TYPE
from rota.engine.jobs.intake import JobRequest
from rota.errors import StoreUnavailable
from rota.model.job import JobState
from rota.model.node import NodeType
from rota.store import Store, open_store
from rota.store.redis.keys import QueueKeys
from rota.store.redis.link.scripts import SCRIPTS
from tests.contract.building import claim, spec
from tests.servers import RedisCluster, RedisSentinel, RedisServer, freeze, raw_command
from tests.system.conftest import DURABLE
from tests.system.crew import Crew, WorkerProcess
from tests.system.installation import SystemInstallation
from tests.system.proxy import proxied
from tests.system.redis.producer import Producer

HOUR_LEASE_MS = 4 * 3_600_000
"""No watchdog helps: the workers have to find by themselves what was lost on the way."""


TIMEOUT_S = 10
"""How long the tests of servers that hang wait for an answer, so that they do not wait for long."""

DurableRedis = RedisServer | RedisCluster


@pytest.fixture(params=["single", "cluster"])
def durable_redis(request: pytest.FixtureRequest) -> Iterator[DurableRedis]:
    with RedisServer(DURABLE) if request.param == "single" else RedisCluster(DURABLE) as servers:
        yield servers


@pytest.fixture
def url(durable_redis: DurableRedis) -> str:
    return durable_redis.url


def impatient(url: str) -> str:
    return f"{url}?answer_timeout_s={TIMEOUT_S}"


@contextmanager
def hanging(servers: Sequence[RedisServer]) -> Iterator[None]:
    """Servers that neither answer nor hang up."""
    for server in servers:
        freeze(server.pid)
    try:
        yield
    finally:
        for server in servers:
            os.kill(server.pid, signal.SIGCONT)


def await_words(installation: SystemInstallation, workers: list[WorkerProcess], words: str, times: int) -> None:
    """Wait until all workers have said something so often."""
    installation.wait(
        lambda: all(worker.output.count(words) >= times for worker in workers), f"{words!r} {times} times"
    )


def test_a_redis_that_is_killed_and_comes_back_loses_no_accepted_job(
    durable_redis: DurableRedis, installation: SystemInstallation, crew: Crew
) -> None:
    workers = [crew.hire(), crew.hire()]
    crew.await_beats(installation.store)

    with Producer(installation) as producer:
        for round_number in range(3):
            producer.await_more(300)
            durable_redis.kill9()
            await_words(installation, workers, "store unavailable, trying again", round_number + 1)
            durable_redis.restart()
            await_words(installation, workers, "store available again", round_number + 1)
        producer.await_more(300)
    installation.await_end()

    assert producer.errors, "the producer noticed nothing, which proves nothing"
    jobs = installation.jobs(producer.accepted)
    assert {job.state for job in jobs} == {JobState.SUCCEEDED}
    assert set(producer.accepted) <= set(installation.ledger.ends())
    assert all(worker.is_running for worker in workers)


def test_a_redis_that_hangs_accepts_nothing_and_is_served_again_when_it_goes_on(
    durable_redis: DurableRedis, url: str, tmp_path: Path
) -> None:
    with closing(open_store(impatient(url))) as store, Crew(impatient(url), tmp_path) as crew:
        installation = SystemInstallation(store, tmp_path)
        worker = crew.hire()
        crew.await_beats(store)
        with Producer(installation) as producer:
            producer.await_more(100)

            with hanging(durable_redis.servers):
                accepted = len(producer.accepted)
                installation.wait(lambda: bool(producer.errors), "the producer to be told")
                assert len(producer.accepted) <= accepted + 5  # one answer may have been on its way
            resumed_at = store.now()
            producer.await_more(100)
        installation.await_end()

        installation.assert_each_ended_once(producer.accepted)
        installation.wait(
            lambda: (record := worker.record(store)) is not None and record.last_ping > resumed_at, "a beat"
        )


def test_jobs_run_and_end_while_the_memory_is_full(
    durable_redis: DurableRedis, installation: SystemInstallation, crew: Crew, tmp_path: Path
) -> None:
    worker = crew.hire()
    crew.await_beats(installation.store)
    gate = tmp_path / "gate"
    installation.define_command(f"echo a line; until [ -e {gate} ]; do sleep 0.1; done; echo another")
    job_ids = installation.enqueue_all([JobRequest(job_type="command") for _ in range(20)])
    installation.wait(lambda: installation.store.count_jobs(installation.queue)[JobState.RUNNING] > 0, "jobs to run")

    for server in durable_redis.servers:
        raw_command(server.port, "CONFIG", "SET", "maxmemory", 1)
    gate.touch()
    filled_at = installation.store.now()
    installation.await_end()

    assert {job.state for job in installation.jobs(job_ids)} == {JobState.SUCCEEDED}
    assert {job.attempts for job in installation.jobs(job_ids)} == {1}
    installation.wait(
        lambda: (record := worker.record(installation.store)) is not None and record.last_ping > filled_at, "a beat"
    )


def test_scripts_that_are_forgotten_under_load_are_noticed_by_nobody(
    durable_redis: DurableRedis, installation: SystemInstallation, crew: Crew
) -> None:
    worker = crew.hire()
    crew.await_beats(installation.store)
    is_over = threading.Event()

    def flush_scripts() -> None:
        while not is_over.is_set():
            for server in durable_redis.servers:
                raw_command(server.port, "SCRIPT", "FLUSH")

    flusher = threading.Thread(target=flush_scripts, daemon=True)
    flusher.start()
    try:
        with Producer(installation) as producer:
            producer.await_more(1_000)
        installation.await_end()
    finally:
        is_over.set()
        flusher.join()

    assert producer.errors == []
    installation.assert_each_ended_once(producer.accepted)
    assert "matching script" not in worker.output


@pytest.mark.parametrize("script", ["claim_jobs", "finish_jobs"])
def test_answers_that_are_lost_on_the_way_leave_no_job_stuck(
    durable_redis: DurableRedis, installation: SystemInstallation, tmp_path: Path, script: str
) -> None:
    with proxied(durable_redis) as (proxy, url), Crew(url, tmp_path) as crew:
        crew.hire(dead_after_ms=HOUR_LEASE_MS)
        crew.await_beats(installation.store)
        with Producer(installation) as producer:
            for _ in range(5):
                installation.await_ends(installation.ledger.count("end") + 50)
                before = proxy.swallowed
                proxy.swallow_replies(SCRIPTS[script].sha.encode(), 1)
                installation.wait(lambda known=before: proxy.swallowed > known, "an answer to be lost")  # type: ignore[misc]
        installation.await_end()

        installation.assert_each_ended_once(producer.accepted)


def test_an_enqueue_whose_answer_is_lost_is_repeated_and_makes_no_second_job(
    durable_redis: DurableRedis, tmp_path: Path
) -> None:
    with proxied(durable_redis) as (proxy, url), Crew(durable_redis.url, tmp_path) as crew:
        store = open_store(url)
        installation = SystemInstallation(store, tmp_path)
        crew.hire()
        with Producer(installation) as producer:
            for _ in range(10):
                before = proxy.swallowed
                proxy.swallow_replies(SCRIPTS["enqueue_jobs"].sha.encode(), 2)
                installation.wait(lambda known=before: proxy.swallowed > known + 1, "answers to be lost")  # type: ignore[misc]
                producer.await_more(20)
        installation.await_end()

        installation.assert_each_ended_once(producer.accepted)
        store.close()


def test_a_job_whose_acceptance_was_lost_on_the_way_is_new_to_its_caller_and_known_to_the_next(
    durable_redis: DurableRedis, tmp_path: Path
) -> None:
    with proxied(durable_redis) as (proxy, url):
        store = open_store(url)
        installation = SystemInstallation(store, tmp_path)
        installation.enqueue_all([installation.work(1)])  # so that the servers know the script
        known, now = spec(installation.queue), store.now()
        store.enqueue_jobs([known], now=now)
        jobs = [
            spec(installation.queue, job_id=str(uuid4())),
            spec(installation.queue, unique_key="one"),
            spec(installation.queue),
        ]
        proxy.swallow_replies(SCRIPTS["enqueue_jobs"].sha.encode(), 1)

        again = msgspec.structs.replace(known, enqueued_at=known.enqueued_at + 1)
        first = store.enqueue_jobs([*jobs, again, jobs[0]], now=now)
        second = store.enqueue_jobs(jobs, now=now)

        assert proxy.swallowed == 1
        assert [one.is_new for one in first] == [True, True, True, False, False]
        assert [one.is_new for one in second] == [False, False, False]
        assert store.count_jobs(installation.queue)[JobState.QUEUED] == 5
        store.close()


def test_connections_that_are_reset_again_and_again_stop_nobody(
    durable_redis: DurableRedis, installation: SystemInstallation, tmp_path: Path
) -> None:
    with proxied(durable_redis) as (proxy, url), Crew(url, tmp_path) as crew:
        worker = crew.hire(dead_after_ms=HOUR_LEASE_MS)
        crew.await_beats(installation.store)
        with Producer(installation) as producer:
            for _ in range(10):
                installation.await_ends(installation.ledger.count("end") + 30)
                proxy.reset_all()
        installation.await_end()

        installation.assert_each_ended_once(producer.accepted)
        assert worker.is_running


def test_a_connection_that_goes_dead_without_a_word_does_not_leave_a_worker_waiting_for_ever(
    durable_redis: DurableRedis, installation: SystemInstallation, tmp_path: Path
) -> None:
    with proxied(durable_redis) as (proxy, url), Crew(impatient(url), tmp_path) as crew:
        crew.hire(dead_after_ms=HOUR_LEASE_MS)
        crew.await_beats(installation.store)
        (first,) = installation.enqueue_all([installation.work(1)])
        installation.wait(lambda: installation.job(first).state.is_final, "a worker that listens")

        proxy.freeze()
        job_ids = installation.enqueue_all(installation.works(20, 1, 5))
        installation.await_end()

        installation.assert_each_ended_once([first, *job_ids])


@pytest.mark.parametrize("kind", [RedisServer, RedisCluster])
def test_a_redis_that_forgot_everything_is_told_by_its_workers(tmp_path: Path, kind: type[DurableRedis]) -> None:
    with kind() as servers, Crew(servers.url, tmp_path) as crew:
        store = open_store(servers.url)
        installation = SystemInstallation(store, tmp_path)
        worker = crew.hire(dead_after_ms=2_000)
        crew.await_beats(store)

        servers.kill9()
        servers.restart()

        installation.wait(lambda: "the store was emptied or replaced" in worker.output, "the worker to say so")
        assert worker.is_running
        store.close()


def test_after_a_fail_over_jobs_are_accepted_and_run_again(tmp_path: Path) -> None:
    # What was accepted in the last moment before it may be lost: replication does not wait for the replica.
    with RedisSentinel() as sentinel, Crew(sentinel.url, tmp_path) as crew:
        store = open_store(sentinel.url)
        installation = SystemInstallation(store, tmp_path)
        worker = crew.hire(dead_after_ms=3_000)
        crew.await_beats(store)
        with Producer(installation) as producer:
            producer.await_more(100)
            sentinel.fail_over()
            before = len(producer.accepted)
            producer.await_more(100)
        after = producer.accepted[before + 5 :]

        installation.wait(
            lambda: all(job is not None and job.state.is_final for job in store.find_jobs(after)), "new jobs"
        )
        assert {job.state for job in installation.jobs(after)} == {JobState.SUCCEEDED}
        assert worker.is_running
        store.close()


def test_after_a_replica_took_over_a_shard_jobs_are_accepted_and_run_again(tmp_path: Path) -> None:
    with RedisCluster(DURABLE) as cluster, Crew(cluster.url, tmp_path) as crew:
        store = open_store(cluster.url)
        installation = SystemInstallation(store, tmp_path)
        worker = crew.hire(dead_after_ms=3_000)
        crew.await_beats(store)
        with Producer(installation) as producer:
            producer.await_more(100)
            cluster.take_over(cluster.server_of(QueueKeys(installation.queue).jobs))
            before = len(producer.accepted)
            producer.await_more(100)
        after = producer.accepted[before + 5 :]

        installation.wait(
            lambda: all(job is not None and job.state.is_final for job in store.find_jobs(after)), "new jobs"
        )
        assert {job.state for job in installation.jobs(after)} == {JobState.SUCCEEDED}
        assert worker.is_running
        store.close()


def test_a_slot_that_moves_to_another_shard_is_found_there(tmp_path: Path) -> None:
    with RedisCluster() as cluster:
        store = open_store(cluster.url)
        # The slot of a queue with a uuid by chance may be that of the definitions, which has keys and does not move.
        store.put_node_types([NodeType(uuid="01900000-0000-7000-8000-000000000001", name=DEFAULT_NODE_TYPE)])
        installation = SystemInstallation(store, tmp_path)
        slot = int(raw_command(cluster.servers[0].port, "CLUSTER", "KEYSLOT", QueueKeys(installation.queue).jobs))
        old = cluster.server_of(QueueKeys(installation.queue).jobs)
        new = next(server for server in cluster.servers if server is not old)
        for server in (new, old, *cluster.servers):
            raw_command(server.port, "CLUSTER", "SETSLOT", slot, "NODE", raw_command(new.port, "CLUSTER", "MYID"))

        (job_id,) = installation.enqueue_all([installation.work(1)])

        assert installation.job(job_id).state is JobState.QUEUED
        assert raw_command(new.port, "HLEN", QueueKeys(installation.queue).jobs) == "1"
        store.close()


@pytest.mark.parametrize("primaries", [1, 3])
def test_a_cluster_of_any_size_is_opened_and_used(tmp_path: Path, primaries: int) -> None:
    with RedisCluster(primaries=primaries) as cluster:
        store = open_store(cluster.url)
        installation = SystemInstallation(store, tmp_path)

        (job_id,) = installation.enqueue_all([installation.work(1)])

        assert installation.job(job_id).state is JobState.QUEUED
        assert any("set appendonly yes" in one for one in store.problems())
        store.close()


def test_a_claim_whose_answer_is_lost_is_not_repeated_unseen(durable_redis: DurableRedis, tmp_path: Path) -> None:
    with proxied(durable_redis) as (proxy, url):
        store = open_store(url)
        installation = SystemInstallation(store, tmp_path)
        claim(store, installation.queue, limit=2, now=store.now())  # so that the servers know the script
        installation.enqueue_all(installation.works(4, 1, 1))
        proxy.swallow_replies(SCRIPTS["claim_jobs"].sha.encode(), 1)

        with pytest.raises(StoreUnavailable):
            claim(store, installation.queue, limit=2, now=store.now())

        counts = store.count_jobs(installation.queue)
        assert (counts[JobState.RUNNING], counts[JobState.QUEUED]) == (2, 2)
        store.close()


@pytest.mark.parametrize("shards", [1, 3])
def test_shards_that_hang_hold_their_caller_no_longer_than_a_single_server(tmp_path: Path, shards: int) -> None:
    with RedisCluster() as cluster:
        store = open_store(impatient(cluster.url))
        installation = SystemInstallation(store, tmp_path)
        hung = [cluster.server_of(QueueKeys(installation.queue).jobs)] if shards == 1 else cluster.servers

        with hanging(hung):
            began = time.monotonic()
            with pytest.raises(StoreUnavailable):
                store.count_jobs(installation.queue)
            took_s = time.monotonic() - began

        assert took_s < 6 * TIMEOUT_S  # with the driver's retries it is eleven times as long as a time-out
        assert store.count_jobs(installation.queue)[JobState.QUEUED] == 0
        store.close()


def test_sentinels_that_are_gone_hold_their_caller_for_a_moment_only() -> None:
    with RedisSentinel() as sentinel:
        store = open_store(sentinel.url)
        for server in (*sentinel.sentinels, sentinel.primary, sentinel.replica):
            server.kill9()

        # With the driver's retries each is more than twice as long.
        assert min(seconds_until_refused(store) for _ in range(3)) < 10
        store.close()


def seconds_until_refused(store: Store) -> float:
    began = time.monotonic()
    with pytest.raises(StoreUnavailable):
        store.now()
    return time.monotonic() - began


def test_a_store_that_is_away_is_an_error_to_the_caller_and_not_a_silent_loss(
    durable_redis: DurableRedis, installation: SystemInstallation
) -> None:
    durable_redis.kill9()

    with pytest.raises(StoreUnavailable):
        installation.enqueue_all([installation.work(1)])
