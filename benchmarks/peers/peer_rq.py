from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import probe
from redis import Redis
from rq import Queue


def versions() -> dict[str, str]:
    return probe.dists("rq", "redis", "hiredis")


@contextmanager
def producer(variant: str) -> Iterator[Any]:
    queue = Queue(connection=Redis.from_url(probe.REDIS_URL))
    name = "probe.hit" if probe.JOB == "noop" else "probe.shell"

    class Producer:
        def bulk(self, n: int) -> None:
            for batch in probe.batches(n):
                queue.enqueue_many([Queue.prepare_data(name, (i,)) for i in batch])

        def one(self, i: int) -> None:
            queue.enqueue(name, i)

    yield Producer()


def worker(variant: str, procs: int, conc: int | None) -> None:
    kind = "rq.SimpleWorker" if variant == "simple" else "rq.Worker"
    words = ["worker", "-q", "-u", probe.REDIS_URL, "-P", probe.HERE, "-w", kind, "--disable-job-desc-logging"]
    probe.copies(procs * (conc or 1), probe.program("rq"), *words)


probe.cli(globals())
