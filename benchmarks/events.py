"""What an event costs, with many configurations and much that is stored.

    python -m benchmarks.events                       both stores, 100,000 configurations, 1,000,000 validations
    python -m benchmarks.events --store redis --configurations 1000 --validations 0 --seconds 5

The server is a process of its own (`rota server`), the load comes from this one over keep-alive connections, each event
as a POST of its own, at a fixed rate that does not wait for answers. Half of the events validate a dependency, half
trigger a job; each matches one configuration of all. The answer names the job, which is queued in the same step, so the
time to the answer is an upper bound of the time to the queued job.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.machine import tree_cpu_s
from rota.engine.definitions.built_in import LOG_JOB_TYPE, ensure_built_in
from rota.engine.engine import Engine
from rota.model.events.configuration import Configuration, Dependency, Match, first_state
from rota.model.events.event import EventRef, make_event, shown_time
from rota.model.ids import new_id
from rota.store import Store, open_store
from rota.store.contract.events import ConfigurationChange, Validation, Verdicts
from tests.servers import RedisServer

BATCH = 500
KEY = "bench-key"
CONNECTIONS = 64


def configuration(number: int, queue: str, job_type: str, now: int) -> Configuration:
    """Waits for a file in a directory of its own and for a table of its own."""
    return Configuration(
        uuid=new_id(now),
        name=f"bench-{number:07}",
        queue=queue,
        job_type=job_type,
        dependencies=(
            Dependency(type="FILE", resource=f"/data/{number:07}/", life_s=86_400, match=Match.DIRECTORY),
            Dependency(type="TABLE", resource=f"table-{number:07}", life_s=0),
        ),
    )


def fill(store: Store, *, configurations: int, validations: int, queue: str, job_type: str) -> None:
    """Configurations, and events that validated them before."""
    now = store.now()
    each = validations // configurations if configurations else 0
    for first in range(0, configurations, BATCH):
        numbers = range(first, min(first + BATCH, configurations))
        made = [configuration(number, queue, job_type, now) for number in numbers]
        store.put_configurations([ConfigurationChange(one, first_state(one), None) for one in made])
        if each:
            store.apply_verdicts(queue, [_validated(one, each, now) for one in made], now=now)


def _validated(one: Configuration, count: int, now: int) -> Verdicts:
    at = now - 3_600_000
    refs = [
        EventRef(new_id(now), f"{one.dependencies[0].resource}{n}.csv", (at + n) * 1_000, at + n) for n in range(count)
    ]
    state = first_state(one, version=2)
    return Verdicts(one, 1, state, (), tuple(Validation(ref, 0) for ref in refs))


@contextlib.contextmanager
def store_url(kind: str, folder: Path) -> Iterator[str]:
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'bench.db'}?synchronous=NORMAL"
        return
    with RedisServer() as server:
        yield server.url


class Served(NamedTuple):
    port: int
    pid: int


@contextlib.contextmanager
def server(url: str, folder: Path) -> Iterator[Served]:
    """`rota server` as a process."""
    environment = {**os.environ, "HTTP_API_KEY": KEY, "ROTA_RATE_LIMIT": "0", "ROTA_LOG_LEVEL": "WARNING"}
    words = [sys.executable, "-m", "rota", "server", "--store", url, "--port", "0", "--json"]
    process = subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            text += process.stdout.readline()
        yield Served(int(json.loads(text)["address"].rpartition(":")[2]), process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def request(event: dict[str, str]) -> bytes:
    body = json.dumps(event).encode()
    head = (
        f"POST /events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {KEY}\r\nContent-Type: application/json\r\n"
    )
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class Load:
    """Posts events at a rate, and keeps how long each answer took."""

    def __init__(self, port: int, configurations: int) -> None:
        self._port = port
        self._configurations = configurations
        self._serial = 0
        self.took_ms: list[float] = []
        self.bad = 0

    def next_event(self) -> dict[str, str]:
        self._serial += 1
        number = random.randrange(self._configurations)
        at = shown_time(time.time_ns() // 1_000)
        if self._serial % 2:
            return {
                "eventType": "FILE",
                "eventTimestamp": at,
                "eventResourceId": f"/data/{number:07}/{self._serial}.csv",
            }
        return {"eventType": "TABLE", "eventTimestamp": at, "eventResourceId": f"table-{number:07}"}

    async def run(self, rate: float, seconds: float) -> float:
        """Returns the rate that was reached, in answers per second."""
        pending: asyncio.Queue[float] = asyncio.Queue()
        clients = [asyncio.create_task(self._client(pending)) for _ in range(CONNECTIONS)]
        start = time.perf_counter()
        total = int(rate * seconds)
        for number in range(total):
            due = start + number / rate
            if (wait := due - time.perf_counter()) > 0.001:
                await asyncio.sleep(wait)
            pending.put_nowait(due)
        await pending.join()
        took = time.perf_counter() - start
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
        return total / took

    async def _client(self, pending: "asyncio.Queue[float]") -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        while True:
            due = await pending.get()
            writer.write(request(self.next_event()))
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            self.took_ms.append((time.perf_counter() - due) * 1_000)
            self.bad += b"200 OK" not in head or b'"validated":[{' not in body
            pending.task_done()


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def measure_load(served: Served, configurations: int, rate: float, seconds: float) -> str:
    load, cpu_s = Load(served.port, configurations), tree_cpu_s(served.pid)
    reached = asyncio.run(load.run(rate, seconds))
    cpu_us = (tree_cpu_s(served.pid) - cpu_s) / len(load.took_ms) * 1e6
    p50, p99, worst = (percentile(load.took_ms, share) for share in (0.5, 0.99, 1.0))
    times = f"p50 {p50:.2f} ms, p99 {p99:.2f} ms, worst {worst:.2f} ms"
    return f"{rate:.0f}/s asked, {reached:.0f}/s held, {times}, CPU {cpu_us:.0f} us per event, bad {load.bad}"


def measure_calls(store: Store, *, matching: bool, configurations: int, count: int = 2_000) -> float:
    """Microseconds per event of `Events.post`, one at a time, in this process."""
    engine = Engine.open(store)
    clock, events = engine.clock, engine.events
    took = 0.0
    for number in range(count):
        chosen = random.randrange(configurations) if matching else number
        resource = f"/data/{chosen:07}/x" if matching else f"/elsewhere/{number}/x"
        now = clock.now()
        event = make_event(id=new_id(now), type="FILE", resource=resource, stated_time=now * 1_000, received_at=now)
        start = time.perf_counter()
        events.post([event])
        took += time.perf_counter() - start
    return took / count * 1e6


def run(kind: str, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as name, store_url(kind, Path(name)) as url:
        store = open_store(url)
        definitions = Engine.open(store).definitions
        job_type = ensure_built_in(definitions, LOG_JOB_TYPE, store.now())
        queue = definitions.node_type(job_type.node_type).uuid
        print(f"\n{kind}")
        empty = measure_calls(store, matching=False, configurations=0)
        print(f"  an event that matches nothing, no configurations: {empty:.0f} us")
        start = time.perf_counter()
        fill(
            store,
            configurations=options.configurations,
            validations=options.validations,
            queue=queue,
            job_type=job_type.uuid,
        )
        took = time.perf_counter() - start
        print(f"  filled with {options.configurations} configurations, {options.validations} validations: {took:.0f} s")
        full = measure_calls(store, matching=False, configurations=options.configurations)
        hit = measure_calls(store, matching=True, configurations=options.configurations)
        print(f"  an event that matches nothing, all configurations: {full:.0f} us; one that matches one: {hit:.0f} us")
        with server(url, Path(name)) as served:
            measure_load(served, options.configurations, 200, 2)  # warm
            for rate in options.rates:
                print(f"  over HTTP: {measure_load(served, options.configurations, rate, options.seconds)}", flush=True)
        store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", choices=["sqlite", "redis"], action="append")
    parser.add_argument("--configurations", type=int, default=100_000)
    parser.add_argument("--validations", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rates", type=float, nargs="+", default=[200, 1_000, 2_000, 3_000])
    options = parser.parse_args()
    for kind in options.store or ["sqlite", "redis"]:
        run(kind, options)


if __name__ == "__main__":
    main()
