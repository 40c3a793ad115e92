import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import probe
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import ConnectorException

OPTIONS = {"options": "-c synchronous_commit=off"} if probe.VARIANT == "async-commit" else {}
app = App(connector=PsycopgConnector(conninfo=probe.PG_DSN, kwargs=OPTIONS, min_size=4, max_size=20))


@app.task(name="noop")
async def noop(i: int) -> None:
    probe.hit(i)


@app.task(name="shell")
async def shell(i: int) -> None:
    await probe.ashell(i)


def versions() -> dict[str, str]:
    return probe.dists("procrastinate", "psycopg")


@asynccontextmanager
async def producer(variant: str) -> AsyncIterator[Any]:
    task = {"noop": noop, "shell": shell}[probe.JOB]

    class Producer:
        async def bulk(self, n: int) -> None:
            for batch in probe.batches(n):
                await task.batch_defer_async(*({"i": i} for i in batch))

        async def one(self, i: int) -> None:
            await task.defer_async(i=i)

    async with app.open_async():
        with suppress(ConnectorException):  # the schema is there already
            await app.schema_manager.apply_schema_async()
        yield Producer()


def worker(variant: str, procs: int, conc: int | None) -> None:
    if procs > 1:
        probe.copies_of(__file__, variant, procs, conc)

    async def serve() -> None:
        async with app.open_async():
            await app.run_worker_async(concurrency=conc or 20)

    asyncio.run(serve())


probe.cli(globals())
