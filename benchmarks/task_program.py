"""The program whose tasks `benchmarks.tasks` measures. It is run in a folder of its own, where its store is."""

import asyncio
import os
import sys
from collections.abc import Iterator

from rota import Rota
from rota.engine.jobs.intake import JobRequest
from rota.store.contract.jobs import JobQuery

BATCH = 1_000
app = Rota(os.environ.get("BENCH_STORE", "sqlite:///rota.db?synchronous=NORMAL"), name="bench")


@app.task
def compute(steps: int) -> int:
    total = 0
    for number in range(steps):
        total += number * number
    return total


@app.task
async def noop_async(i: int) -> None:
    return None


@app.task
def noop_def(i: int) -> None:
    return None


@app.task
async def sleep(seconds: float) -> None:
    await asyncio.sleep(seconds)


def enqueue(kind: str, count: int, argument: float) -> None:
    """Make jobs, 1,000 at a time: of a task, or of the same job type by the engine's own call."""
    if kind == "compute":
        compute.map([(int(argument),)] * count)
    elif kind == "sleep":
        sleep.map([(argument,)] * count)
    else:
        for calls in _batches(count):
            if kind == "engine":
                app.engine.intake.enqueue([JobRequest(job_type=noop_async.name, arguments=call) for call in calls])
            else:
                (noop_async if kind == "async" else noop_def).map(calls)


def _batches(count: int) -> Iterator[list[dict[str, object]]]:
    for at in range(0, count, BATCH):
        yield [{"i": i} for i in range(at, min(at + BATCH, count))]


def span_ms() -> int:
    """From the first start of a job to the last end of one. All must have succeeded."""
    starts, ends, cursor = [], [], ""
    while cursor is not None:
        page = app.engine.store.list_jobs(JobQuery(), limit=BATCH, cursor=cursor or None)
        for job in page.jobs:
            assert job.state == "succeeded", job
            assert job.started_at is not None
            assert job.ended_at is not None
            starts.append(job.started_at)
            ends.append(job.ended_at)
        cursor = page.cursor
    return max(ends) - min(starts)


if __name__ == "__main__":
    words = sys.argv[1:]
    if words == ["span"]:
        print(span_ms())
    elif words == ["declare"]:
        app.run_worker(burst=True)
    else:
        enqueue(words[0], int(words[1]), float(words[2]) if len(words) > 2 else 0)
