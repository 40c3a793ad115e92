"""Sidekiq's keys in Redis. Calls block, so they are made in threads. Imported only when needed: the driver is optional.

The driver's own retries are off: a push whose answer was lost must not be repeated unseen.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from rota.engine.executors.executor import Run
from rota.engine.executors.shortage import raise_if_short
from rota.engine.executors.sidekiq.job import Completion, PushedJob, SidekiqError, SidekiqPlan, make_job, stamp
from rota.engine.executors.sidekiq.watch import Sighting

CONNECT_TIMEOUT_S = 5.0
ANSWER_TIMEOUT_S = 10.0
_PAGE = 1000


class SidekiqRedis:
    """One Redis with a Sidekiq behind it. May be used from any thread."""

    def __init__(self, url: str) -> None:
        self._redis: Any = redis.Redis.from_url(
            url,
            socket_connect_timeout=CONNECT_TIMEOUT_S,
            socket_timeout=ANSWER_TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),
        )

    def push(self, plan: SidekiqPlan, run: Run, args: list[object]) -> PushedJob:
        """Put a job into its queue, in one step. The time is Redis's, which all Sidekiq processes share."""
        with _errors():
            with self._redis.pipeline(transaction=False) as ask:
                ask.lindex(f"queue:{plan.queue}", 0)
                ask.srandmember("processes")
                ask.time()
                neighbour, process, (seconds, micros) = ask.execute()
            info = None if process is None else self._redis.hget(process, "info")
            job = make_job(plan, run, args, stamp(plan.timestamps, seconds * 1_000_000 + micros, neighbour, info))
            with self._redis.pipeline(transaction=True) as step:
                step.sadd("queues", plan.queue)
                step.lpush(job.queue_key, job.payload)
                step.execute()
        return job

    def look_for(self, job: PushedJob) -> Sighting:
        """Where the job is now."""
        with _errors():
            return self._look_for(job)

    def withdraw(self, job: PushedJob) -> bool:
        """Take the job back if nobody has begun it; whether that was so."""
        with _errors():
            count = self._redis.lrem(job.queue_key, 1, job.payload)
            if not count and job.plan.may_retry and (entry := self._find_in("retry", job)):
                count = self._redis.zrem("retry", entry)
            self._redis.delete(job.report_key)
        return bool(count)

    def close(self) -> None:
        self._redis.close()

    def _look_for(self, job: PushedJob) -> Sighting:
        if job.plan.completion is Completion.REPORT and (report := self._take_report(job)) is not None:
            return Sighting("reported", report)
        if self._is_queued(job):
            return Sighting("queued")
        beats: dict[str, str | None] = {}
        for name in self._redis.smembers("processes"):
            beat, works = self._look_at_process(name)
            beats[_text(name)] = beat
            if any(job.jid.encode() in work for work in works):
                return Sighting("running", process=_text(name))
        if job.plan.may_retry and (entry := self._find_in("retry", job)):
            return Sighting("retrying", _details(entry))
        if job.plan.is_buried and (entry := self._find_in("dead", job)):
            return Sighting("dead", _details(entry))
        return Sighting("gone", beats=beats)

    def _look_at_process(self, name: bytes) -> tuple[str | None, list[bytes]]:
        """A process's last heartbeat and what it works on; the key's name changed with Sidekiq 7."""
        with self._redis.pipeline(transaction=True) as step:
            step.hget(name, "beat")
            step.hvals(name + b":work")
            step.hvals(name + b":workers")
            beat, new, old = step.execute()
        return (None if beat is None else _text(beat)), [*new, *old]

    def _is_queued(self, job: PushedJob) -> bool:
        if self._redis.lpos(job.queue_key, job.payload) is not None:
            return True
        if not job.plan.may_retry:
            return False
        # A job that is tried again has grown by what went wrong, so only its id is the same.
        start = 0
        while page := self._redis.lrange(job.queue_key, start, start + _PAGE - 1):
            if any(job.jid.encode() in entry for entry in page):
                return True
            start += _PAGE
        return False

    def _find_in(self, key: str, job: PushedJob) -> bytes | None:
        for entry, _ in self._redis.zscan_iter(key, match=f"*{job.jid}*", count=_PAGE):
            return bytes(entry)
        return None

    def _take_report(self, job: PushedJob) -> dict[str, str] | None:
        reports = self._redis.xrange(job.report_key, count=1)
        if not reports:
            return None
        self._redis.delete(job.report_key)
        return {_text(name): _text(value) for name, value in reports[0][1].items()}


def _details(entry: bytes) -> dict[str, str]:
    try:
        noted = msgspec.json.decode(entry, type=dict[str, object])
    except msgspec.DecodeError:
        return {}
    return {name: str(noted.get(name, "")) for name in ("error_class", "error_message", "retry_count")}


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except (redis.RedisError, OSError) as error:
        raise_if_short(error)  # then there was no connection, and nothing was sent
        raise SidekiqError(f"Sidekiq's Redis: {error or type(error).__name__}") from error
