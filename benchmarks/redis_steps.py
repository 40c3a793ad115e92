"""What single steps of the Redis store cost. Run: python -m benchmarks.redis_steps

A step is one script; the longest one of a call is read from the server's SLOWLOG.
"""

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
_BATCH = 1_000


class Bench:
    """A store on a server of its own."""

    def __init__(self, store: Store, server: redis.Redis) -> None:
        self.store = store
        self._server = server
        self._serial = 0

    @contextmanager
    def measured(self, what: str) -> Iterator[None]:
        """Print how long it took, and its longest step."""
        self._server.config_set("slowlog-log-slower-than", 100)
        self._server.slowlog_reset()
        began = time.perf_counter()
        yield
        took_ms = (time.perf_counter() - began) * 1000
        longest_ms = max((entry["duration"] for entry in self._server.slowlog_get(1_000)), default=0) / 1000
        print(f"{what}: {took_ms:.1f} ms, longest step {longest_ms:.1f} ms")

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

    def claim(self, queue: str, limit: int) -> list[Claim]:
        self._serial += 1
        token = make_token("0" * 36, self._serial)
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
    specs = bench.new_jobs(new_id(0), JOBS)
    with bench.measured(f"bulk enqueue of {JOBS:,}"):
        bench.store.enqueue_jobs(specs, now=bench.store.now())


def find_by_id(bench: Bench) -> None:
    ids = []
    for _ in range(QUEUES):
        specs = bench.new_jobs(new_id(0), 20)
        bench.enqueue(specs)
        ids += [spec.id for spec in specs]
    with bench.measured(f"find {len(ids):,} jobs by id, one by one, {QUEUES} queues"):
        for job_id in ids:
            bench.store.find_jobs([job_id])


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


CASES: tuple[Callable[[Bench], None], ...] = (bulk_enqueue, find_by_id, claim_against_a_lock, trim)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="bench-steps-") as folder, closing(Redis(folder)) as server:
        print(server.version)
        with closing(open_store(server.url)) as store, closing(redis.Redis.from_url(server.url)) as client:
            for case in CASES:
                server.reset()
                case(Bench(store, client))


if __name__ == "__main__":
    main()
