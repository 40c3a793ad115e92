"""Redis that is killed, hangs, forgets its scripts or its data, or answers into the void."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rota.errors import StoreUnavailable
from rota.model.job import JobState
from rota.store import open_store
from rota.store.redis.scripts import SCRIPTS
from tests.servers import RedisSentinel, RedisServer, raw_command
from tests.system.crew import Crew, WorkerProcess
from tests.system.producer import Producer
from tests.system.proxy import Proxy
from tests.system.site import Site

HOUR_LEASE_MS = 4 * 3_600_000
"""No watchdog helps: the workers have to find by themselves what was lost on the way."""


@pytest.fixture
def url(durable_redis: RedisServer) -> str:
    return durable_redis.url


@contextmanager
def proxied(server: RedisServer) -> Iterator[tuple[Proxy, str]]:
    """A way to the server that can be broken, and its address."""
    with Proxy(server.port) as proxy:
        yield proxy, f"redis://127.0.0.1:{proxy.port}/0"


def await_words(site: Site, workers: list[WorkerProcess], words: str, times: int) -> None:
    """Wait until all workers have said something so often."""
    site.wait(lambda: all(worker.output.count(words) >= times for worker in workers), f"{words!r} {times} times")


def test_a_redis_that_is_killed_and_comes_back_loses_no_accepted_job(
    durable_redis: RedisServer, site: Site, crew: Crew
) -> None:
    workers = [crew.hire(), crew.hire()]
    crew.await_beats(site.store)

    with Producer(site) as producer:
        for round_number in range(3):
            producer.await_more(300)
            durable_redis.kill9()
            await_words(site, workers, "store unavailable, trying again", round_number + 1)
            durable_redis.restart()
            await_words(site, workers, "store available again", round_number + 1)
        producer.await_more(300)
    site.await_end()

    assert producer.errors, "the producer noticed nothing, which proves nothing"
    jobs = site.jobs(producer.accepted)
    assert {job.state for job in jobs} == {JobState.SUCCEEDED}
    assert set(producer.accepted) <= set(site.ledger.ends())
    assert all(worker.is_running for worker in workers)


@pytest.mark.timeout(240)
def test_a_redis_that_hangs_accepts_nothing_and_is_served_again_when_it_goes_on(
    durable_redis: RedisServer, site: Site, crew: Crew
) -> None:
    worker = crew.hire()
    crew.await_beats(site.store)
    with Producer(site) as producer:
        producer.await_more(100)

        os.kill(durable_redis.pid, signal.SIGSTOP)
        try:
            accepted = len(producer.accepted)
            site.wait(lambda: bool(producer.errors), "the producer to be told")
            assert len(producer.accepted) <= accepted + 5  # one answer may have been on its way
        finally:
            os.kill(durable_redis.pid, signal.SIGCONT)
        resumed_at = site.store.now()
        producer.await_more(100)
    site.await_end()

    site.assert_each_ended_once(producer.accepted)
    site.wait(lambda: (record := worker.record(site.store)) is not None and record.last_ping > resumed_at, "a beat")


def test_scripts_that_are_forgotten_under_load_are_noticed_by_nobody(
    durable_redis: RedisServer, site: Site, crew: Crew
) -> None:
    worker = crew.hire()
    crew.await_beats(site.store)
    is_over = threading.Event()

    def flush_scripts() -> None:
        while not is_over.is_set():
            raw_command(durable_redis.port, "SCRIPT", "FLUSH")

    flusher = threading.Thread(target=flush_scripts, daemon=True)
    flusher.start()
    try:
        with Producer(site) as producer:
            producer.await_more(1_000)
        site.await_end()
    finally:
        is_over.set()
        flusher.join()

    assert producer.errors == []
    site.assert_each_ended_once(producer.accepted)
    assert "ERROR" not in worker.output
    assert "WARNING" not in worker.output


@pytest.mark.parametrize("script", ["claim_jobs", "finish_jobs"])
def test_answers_that_are_lost_on_the_way_leave_no_job_stuck(
    durable_redis: RedisServer, site: Site, tmp_path: Path, script: str
) -> None:
    with proxied(durable_redis) as (proxy, url), Crew(url, tmp_path) as crew:
        crew.hire(dead_after_ms=HOUR_LEASE_MS)
        crew.await_beats(site.store)
        with Producer(site) as producer:
            for _ in range(5):
                site.await_ends(site.ledger.count("end") + 50)
                before = proxy.swallowed
                proxy.swallow_replies(SCRIPTS[script].sha.encode(), 1)
                site.wait(lambda known=before: proxy.swallowed > known, "an answer to be lost")  # type: ignore[misc]
        site.await_end()

        site.assert_each_ended_once(producer.accepted)


def test_an_enqueue_whose_answer_is_lost_is_repeated_and_makes_no_second_job(
    durable_redis: RedisServer, tmp_path: Path
) -> None:
    with proxied(durable_redis) as (proxy, url), Crew(durable_redis.url, tmp_path) as crew:
        store = open_store(url)
        site = Site(store, tmp_path)
        crew.hire()
        with Producer(site) as producer:
            for _ in range(10):
                before = proxy.swallowed
                proxy.swallow_replies(SCRIPTS["enqueue_jobs"].sha.encode(), 2)
                site.wait(lambda known=before: proxy.swallowed > known + 1, "answers to be lost")  # type: ignore[misc]
                producer.await_more(20)
        site.await_end()

        site.assert_each_ended_once(producer.accepted)
        store.close()


def test_connections_that_are_reset_again_and_again_stop_nobody(
    durable_redis: RedisServer, site: Site, tmp_path: Path
) -> None:
    with proxied(durable_redis) as (proxy, url), Crew(url, tmp_path) as crew:
        worker = crew.hire(dead_after_ms=HOUR_LEASE_MS)
        crew.await_beats(site.store)
        with Producer(site) as producer:
            for _ in range(10):
                site.await_ends(site.ledger.count("end") + 30)
                proxy.reset_all()
        site.await_end()

        site.assert_each_ended_once(producer.accepted)
        assert worker.is_running


def test_a_connection_that_goes_dead_without_a_word_does_not_leave_a_worker_waiting_for_ever(
    durable_redis: RedisServer, site: Site, tmp_path: Path
) -> None:
    with proxied(durable_redis) as (proxy, url), Crew(url, tmp_path) as crew:
        crew.hire(dead_after_ms=HOUR_LEASE_MS)
        crew.await_beats(site.store)
        (first,) = site.enqueue([site.work(1)])
        site.wait(lambda: site.job(first).state.is_final, "a worker that listens")

        proxy.freeze()
        job_ids = site.enqueue(site.works(20, 1, 5))
        site.await_end()

        site.assert_each_ended_once([first, *job_ids])


def test_a_redis_that_forgot_everything_is_told_by_its_workers(tmp_path: Path) -> None:
    with RedisServer() as server, Crew(server.url, tmp_path) as crew:
        store = open_store(server.url)
        site = Site(store, tmp_path)
        worker = crew.hire(dead_after_ms=2_000)
        crew.await_beats(store)

        server.kill9()
        server.restart()

        site.wait(lambda: "the store was emptied or replaced" in worker.output, "the worker to say so")
        assert worker.is_running
        store.close()


@pytest.mark.timeout(240)
def test_after_a_fail_over_jobs_are_accepted_and_run_again(tmp_path: Path) -> None:
    # What was accepted in the last moment before it may be lost: replication does not wait for the replica.
    with RedisSentinel() as sentinel, Crew(sentinel.url, tmp_path) as crew:
        store = open_store(sentinel.url)
        site = Site(store, tmp_path)
        worker = crew.hire(dead_after_ms=3_000)
        crew.await_beats(store)
        with Producer(site) as producer:
            producer.await_more(100)
            sentinel.fail_over()
            before = len(producer.accepted)
            producer.await_more(100)
        after = producer.accepted[before + 5 :]

        site.wait(lambda: all(job is not None and job.state.is_final for job in store.find_jobs(after)), "new jobs")
        assert {job.state for job in site.jobs(after)} == {JobState.SUCCEEDED}
        assert worker.is_running
        store.close()


def test_a_store_that_is_away_is_an_error_to_the_caller_and_not_a_silent_loss(
    durable_redis: RedisServer, site: Site
) -> None:
    durable_redis.kill9()

    with pytest.raises(StoreUnavailable):
        site.enqueue([site.work(1)])
