"""What single steps of the SQLite store cost. Run: python -m benchmarks.sqlite_steps [FOLDER]

A step is one write transaction: while it lasts, nobody else writes. The file is made in FOLDER, whose disk counts.
"""

import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from rota.model.ids import new_id
from rota.model.job import JobSpec, make_token
from rota.model.runs.log import LogEntry
from rota.model.runs.outcome import succeeded
from rota.model.runs.retry import RetryPolicy
from rota.model.runs.settlement import settle
from rota.store.contract.logs import LogBatch
from rota.store.sqlite.database.database import Database
from rota.store.sqlite.store import SqliteStore

ENDED = 500_000
LOGGED, LINES = 6_000, 250
LOCKED = 100_000
SINGLE, BATCHES, BATCH = 1_000, 40, 500
_LINE = "a line of a log that is neither very long nor very short, as most of them are"


class TimedDatabase(Database):
    """Remembers how long each write transaction took: by the clock, and of this thread's CPU."""

    def __init__(self, path: str, synchronous: str) -> None:
        super().__init__(path, synchronous=synchronous)
        self.steps: list[tuple[float, float]] = []

    @contextmanager
    def write(self) -> "Iterator[object]":
        with super().write() as db:
            began, cpu = time.perf_counter(), time.thread_time()
            yield db
        self.steps.append((time.perf_counter() - began, time.thread_time() - cpu))

    def longest(self) -> str:
        took, cpu = zip(*self.steps, strict=True)
        return f"{len(took)} steps, {_spread(took)}; CPU {_spread(cpu)}, {sum(cpu):.2f} s in all"


class Bench:
    """A store in a file of its own."""

    def __init__(self, folder: Path, synchronous: str) -> None:
        self.path = folder / f"{synchronous}-{time.monotonic_ns()}.db"
        self.database = TimedDatabase(str(self.path), synchronous).open()
        self.store = SqliteStore(self.database)
        self.queue = new_id(self.store.now())
        self._serial = 0

    def specs(self, count: int, lock: str | None = None) -> list[JobSpec]:
        now, queue = self.store.now(), self.queue
        return [
            JobSpec(id=new_id(now), job_type=queue, queue=queue, enqueued_at=now, lock_key=lock) for _ in range(count)
        ]

    def enqueue(self, count: int, lock: str | None = None) -> None:
        for start in range(0, count, 1_000):
            self.store.enqueue_jobs(self.specs(min(1_000, count - start), lock), now=self.store.now())

    def claim(self, limit: int) -> list[object]:
        self._serial += 1
        token, now = make_token("bench", self._serial), self.store.now()
        return list(self.store.claim_jobs(self.queue, token=token, limit=limit, now=now).claims)

    def run_all(self, lines: int = 0) -> None:
        """Run whatever waits, with so many lines of log each."""
        while claims := self.claim(1_000):
            now = self.store.now()
            entries = [LogEntry(time=now, message=_LINE, attempt=1)] * lines
            if lines:
                self.store.append_logs([LogBatch(self.queue, one.spec.id, one.token, entries) for one in claims])
            once = RetryPolicy(attempts=1)
            ends = [settle(one, succeeded(None), policy=once, started_at=now, now=now, chance=0.0) for one in claims]
            self.store.finish_jobs(self.queue, ends, now=now)


def commits(folder: Path) -> None:
    for synchronous in ("NORMAL", "FULL") * 2:
        bench = Bench(folder, synchronous)
        with closing(bench.store):
            alone = _timed(SINGLE, lambda bench=bench: bench.store.enqueue_jobs(bench.specs(1), now=0))
            batch = _timed(BATCHES, lambda bench=bench: bench.store.enqueue_jobs(bench.specs(BATCH), now=0))
        p99 = sorted(alone)[len(alone) * 99 // 100]
        each = [took / BATCH for took in batch]
        print(f"{synchronous}: a job alone {_us(alone)}, p99 {p99 * 1e6:.0f} us; of {BATCH} in a call {_us(each)}")


def _spread(times: Sequence[float]) -> str:
    in_order = sorted(times)
    median, p99 = statistics.median(in_order), in_order[len(in_order) * 99 // 100]
    return f"median {median * 1e3:.2f} ms, p99 {p99 * 1e3:.1f} ms, longest {in_order[-1] * 1e3:.1f} ms"


def _us(times: list[float]) -> str:
    return f"median {statistics.median(times) * 1e6:.0f} us, mean {statistics.mean(times) * 1e6:.0f} us"


def _timed(rounds: int, action: Callable[[], object]) -> list[float]:
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return times


def retention(folder: Path, ended: int, lines: int, *, synchronous: str = "NORMAL") -> None:
    bench = Bench(folder, synchronous)
    with closing(bench.store):
        for start in range(0, ended, 10_000):
            bench.enqueue(min(10_000, ended - start))
            bench.run_all(lines)
        began = time.thread_time()
        bench.store.count_jobs(bench.queue)
        counting_ms = (time.thread_time() - began) * 1e3
        bench.database.steps.clear()
        with (
            _another_writer(bench.path, synchronous) as waits,
            _another_writer(folder / "beside.db", "FULL") as commits,
        ):
            began = time.perf_counter()
            count = 0
            while count < 5_000:
                count += bench.store.trim_history(bench.queue, ended_before=0, keep=ended - 5_000, limit=1_000)
            took = time.perf_counter() - began
        log = Path(f"{bench.path}-wal").stat().st_size >> 20
        print(
            f"{synchronous}: forget 5,000 of {ended} with {lines} lines each: {took:.2f} s, {bench.database.longest()}"
        )
        print(f"  another writer waited {_spread(waits)}; log {log} MiB; count_jobs {counting_ms:.1f} ms of CPU")
        print(f"  a commit of one row to another file, with FULL, took meanwhile {_spread(commits)}")


@contextmanager
def _another_writer(path: Path, synchronous: str) -> Iterator[Sequence[float]]:
    """How long each small write of another handle takes meanwhile."""
    waits, is_over = [0.0], threading.Event()

    def write() -> None:
        with closing(SqliteStore(Database(str(path), synchronous=synchronous).open())) as store:
            while not is_over.wait(0.001):
                began = time.perf_counter()
                store.put_setting("bench", str(began))
                waits.append(time.perf_counter() - began)

    thread = threading.Thread(target=write)
    thread.start()
    yield waits
    is_over.set()
    thread.join()


def claims(folder: Path) -> None:
    bench = Bench(folder, "NORMAL")
    with closing(bench.store):
        bench.enqueue(1, lock="l")
        bench.claim(1)
        bench.enqueue(LOCKED, lock="l")
        bench.enqueue(1)
        bench.database.steps.clear()
        while not bench.claim(16):
            pass
        print(f"claim past {LOCKED} jobs of one taken lock: {bench.database.longest()}")


def main(folder: str | None) -> None:
    with tempfile.TemporaryDirectory(prefix="rota-sqlite-", dir=folder) as made:
        commits(Path(made))
        claims(Path(made))
        for synchronous in ("NORMAL", "FULL"):
            retention(Path(made), LOGGED, LINES, synchronous=synchronous)
        retention(Path(made), ENDED, 0)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
