from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import probe
from huey import RedisHuey, SqliteHuey

if probe.VARIANT == "sqlite":  # the documented embedded set-up: WAL, and SQLite's own default for fsync: FULL
    huey = SqliteHuey("bench", filename=str(Path(probe.RUN or ".") / "huey.db"), results=False)
else:
    huey = RedisHuey("bench", url=probe.REDIS_URL, results=False)


@huey.task()
def noop(i: int) -> None:
    probe.hit(i)


@huey.task()
def shell(i: int) -> None:
    probe.shell(i)


def versions() -> dict[str, str]:
    return probe.dists("huey", "redis", "hiredis")


@contextmanager
def producer(variant: str) -> Iterator[Any]:
    import peer_huey  # the names of tasks carry the module, which must not be "__main__"

    task = getattr(peer_huey, probe.JOB)

    class Producer:
        def bulk(self, n: int) -> None:  # no bulk API
            for i in range(n):
                task(i)

        def one(self, i: int) -> None:
            task(i)

    yield Producer()


def worker(variant: str, procs: int, conc: int | None) -> None:
    threads = conc or {"redis": 4, "sqlite": 1}[variant]  # the fastest of 1, 4 threads and 1 process
    words = ["peer_huey.huey", "-k", "thread", "-w", threads, "-q", "-n", "-d", "0.01", "-m", "0.1"]
    probe.copies(procs, probe.program("huey_consumer"), *words)


probe.cli(globals())
