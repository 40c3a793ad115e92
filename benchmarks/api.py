"""How fast the HTTP API is: `python -m benchmarks.api [--store URL] [--seconds 5]`.

A server runs in a process of its own. The load comes from raw sockets that stay open, with requests made beforehand, so
that it costs less than what it measures. Without --store it measures SQLite in a temporary folder, and Redis if there
is a server program.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.machine import free_port
from benchmarks.servers import Redis, ServerMissing
from rota.model.job import Ending, JobSpec, JobState
from rota.model.runs.settlement import Settlement
from rota.store import Store, open_store

KEY = "a-key-for-the-benchmark"
BULK = 10_000
HISTORY = 1_000_000
FOLLOWERS, LINES = 300, 2_000


class Load:
    """Requests over connections that stay open."""

    def __init__(self, port: int) -> None:
        self._port = port

    def request(self, method: str, path: str, body: object = None) -> bytes:
        content = b"" if body is None else msgspec.json.encode(body)
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {KEY}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        return head.encode() + content

    async def ask(self, request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 26)
        answer = await _exchange(reader, writer, request)
        writer.close()
        return answer

    async def lines_of(self, request: bytes) -> int:
        """How many log lines a stream has until its end."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 26)
        writer.write(request)
        count = 0
        while (line := await reader.readline()) and not line.startswith(b"event: end"):
            count += line.startswith(b"data: ")
        writer.close()
        return count

    async def rate(self, request: bytes, *, connections: int, seconds: float) -> tuple[float, float]:
        """Requests per second, and the 99th percentile of their times in milliseconds."""
        end = time.perf_counter() + seconds
        start = time.perf_counter()
        times = await asyncio.gather(*[self._repeat(request, end) for _ in range(connections)])
        took = time.perf_counter() - start
        everything = sorted(each for some in times for each in some)
        return len(everything) / took, everything[int(len(everything) * 0.99)] * 1000

    async def _repeat(self, request: bytes, end: float) -> list[float]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 26)
        times = []
        while (began := time.perf_counter()) < end:
            await _exchange(reader, writer, request)
            times.append(time.perf_counter() - began)
        writer.close()
        return times


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> bytes:
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head + await reader.read(500)
    at = head.index(b"content-length: ") + 16
    return await reader.readexactly(int(head[at : head.index(b"\r", at)]))


class RotaServer:
    """`rota server` on a store; nobody runs the jobs."""

    def __init__(self, store: str, folder: str, *verb: str) -> None:
        self.port = free_port()
        words = [*(verb or ["server"]), "--port", str(self.port), "--store", store]
        environment = {**os.environ, "ROTA_API_KEY": KEY}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "rota", *words], env=environment, cwd=folder, stdout=subprocess.DEVNULL
        )

    async def ready(self, load: Load) -> None:
        for _ in range(200):
            try:
                await load.ask(load.request("GET", "/health"))
            except OSError:
                await asyncio.sleep(0.05)
            else:
                return
        raise RuntimeError("the server did not start")

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()


def fill_history(store: Store, queue: str, job_type: str) -> None:
    """A million finished jobs, written past the engine: only their listing is measured."""
    now = store.now()
    for start in range(0, HISTORY, 10_000):
        specs = [
            JobSpec(id=_id(now, start + n), job_type=job_type, queue=queue, enqueued_at=now - HISTORY + start + n)
            for n in range(10_000)
        ]
        _end(store, specs, now)


def _id(now: int, number: int) -> str:
    return f"{now >> 16:08x}-{now & 0xFFFF:04x}-7000-8000-{number:012x}"


def _end(store: Store, specs: Sequence[JobSpec], now: int) -> None:
    store.enqueue_jobs(specs, now=now)
    queue = specs[0].queue
    left = len(specs)
    while left:
        claims = store.claim_jobs(queue, token="bench/1", limit=1_000, now=now).claims
        done = [
            Settlement(
                one,
                JobState.SUCCEEDED,
                1,
                0,
                Ending(state=JobState.SUCCEEDED, ended_at=one.spec.enqueued_at, token="bench/1", attempts=1),
            )
            for one in claims
        ]
        store.finish_jobs(queue, done, now=now)
        left -= len(claims)


