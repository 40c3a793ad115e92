import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import probe
from streaq import Worker

IS_TUNED = probe.VARIANT == "tuned"
CONCURRENCY = int(os.environ.get("BENCH_CONC") or (100 if IS_TUNED else 16))
streaq_worker = Worker(
    redis_url=probe.REDIS_URL or "redis://127.0.0.1",
    concurrency=CONCURRENCY,
    anyio_kwargs={"use_uvloop": True} if IS_TUNED else None,
)
TTL = {"ttl": 0} if IS_TUNED else {}  # 0: the result is not kept


@streaq_worker.task(**TTL)
async def noop(i: int) -> None:
    probe.hit(i)


@streaq_worker.task(**TTL)
async def shell(i: int) -> None:
    await probe.ashell(i)


def versions() -> dict[str, str]:
    return probe.dists("streaq", "coredis", "uvloop")


@asynccontextmanager
async def producer(variant: str) -> AsyncIterator[Any]:
    task = {"noop": noop, "shell": shell}[probe.JOB]

    class Producer:
        async def bulk(self, n: int) -> None:
            for batch in probe.batches(n):
                await streaq_worker.enqueue_many([task.enqueue(i) for i in batch])

        async def one(self, i: int) -> None:
            await task.enqueue(i)

    async with streaq_worker:
        yield Producer()


def worker(variant: str, procs: int, conc: int | None) -> None:
    words = ["run", "-w", procs, "peer_streaq:streaq_worker"]
    probe.execute(probe.program("streaq"), *words, BENCH_CONC=conc or "")


probe.cli(globals())
