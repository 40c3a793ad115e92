from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import probe
from arq import create_pool
from arq.connections import RedisSettings
from arq.worker import run_worker

SETTINGS = RedisSettings.from_dsn(probe.REDIS_URL) if probe.REDIS_URL else None


async def noop(ctx: object, i: int) -> None:
    probe.hit(i)


async def shell(ctx: object, i: int) -> None:
    await probe.ashell(i)


def versions() -> dict[str, str]:
    return probe.dists("arq", "redis", "hiredis", "uvloop")


@asynccontextmanager
async def producer(variant: str) -> AsyncIterator[Any]:
    pool = await create_pool(SETTINGS)

    class Producer:
        async def bulk(self, n: int) -> None:  # no bulk API
            await probe.each(n, self.one)

        async def one(self, i: int) -> None:
            await pool.enqueue_job(probe.JOB, i)

    yield Producer()
    await pool.aclose()


def worker(variant: str, procs: int, conc: int | None) -> None:
    if procs > 1:
        probe.copies_of(__file__, variant, procs, conc)
    options: dict[str, object] = {"max_jobs": conc or 100}
    if variant == "tuned":
        import uvloop

        uvloop.install()
        options |= {"poll_delay": 0.01, "queue_read_limit": 2000, "keep_result": 0}
    run_worker(type("W", (), {"functions": [noop, shell], "redis_settings": SETTINGS, **options}))


probe.cli(globals())
