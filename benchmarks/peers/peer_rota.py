"""Rota. Variants: `redis` and `sqlite` run an `async def`, `redis-threads` a plain `def`; `sqlite-full` syncs every
commit. The worker is a normal node on uvloop, and every job is kept in the history.

Workload C is the executor `bash` with the command ["true"] and its output captured. Such a job cannot stamp itself, so
`follow` does it from the jobs' records.
"""

import asyncio
import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import probe
import uvloop

from rota import __version__
from rota.clock import SystemClock
from rota.engine.definitions.definitions import DEFAULT_NODE_TYPE
from rota.engine.engine import Engine
from rota.engine.jobs.intake import Intake, JobRequest
from rota.engine.node.node import Node
from rota.engine.node.options import WORKER, NodeOptions
from rota.model.job import Job, JobState
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.store import open_store
from rota.store.contract.jobs import JobQuery
from rota.store.contract.store import Store

JOB_TYPES = {
    "noop": JobType(
        uuid="00000000-0000-7000-8000-000000000001",
        name="noop",
        executor="python",
        metadata={"function": "peer_rota:noop_in_thread" if probe.VARIANT == "redis-threads" else "peer_rota:noop"},
    ),
    "shell": JobType(
        uuid="00000000-0000-7000-8000-000000000002", name="shell", executor="bash", metadata={"command": ["true"]}
    ),
}
NODE_TYPE = NodeType(uuid="00000000-0000-7000-8000-000000000003", name=DEFAULT_NODE_TYPE)
POLL_S = 0.05


async def noop(i: int) -> None:
    probe.hit(i)


def noop_in_thread(i: int) -> None:
    probe.hit(i)


def versions() -> dict[str, str]:
    return {"rota": __version__, **probe.dists("redis", "hiredis", "msgspec", "uvloop")}


def open_variant(variant: str) -> Store:
    if variant.startswith("redis"):
        return open_store(probe.REDIS_URL)
    synchronous = "FULL" if variant == "sqlite-full" else "NORMAL"
    return open_store(f"sqlite:///{Path(probe.RUN) / 'rota.db'}?synchronous={synchronous}")


@contextmanager
def producer(variant: str) -> Iterator["Producer"]:
    with closing(open_variant(variant)) as store:
        engine = Engine(store, SystemClock())
        definitions = engine.definitions
        definitions.define([definitions.ensure_node_type(NODE_TYPE)], [JOB_TYPES[probe.JOB]])
        yield Producer(engine.intake)


class Producer:
    def __init__(self, intake: Intake) -> None:
        self._intake = intake

    def bulk(self, n: int) -> None:
        for batch in probe.batches(n):
            self._intake.enqueue([_request(i) for i in batch])

    def one(self, i: int) -> None:
        self._intake.enqueue([_request(i)])


def _request(i: int) -> JobRequest:
    return JobRequest(job_type=probe.JOB, arguments={"i": i} if probe.JOB == "noop" else {})


def worker(variant: str, procs: int, conc: int | None) -> None:
    if procs > 1:
        probe.copies_of(__file__, variant, procs, conc)

    async def serve() -> None:
        with closing(open_variant(variant)) as store:
            node = Node.open(store, NodeOptions(roles=frozenset({WORKER}), threads=conc))
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, node.request_stop)
            await node.run()

    uvloop.run(serve())


def recorded(variant: str) -> None:
    """How many jobs stand in the history as succeeded."""
    with closing(open_variant(variant)) as store:
        print(json.dumps({"n": _succeeded(store)}))


def _succeeded(store: Store) -> int:
    return store.count_jobs(store.list_node_types()[0].uuid)[JobState.SUCCEEDED]


def follow(variant: str, jobs: str) -> None:
    """Wait until the history holds so many succeeded jobs, then stamp each from its record: when it started, and how
    often. Then wait for the harness to end this process."""
    with closing(open_variant(variant)) as store:
        print("ready", flush=True)
        while _succeeded(store) < int(jobs):
            time.sleep(POLL_S)
        _stamp(_history(store))
    signal.pause()


def _history(store: Store) -> list[Job]:
    """All succeeded jobs in the order in which they were enqueued, which is that of their ids."""
    found: list[Job] = []
    cursor: str | None = None
    while True:
        page = store.list_jobs(JobQuery(states=frozenset({JobState.SUCCEEDED})), limit=1000, cursor=cursor)
        found += page.jobs
        cursor = page.cursor
        if cursor is None:
            return sorted(found, key=lambda job: job.id)


def _stamp(jobs: list[Job]) -> None:
    """Records have epoch milliseconds; the run files want the monotonic clock."""
    offset_ns = time.monotonic_ns() - time.time_ns()
    for i, job in enumerate(jobs):
        assert job.started_at is not None, f"job {job.id} succeeded without a start"
        probe.start[i] = job.started_at * 1_000_000 + offset_ns
    for i, job in enumerate(jobs):
        probe.flags[i] = min(255, job.attempts)


COMMANDS = {"recorded": recorded, "follow": follow}
if __name__ == "__main__":
    # Jobs name their function by this module's real name; without this it would be loaded twice.
    sys.modules["peer_rota"] = sys.modules["__main__"]
    probe.cli(globals())
