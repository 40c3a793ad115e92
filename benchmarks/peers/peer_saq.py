import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import probe
from saq import Queue

IS_TUNED = probe.VARIANT == "tuned"
OPTIONS = {"max_concurrent_ops": 200} if IS_TUNED else {}
queue = Queue.from_url(probe.REDIS_URL, **OPTIONS) if probe.REDIS_URL else None
TTL = -1 if IS_TUNED else 600  # -1: the finished job is not kept


async def noop(ctx: object, *, i: int) -> None:
    probe.hit(i)


async def shell(ctx: object, *, i: int) -> None:
    await probe.ashell(i)


settings = {"queue": queue, "functions": [noop, shell], "concurrency": 100 if IS_TUNED else 10}


def versions() -> dict[str, str]:
    return probe.dists("saq", "redis", "hiredis", "uvloop")


@asynccontextmanager
async def producer(variant: str) -> AsyncIterator[Any]:
    await queue.connect()

    class Producer:
        async def bulk(self, n: int) -> None:  # no bulk API
            await probe.each(n, self.one)

        async def one(self, i: int) -> None:
            await queue.enqueue(probe.JOB, i=i, ttl=TTL)

    yield Producer()
    await queue.disconnect()


def worker(variant: str, procs: int, conc: int | None) -> None:
    if IS_TUNED:
        import uvloop

        uvloop.install()
    from saq.runner import run

    if conc:
        settings["concurrency"] = conc
    sys.modules["peer_saq"] = sys.modules["__main__"]
    run("peer_saq.settings", workers=procs)


probe.cli(globals())
