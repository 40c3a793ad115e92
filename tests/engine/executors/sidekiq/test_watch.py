"""When a job of Sidekiq counts as ended, seen through what a Sidekiq writes into a real Redis."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from rota.engine.executors.output import LogCap, PlainSink
from rota.engine.executors.sidekiq.job import PushedJob, Timestamps, read_plan, stamp
from rota.engine.executors.sidekiq.redis import SidekiqRedis
from rota.engine.executors.sidekiq.watch import Watch
from rota.model.runs.outcome import Outcome, OutcomeKind
from tests.engine.executors.runs import errors_of, make_run, results_of
from tests.servers import RedisServer


class Stage:
    """A pushed job, and the hands of a Sidekiq that plays its part in Redis."""

    def __init__(self, url: str, **metadata: object) -> None:
        self.redis: Any = redis.Redis.from_url(url)
        self.redis.flushdb()
        self.run = make_run({"class": "A", "redis": url, "completion": "observe", **metadata})
        self._connection = SidekiqRedis(url)
        self.job: PushedJob = self._connection.push(read_plan(self.run.job_type.metadata), self.run, [])
        self._watch = Watch(self.job, LogCap(PlainSink(self.run.log)))
        self._beats = 0

    def look(self) -> Outcome | None:
        return self._watch.judge(self._connection.look_for(self.job))

    def withdraw(self) -> bool:
        return self._connection.withdraw(self.job)

    def beat(self, process: str = "host:1:abc") -> None:
        self._beats += 1
        self.redis.sadd("processes", process)
        self.redis.hset(process, "beat", f"170000000{self._beats}.5")

    def fetch(self) -> dict[str, object]:
        payload: dict[str, object] = json.loads(self.redis.rpop(self.job.queue_key))
        return payload

    def show_running(self, key: str = "host:1:abc:work") -> None:
        self.redis.hset(key, "thread", json.dumps({"queue": "default", "payload": self.job.payload.decode()}))

    def close(self) -> None:
        self.redis.close()
        self._connection.close()


OLD, NEW = '{"enqueued_at": 1700000000.25}', '{"enqueued_at": 1700000000250}'


@pytest.mark.parametrize(
    ("process", "neighbour", "kind"),
    [
        (None, None, int),
        (None, OLD, float),
        (None, NEW, int),
        (None, "not json", int),
        (None, '{"enqueued_at": null}', int),
        ('{"version": "8.0.1"}', OLD, int),
        ('{"version": "7.3.9"}', NEW, float),
        ('{"version": "10.0"}', None, int),
        ('{"hostname": "a Sidekiq 6"}', None, float),
        ("not json", OLD, int),
    ],
)
def test_timestamps_fit_the_version_of_the_running_sidekiq(
    process: str | None, neighbour: str | None, kind: type[float]
) -> None:
    given = [None if one is None else one.encode() for one in (neighbour, process)]

    found = stamp(Timestamps.AUTO, 1_700_000_000_250_000, *given)

    assert found == (1_700_000_000_250 if kind is int else 1_700_000_000.25)
    assert type(found) is kind


@pytest.mark.parametrize(("version", "kind"), [("7.2.0", float), ("8.0.0", int)])
def test_a_push_asks_a_process_for_its_version(server: RedisServer, version: str, kind: type[float]) -> None:
    stage = Stage(server.url)
    stage.redis.sadd("processes", "host:1:abc")
    stage.redis.hset("host:1:abc", "info", json.dumps({"version": version}))

    SidekiqRedis(server.url).push(read_plan(stage.run.job_type.metadata), stage.run, [])

    assert type(json.loads(stage.redis.lindex(stage.job.queue_key, 0))["enqueued_at"]) is kind
    stage.close()


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as running:
        yield running


@pytest.fixture
def stage(server: RedisServer) -> Iterator[Stage]:
    made = Stage(server.url)
    yield made
    made.close()


def test_a_job_has_not_ended_while_it_is_queued(stage: Stage) -> None:
    for _ in range(5):
        stage.beat()
        assert stage.look() is None


def test_a_job_has_ended_after_two_heartbeats_of_every_process_without_it(stage: Stage) -> None:
    stage.beat("one")
    stage.beat("two")
    stage.fetch()

    assert [stage.look() for _ in range(3)] == [None] * 3
    for process in ("one", "one", "one", "two"):
        stage.beat(process)
        assert stage.look() is None
    stage.beat("two")
    outcome = stage.look()

    assert outcome is not None
    assert outcome.kind is OutcomeKind.SUCCEEDED
    assert results_of(outcome)["state"] == "gone"


@pytest.mark.parametrize("key", ["host:1:abc:work", "host:1:abc:workers"])
def test_a_running_job_is_found_under_the_keys_of_old_and_new_versions(stage: Stage, key: str) -> None:
    stage.beat()
    stage.fetch()
    stage.show_running(key)

    for _ in range(5):
        stage.beat()
        assert stage.look() is None

    assert stage.run.messages() == ["runs in the Sidekiq process host:1:abc"]


def test_a_job_that_comes_back_to_the_queue_starts_over(stage: Stage) -> None:
    stage.beat()
    stage.fetch()
    stage.look()
    stage.beat()
    stage.look()
    stage.redis.rpush(stage.job.queue_key, stage.job.payload)
    stage.look()
    stage.fetch()
    stage.beat()

    assert stage.look() is None


def test_a_job_whose_process_died_is_lost(stage: Stage) -> None:
    stage.beat()
    stage.fetch()
    stage.show_running()
    stage.look()
    stage.redis.delete("host:1:abc", "host:1:abc:work")

    assert stage.look() is None
    outcome = stage.look()

    assert outcome is not None
    assert outcome.kind is OutcomeKind.FAILED
    assert results_of(outcome)["state"] == "lost"
    assert "host:1:abc died" in errors_of(outcome)["message"]


def test_a_job_whose_process_said_good_bye_is_done(stage: Stage) -> None:
    stage.beat()
    stage.fetch()
    stage.show_running()
    stage.look()
    stage.redis.delete("host:1:abc", "host:1:abc:work")
    stage.redis.srem("processes", "host:1:abc")
    stage.look()

    outcome = stage.look()

    assert outcome is not None
    assert outcome.kind is OutcomeKind.SUCCEEDED


def test_a_dead_job_has_failed_with_its_error(stage: Stage) -> None:
    entry = {**stage.fetch(), "error_class": "KeyError", "error_message": "no key", "retry_count": 0}
    stage.redis.zadd("dead", {json.dumps(entry): 1.0})

    outcome = stage.look()

    assert outcome is not None
    assert errors_of(outcome) == {"type": "sidekiq", "message": "KeyError: no key"}


def test_a_job_that_sidekiq_retries_is_followed_through_all_its_places(server: RedisServer) -> None:
    stage = Stage(server.url, retry=3)
    entry = {**stage.fetch(), "error_class": "KeyError", "error_message": "no key", "retry_count": 0}
    stage.redis.zadd("retry", {json.dumps(entry): 1.0})

    looks = [stage.look() for _ in range(4)]
    stage.redis.delete("retry")
    others = [json.dumps({"jid": f"{number:024}"}) for number in range(1500)]
    stage.redis.rpush(stage.job.queue_key, *others, json.dumps(entry))
    looks += [stage.look() for _ in range(4)]

    assert looks == [None] * 8
    assert stage.run.messages() == ["failed, and Sidekiq will try it again: KeyError: no key"]
    stage.close()


def test_a_job_that_waits_for_its_next_try_can_be_withdrawn(server: RedisServer) -> None:
    stage = Stage(server.url, retry=True)
    stage.redis.zadd("retry", {json.dumps({**stage.fetch(), "retry_count": 0}): 1.0})

    assert stage.withdraw()
    assert not stage.withdraw()
    assert stage.redis.zcard("retry") == 0
    stage.close()
