from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dramatiq
import probe
from dramatiq.brokers.redis import RedisBroker

broker = RedisBroker(url=probe.REDIS_URL)
dramatiq.set_broker(broker)


@dramatiq.actor
def noop(i: int) -> None:
    probe.hit(i)


@dramatiq.actor
def shell(i: int) -> None:
    probe.shell(i)


def versions() -> dict[str, str]:
    return probe.dists("dramatiq", "redis", "hiredis")


@contextmanager
def producer(variant: str) -> Iterator[Any]:
    actor = {"noop": noop, "shell": shell}[probe.JOB]

    class Producer:
        def bulk(self, n: int) -> None:  # no bulk API
            for i in range(n):
                actor.send(i)

        def one(self, i: int) -> None:
            actor.send(i)

    yield Producer()


def worker(variant: str, procs: int, conc: int | None) -> None:
    words = ["peer_dramatiq", "-p", procs, "-t", conc or 8, "--skip-logging"]
    probe.execute(probe.program("dramatiq"), *words, dramatiq_queue_prefetch=1000)


probe.cli(globals())
