import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import probe
from celery import Celery

RESULTS = probe.VARIANT.endswith("results")
app = Celery("peer_celery", broker=probe.REDIS_URL, backend=probe.REDIS_URL if RESULTS else None)
app.conf.update(
    task_ignore_result=not RESULTS,
    worker_prefetch_multiplier=128,
    broker_connection_retry_on_startup=True,
    worker_hijack_root_logger=False,
    task_store_errors_even_if_ignored=False,
)


@app.task(name="noop")
def noop(i: int) -> None:
    probe.hit(i)


@app.task(name="shell")
def shell(i: int) -> None:
    probe.shell(i)


def versions() -> dict[str, str]:
    return probe.dists("celery", "kombu", "redis", "hiredis", "gevent")


@contextmanager
def producer(variant: str) -> Iterator[Any]:
    task = {"noop": noop, "shell": shell}[probe.JOB]

    class Producer:
        def bulk(self, n: int) -> None:  # no bulk API: one producer, used again and again
            with app.producer_pool.acquire(block=True) as sender:
                for i in range(n):
                    task.apply_async((i,), producer=sender)

        def one(self, i: int) -> None:
            task.delay(i)

    yield Producer()


def worker(variant: str, procs: int, conc: int | None) -> None:
    pool = variant.split("-")[0]
    options = ["--without-gossip", "--without-mingle", "--without-heartbeat", "-l", "ERROR"]
    words = [sys.executable, "-m", "celery", "-A", "peer_celery", "worker", "-P", pool, *options]
    if pool == "prefork":
        probe.execute(*words, "-c", procs * (conc or 1))
    probe.copies(procs, *words, *(["-c", "100"] if pool == "gevent" else []), "-n", f"w%h-{os.getpid()}")


probe.cli(globals())