async def measure(url: str, seconds: float, folder: str, *, with_history: bool) -> dict[str, float]:
    server = RotaServer(url, folder)
    load = Load(server.port)
    figures: dict[str, float] = {}
    try:
        await server.ready(load)
        made = await load.ask(load.request("POST", "/api/job_types", {"name": "nothing", "executor": "log"}))
        job_type = msgspec.json.decode(made)["uuid"]
        wish = {"job_type_uuid": job_type, "arguments": {"a": 1, "b": "two"}}
        await load.rate(load.request("POST", "/api/jobs", wish), connections=32, seconds=1)
        rate, slowest = await load.rate(load.request("POST", "/api/jobs", wish), connections=32, seconds=seconds)
        figures["enqueue, requests/s at 32 connections"] = rate
        figures["enqueue, 99th percentile ms"] = slowest
        rate, _ = await load.rate(load.request("POST", "/api/jobs", wish), connections=1, seconds=1)
        figures["enqueue, requests/s at 1 connection"] = rate
        bulk = load.request("POST", "/api/jobs/bulk", {"jobs": [wish] * BULK})
        rate, _ = await load.rate(bulk, connections=2, seconds=seconds)
        figures["bulk, jobs/s at 2 connections"] = rate * BULK
        one = msgspec.json.decode(await load.ask(load.request("POST", "/api/jobs", wish)))["uuid"]
        rate, _ = await load.rate(load.request("GET", f"/api/jobs/{one}"), connections=32, seconds=1)
        figures["show a job, requests/s at 32 connections"] = rate
        if with_history:
            store = open_store(url)
            queue = next(one.uuid for one in store.list_node_types() if one.name == "default")
            _empty(store, queue)
            fill_history(store, queue, job_type)
            store.close()
            listing = load.request("GET", "/api/jobs?state=succeeded&limit=100")
            await load.ask(listing)
            figures["list 100 of 1,000,000 finished, ms"] = await _median_ms(load, listing)
            page = msgspec.json.decode(await load.ask(listing))
            deep = load.request("GET", f"/api/jobs?state=succeeded&limit=100&cursor={page['cursor']}")
            figures["the next page, ms"] = await _median_ms(load, deep)
    finally:
        server.close()
    return figures


async def follow_logs(url: str, folder: str) -> dict[str, float]:
    """Many clients follow one job that talks fast; counts the lines that they miss."""
    server = RotaServer(url, folder, "up", "--no-demo")
    load = Load(server.port)
    try:
        await server.ready(load)
        talker = {"name": "talker", "executor": "bash", "metadata": {"command": f"sleep 2; seq {LINES}"}}
        await load.ask(load.request("POST", "/api/job_types", talker))
        made = await load.ask(load.request("POST", "/api/jobs", {"job_type_uuid": "talker"}))
        path = f"/api/jobs/{msgspec.json.decode(made)['uuid']}/logs/stream"
        counts = await asyncio.gather(*[load.lines_of(load.request("GET", path)) for _ in range(FOLLOWERS)])
    finally:
        server.close()
    return {f"lines missed by {FOLLOWERS} followers of {LINES:,}": float(sum(LINES - count for count in counts))}


def _empty(store: Store, queue: str) -> None:
    """Claim and forget what the enqueueing left behind."""
    now = store.now()
    while claims := store.claim_jobs(queue, token="bench/0", limit=1_000, now=now).claims:
        ending = Ending(state=JobState.CANCELLED, ended_at=now, token="bench/0")
        store.finish_jobs(queue, [Settlement(one, JobState.CANCELLED, 0, 0, ending) for one in claims], now=now)


async def _median_ms(load: Load, request: bytes) -> float:
    """The median of twenty requests, one after another."""
    times = []
    for _ in range(20):
        began = time.perf_counter()
        await load.ask(request)
        times.append((time.perf_counter() - began) * 1000)
    return sorted(times)[10]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the HTTP API.")
    parser.add_argument("--store", help="measure this store instead; it is written to")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--history", action="store_true", help=f"also list from {HISTORY:,} finished jobs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        redis = None
        stores = [options.store] if options.store else [f"sqlite:///{Path(folder) / 'rota.db'}?synchronous=NORMAL"]
        if not options.store:
            try:
                redis = Redis(folder)
                stores.append(redis.url)
            except ServerMissing as error:
                print(f"no Redis: {error}")
        for url in stores:
            print(url.partition(":")[0])
            figures = asyncio.run(follow_logs(url, folder))
            figures |= asyncio.run(measure(url, options.seconds, folder, with_history=options.history))
            for name, value in figures.items():
                print(f"  {name:45} {value:12,.1f}")
        if redis is not None:
            redis.close()


if __name__ == "__main__":
    main()
