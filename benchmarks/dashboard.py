"""What the dashboard costs: `python -m benchmarks.dashboard [--tabs 200] [--seconds 20] [--log] [--history]`.

Three questions, each answered on a server in a process of its own, on SQLite in a temporary folder, and on Redis if
there is a server program: how much CPU open tabs cost, beyond what the same server uses without any, while jobs run;
with `--log`, how soon a line that a job writes is on its page; and with `--history`, how long each page takes with
1,000,000 ended jobs.
"""

import argparse
import asyncio
import os
import tempfile
import time
from pathlib import Path

import msgspec

from benchmarks.api import HISTORY, KEY, Load, RotaServer, fill_history
from benchmarks.live_log import delays_of_lines
from benchmarks.machine import tree_cpu_s
from benchmarks.servers import Redis, ServerMissing
from rota.store import open_store
from rota.store.contract.jobs import JobQuery

PAGES = ("/", "/jobs", "/jobs?q=state:failed", "/jobs?q=state:succeeded", "/queues", "/schedules", "/nodes", "/audit")
_EVERY_S = 0.2
"""While it is measured a job is enqueued so often, so that there is something to tell."""


def page_request(path: str) -> bytes:
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {KEY}\r\nAccept: text/html\r\n\r\n"
    return head.encode()


class Tabs:
    """Open streams of one page, and how many bytes they were sent."""

    def __init__(self, port: int, path: str, count: int) -> None:
        self._port = port
        self._path = path
        self._count = count
        self._tasks: list[asyncio.Task[None]] = []
        self.received = 0
        self._open = 0
        self._all_open = asyncio.Event()

    async def start(self) -> None:
        self._tasks = [asyncio.create_task(self._follow()) for _ in range(self._count)]
        await self._all_open.wait()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _follow(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            writer.write(page_request(f"/live?at={self._path}"))
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            self._open += 1
            if self._open == self._count:
                self._all_open.set()
            while piece := await reader.read(1 << 16):
                self.received += len(piece)
        finally:
            writer.close()


async def cost_of_tabs(url: str, folder: str, *, tabs: int, seconds: float) -> dict[str, float]:
    """CPU of the server in turns: without tabs, with them, without, with."""
    server = RotaServer(url, folder, "up", "--no-demo")
    load = Load(server.port)
    try:
        await server.ready(load)
        await load.ask(load.request("POST", "/api/job_types", {"name": "nothing", "executor": "log"}))
        running = asyncio.create_task(_enqueue_now_and_then(load))
        without, with_tabs, received = 0.0, 0.0, 0
        for _ in range(2):
            without += await _cpu(server.pid, seconds / 2)
            opened = Tabs(server.port, "/", tabs)
            await opened.start()
            with_tabs += await _cpu(server.pid, seconds / 2)
            received += opened.received
            await opened.stop()
        running.cancel()
    finally:
        server.close()
    return {
        "CPU without tabs, of one core": without / seconds,
        f"CPU with {tabs} tabs on the overview, of one core": with_tabs / seconds,
        "what the tabs cost, of one core": (with_tabs - without) / seconds,
        "sent to each tab, bytes/s": received / tabs / seconds,
    }


async def _enqueue_now_and_then(load: Load) -> None:
    while True:
        await load.ask(load.request("POST", "/api/jobs", {"job_type": "nothing"}))
        await asyncio.sleep(_EVERY_S)


async def _cpu(pid: int, seconds: float) -> float:
    before = tree_cpu_s(pid)
    await asyncio.sleep(seconds)
    return tree_cpu_s(pid) - before


async def times_of_pages(url: str, folder: str) -> dict[str, float]:
    """The median of twenty looks at each page, one after another, in milliseconds."""
    server = RotaServer(url, folder)
    load = Load(server.port)
    try:
        await server.ready(load)
        made = await load.ask(load.request("POST", "/api/job_types", {"name": "ended", "executor": "log"}))
        store = open_store(url)
        queue = next(one.uuid for one in store.list_node_types() if one.name == "default")
        fill_history(store, queue, msgspec.json.decode(made)["uuid"])
        last = store.list_jobs(JobQuery(), limit=1).jobs[0].id
        store.close()
        return {f"{path}, ms": await _median_ms(load, path) for path in (*PAGES, f"/jobs/{last}")}
    finally:
        server.close()


async def _median_ms(load: Load, path: str) -> float:
    times = []
    for _ in range(20):
        began = time.perf_counter()
        await load.ask(page_request(path))
        times.append((time.perf_counter() - began) * 1000)
    return sorted(times)[10]


async def measure(url: str, folder: str, options: argparse.Namespace) -> None:
    figures: dict[str, float] = {}
    if options.tabs:
        figures |= await cost_of_tabs(url, folder, tabs=options.tabs, seconds=options.seconds)
    if options.log:
        figures |= await delays_of_lines(url, folder)
    if options.history:
        figures |= await times_of_pages(url, folder)
    history = f", with {HISTORY:,} ended jobs" if options.history else ""
    print(f"{url.partition(':')[0]}{history}, load {os.getloadavg()[0]:.1f}")
    for name, value in figures.items():
        print(f"  {name:<55} {value:12,.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the dashboard.")
    parser.add_argument("--store", help="measure this store instead; it is written to")
    parser.add_argument("--tabs", type=int, default=200, help="0: leave this question out")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--log", action="store_true", help="also follow the log of a job that writes")
    parser.add_argument("--history", action="store_true", help=f"also look at pages with {HISTORY:,} ended jobs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = options.store or f"sqlite:///{Path(folder) / 'rota.db'}"
        asyncio.run(measure(url, folder, options))
        if options.store:
            return
        try:
            redis = Redis(folder)
        except ServerMissing as missing:
            print(missing)
            return
        try:
            asyncio.run(measure(redis.url, folder, options))
        finally:
            redis.close()


if __name__ == "__main__":
    main()
