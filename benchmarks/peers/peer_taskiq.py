from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import probe
from taskiq.serializers import ORJSONSerializer
from taskiq_redis import ListQueueBroker, RedisAsyncResultBackend, RedisStreamBroker

if probe.VARIANT == "list":
    broker = ListQueueBroker(probe.REDIS_URL)
else:
    broker = RedisStreamBroker(probe.REDIS_URL, consumer_id="0")
    if probe.VARIANT.endswith("results"):
        broker = broker.with_result_backend(RedisAsyncResultBackend(probe.REDIS_URL, result_ex_time=600))
broker = broker.with_serializer(ORJSONSerializer())


@broker.task(task_name="noop")
async def noop(i: int) -> None:
    probe.hit(i)


@broker.task(task_name="shell")
async def shell(i: int) -> None:
    await probe.ashell(i)


def versions() -> dict[str, str]:
    return probe.dists("taskiq", "taskiq-redis", "redis", "hiredis", "uvloop")


@asynccontextmanager
async def producer(variant: str) -> AsyncIterator[Any]:
    task = {"noop": noop, "shell": shell}[probe.JOB]
    await broker.startup()

    class Producer:
        async def bulk(self, n: int) -> None:  # no bulk API
            await probe.each(n, task.kiq)

        async def one(self, i: int) -> None:
            await task.kiq(i)

    yield Producer()
    await broker.shutdown()


def worker(variant: str, procs: int, conc: int | None) -> None:
    words = ["worker", "peer_taskiq:broker", "--workers", procs, "--log-level", "WARNING", "--no-parse"]
    limits = ["--max-async-tasks", conc or 100, "--max-prefetch", 0 if conc else 200]
    probe.execute(probe.program("taskiq"), *words, *limits)


probe.cli(globals())
