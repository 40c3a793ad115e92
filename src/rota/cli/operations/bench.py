"""`rota bench`: how fast this machine enqueues and runs jobs that do nothing.

It uses a queue of its own, on a temporary SQLite file unless --store names a store, and leaves nothing behind.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from msgspec import Struct, to_builtins

from rota.cli.progress import progress_bar
from rota.cli.show import answer, print_facts
from rota.cli.target import Target, takes_target
from rota.clock import SystemClock
from rota.engine.engine import store_url
from rota.engine.jobs.intake import JobRequest
from rota.engine.node.node import Node
from rota.engine.node.options import WORKER, NodeOptions
from rota.host.host import loop_factory
from rota.model.access.masking import mask_url
from rota.model.ids import new_id
from rota.model.job import LIVE_STATES
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.store import Store, open_store

_BATCH = 1_000
_CHECK_S = 0.02
Progress = Callable[[int], None]


class Pace(Struct, frozen=True):
    """How fast a number of jobs went."""

    jobs_per_s: int
    cpu_us_per_job: float
    """Of this process; a Redis server's own comes on top."""


class Report(Struct, frozen=True):
    store: str
    jobs: int
    enqueue: Pace
    run: Pace


@click.command(short_help="Measure this machine with jobs that do nothing.")
@click.option("--jobs", "count", type=click.IntRange(100, 10_000_000), default=20_000, show_default=True)
@click.option("--threads", type=click.IntRange(1, 1_000), default=16, show_default=True, help="Jobs at a time.")
@takes_target
def bench(target: Target, *, count: int, threads: int) -> None:
    """Enqueue jobs that do nothing, run them, and tell jobs per second and CPU time per job.

    Without --store this happens on a temporary SQLite file.
    """
    target.refuse_server("it measures a store, and fills it with jobs")
    with _store(target) as store:
        course = Course.open(store, threads)
        try:
            report = Report(mask_url(store.url), count, course.enqueue(count), course.run(count))
        finally:
            course.clean_up()
    answer(to_builtins(report), as_json=target.as_json, show=lambda: _show(report))


@contextmanager
def _store(target: Target) -> Iterator[Store]:
    with tempfile.TemporaryDirectory(prefix="rota-bench-") as folder:
        file = f"sqlite:///{Path(folder) / 'bench.db'}"
        store = open_store(store_url(target.settings()) if target.named_store else file)
        try:
            yield store
        finally:
            store.close()


class Course:
    """A queue and a job type of its own in a store."""

    def __init__(self, node: Node, queue: str) -> None:
        self._node = node
        self._engine = node.engine
        self._queue = queue
        self._clock = SystemClock()

    @classmethod
    def open(cls, store: Store, threads: int) -> "Course":
        """Define both, under one name."""
        uuid = new_id(store.now())
        queue = NodeType(uuid=uuid, name=f"rota-bench-{uuid}", thread_count=threads)
        job_type = JobType(
            uuid=new_id(store.now()),
            name=queue.name,
            executor="python",
            metadata={"function": "rota.cli.operations.bench_jobs:nothing"},
            node_type=queue.name,
        )
        node = Node.open(store, NodeOptions(node_type=queue.name, roles=frozenset({WORKER})))
        node.engine.definitions.define([queue], [job_type])
        return cls(node, queue.name)

    def enqueue(self, count: int) -> Pace:
        """Hand in this many jobs, many at a time."""
        request = JobRequest(job_type=self._queue)
        with progress_bar("Enqueue", count) as progress, _Stopwatch(self._clock) as watch:
            for start in range(0, count, _BATCH):
                batch = min(_BATCH, count - start)
                self._engine.intake.enqueue([request] * batch)
                progress(start + batch)
        return watch.pace(count)

    def run(self, count: int) -> Pace:
        """Run what was handed in, with one worker."""
        runner = asyncio.Runner(loop_factory=loop_factory())
        with progress_bar("Run", count) as progress, _Stopwatch(self._clock) as watch, runner:
            runner.run(self._run_all(count, progress))
        return watch.pace(count)

    async def _run_all(self, count: int, progress: Progress) -> None:
        running = asyncio.create_task(self._node.run())
        try:
            while (left := await asyncio.to_thread(self._left)) and not running.done():
                progress(count - left)
                await asyncio.sleep(_CHECK_S)
            progress(count)
            self._node.request_stop()
            await running
        finally:
            running.cancel()

    def _left(self) -> int:
        counts = self._engine.store.count_jobs(self._engine.definitions.node_type(self._queue).uuid)
        return sum(counts[state] for state in LIVE_STATES)

    def clean_up(self) -> None:
        """Remove every trace, also after an interruption."""
        self._engine.queues.empty(self._queue)
        self._engine.definitions.delete_job_type(self._queue)
        self._engine.definitions.delete_node_type(self._queue)


class _Stopwatch:
    """Time and CPU time between entering and leaving."""

    def __init__(self, clock: SystemClock) -> None:
        self._clock = clock

    def __enter__(self) -> "_Stopwatch":
        self._start, self._cpu_start = self._clock.monotonic(), time.process_time()
        return self

    def __exit__(self, *error: object) -> None:
        self._took_s = self._clock.monotonic() - self._start
        self._cpu_s = time.process_time() - self._cpu_start

    def pace(self, count: int) -> Pace:
        return Pace(round(count / self._took_s), round(self._cpu_s / count * 1e6, 1))


def _show(report: Report) -> None:
    print_facts(
        [
            ("store", report.store),
            ("jobs", report.jobs),
            *((name, _pace(pace)) for name, pace in (("enqueue", report.enqueue), ("run", report.run))),
        ]
    )


def _pace(pace: Pace) -> str:
    return f"{pace.jobs_per_s:,} jobs/s, {pace.cpu_us_per_job} us CPU per job"
