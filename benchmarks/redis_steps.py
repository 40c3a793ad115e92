"""What single steps of the Redis store cost. Run: python -m benchmarks.redis_steps

A step is one script; the longest one of a call is read from the server's SLOWLOG. That is by the clock: on a busy
machine it holds the waiting for a core as well, and the server's CPU tells more.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import redis

from benchmarks.servers import Redis
from rota.model.ids import new_id
from rota.model.job import Claim, JobSpec, make_token
from rota.model.runs.log import LogEntry
from rota.model.runs.outcome import succeeded
from rota.model.runs.retry import RetryPolicy
from rota.model.runs.settlement import settle
from rota.store import Store, open_store
from rota.store.contract.logs import LogBatch

JOBS = 10_000
LOCKED = 100_000
QUEUES = 50
NODES = 100
SINGLE, CALLS, CALL = 5_000, 40, 500
TURNS = 5
_BATCH = 1_000


class Bench:
    """A store on a server of its own."""

    def __init__(self, store: Store, server: redis.Redis) -> None:
        self.store = store
        self._server = server
        self._serial = 0

    @contextmanager
    def measured(self, what: str) -> Iterator[None]:
        """Print how long it took, its longest step, and the CPU of the server and of this thread."""
        self._server.config_set("slowlog-log-slower-than", 100)
        self._server.slowlog_reset()
        server_ms, own_ms, began = self._server_cpu_ms(), time.thread_time(), time.perf_counter()
        yield
        took_ms, own_ms = (time.perf_counter() - began) * 1000, (time.thread_time() - own_ms) * 1000
        server_ms = self._server_cpu_ms() - server_ms
        longest_ms = max((entry["duration"] for entry in self._server.slowlog_get(1_000)), default=0) / 1000
        print(
            f"{what}: {took_ms:.1f} ms, longest step {longest_ms:.1f} ms; CPU of the server {server_ms:.2f} ms, "
            f"of the caller {own_ms:.2f} ms"
        )

    def _server_cpu_ms(self) -> float:
        used = self._server.info("cpu")
        return float(used["used_cpu_user"] + used["used_cpu_sys"]) * 1000

    def new_jobs(self, queue: str, count: int, *, lock: str | None = None) -> list[JobSpec]:
        now = self.store.now()
        return [
            JobSpec(
                id=new_id(now), job_type=queue, queue=queue, enqueued_at=now, arguments={"a": "x" * 20}, lock_key=lock
            )
            for _ in range(count)
        ]

    def enqueue(self, specs: list[JobSpec]) -> None:
        for start in range(0, len(specs), _BATCH):
            self.store.enqueue_jobs(specs[start : start + _BATCH], now=self.store.now())

    def claim(self, queue: str, limit: int, *, node: str = "0" * 36) -> list[Claim]:
        self._serial += 1
        token = make_token(node, self._serial)
        return self.store.claim_jobs(queue, token=token, limit=limit, now=self.store.now()).claims

    def end(self, queue: str, claims: list[Claim], lines: int) -> None:
        now = self.store.now()
        entries = [LogEntry(now, f"line {n} " + "x" * 60) for n in range(lines)]
        self.store.append_logs([LogBatch(queue, one.spec.id, one.token, entries) for one in claims])
        ends = [
            settle(one, succeeded(None), policy=RetryPolicy(), started_at=now, now=now, chance=0.0) for one in claims
        ]
        self.store.finish_jobs(queue, ends, now=now)


def bulk_enqueue(bench: Bench) -> None:
    for _ in range(TURNS):
        specs = bench.new_jobs(new_id(0), JOBS)
        with bench.measured(f"bulk enqueue of {JOBS:,}"):
            bench.store.enqueue_jobs(specs, now=bench.store.now())


def producers(bench: Bench) -> None:
    specs = bench.new_jobs(new_id(0), SINGLE)
    with bench.measured(f"enqueue {SINGLE:,} jobs one by one"):
        for spec in specs:
            bench.store.enqueue_jobs([spec], now=bench.store.now())
    calls = [bench.new_jobs(new_id(0), CALL) for _ in range(CALLS)]
    with bench.measured(f"enqueue {CALLS * CALL:,} jobs, {CALL} at a time"):
        for specs in calls:
            bench.store.enqueue_jobs(specs, now=bench.store.now())


def watchdog(bench: Bench) -> None:
    """What it asks for: pulses at each look, claims without one once in a while, and the claims of who is dead."""
    queue, nodes = new_id(0), [new_id(0) for _ in range(NODES)]
    bench.enqueue(bench.new_jobs(queue, JOBS))
    for node in nodes:
        bench.claim(queue, JOBS // NODES, node=node)
    bench.store.read_pulses(queue)
    with bench.measured(f"a look of each of {NODES} watchdogs at {JOBS:,} running jobs"):
        for _ in nodes:
            bench.store.read_pulses(queue)
    with bench.measured(f"look for claims without a pulse among {JOBS:,}"):
        bench.store.mark_orphans(queue)
    with bench.measured(f"read the claims of one of {NODES} nodes"):
        bench.store.claims_of_node(queue, nodes[0], limit=JOBS)


def find_by_id(bench: Bench) -> None:
    ids = []
    for _ in range(QUEUES):
        specs = bench.new_jobs(new_id(0), 20)
        bench.enqueue(specs)
        ids += [spec.id for spec in specs]
    with bench.measured(f"find {len(ids):,} jobs by id, one by one, {QUEUES} queues"):
        for job_id in ids:
            bench.store.find_jobs([job_id])
    with bench.measured(f"find that there is none, {len(ids):,} times"):
        for _ in ids:
            bench.store.find_jobs([new_id(0)])


def claim_against_a_lock(bench: Bench) -> None:
    queue = new_id(0)
    bench.enqueue(bench.new_jobs(queue, LOCKED, lock="one"))
    bench.claim(queue, 1)
    with bench.measured(f"one claim against {LOCKED:,} locked jobs"):
        bench.claim(queue, 10)


def trim(bench: Bench) -> None:
    queue = new_id(0)
    for _ in range(JOBS // _BATCH):
        bench.enqueue(bench.new_jobs(queue, _BATCH))
        bench.end(queue, bench.claim(queue, _BATCH), lines=20)
    with bench.measured(f"forget {JOBS:,} jobs with 20 log lines each"):
        bench.store.trim_history(queue, ended_before=bench.store.now() + 1, keep=0, limit=JOBS)


CASES: tuple[Callable[[Bench], None], ...] = (bulk_enqueue, producers, find_by_id, claim_against_a_lock, watchdog, trim)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="bench-steps-") as folder, closing(Redis(folder)) as server:
        print(server.version, "load", os.getloadavg())
        with closing(open_store(server.url)) as store, closing(redis.Redis.from_url(server.url)) as client:
            for case in CASES:
                server.reset()
                case(Bench(store, client))


if __name__ == "__main__":
    main()
