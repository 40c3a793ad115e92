"""What the walls of the server cost: `python -m benchmarks.walls --base OLDER_WORK_TREE [--store redis|sqlite]`.

Two servers, one of this work tree and one of an older one (`git worktree add --detach /tmp/base COMMIT`), each on an
empty store of its own, are asked in turns to enqueue jobs. Prints the CPU time of each per request, and their ratio:
CPU and not wall time, and turn by turn, so that what else the machine does hardly counts.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles

from benchmarks.api import KEY, Load, _exchange
from benchmarks.machine import free_port
from benchmarks.servers import Redis

HERE = Path(__file__).parent.parent
_WARM_UP = 2_000
BODY = {"job_type_uuid": "nothing", "arguments": {"a": 1, "b": "c"}}
"""In Synchrony's words, which every version knows."""


class Measured:
    """`rota server` of one work tree."""

    def __init__(self, tree: Path, store: str, folder: str) -> None:
        self.port = free_port()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "rota", "server", "--port", str(self.port), "--store", store],
            env={**os.environ, "ROTA_API_KEY": KEY, "PYTHONPATH": str(tree.resolve() / "src")},
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.load = Load(self.port)
        self.request = self.load.request("POST", "/api/jobs", BODY)
        self.costs: list[float] = []

    async def begin(self) -> None:
        for _ in range(400):
            try:
                await self.load.ask(self.load.request("GET", "/health"))
                break
            except OSError:
                await asyncio.sleep(0.05)
        await self.load.ask(self.load.request("POST", "/api/job_types", {"name": "nothing", "executor": "log"}))
        await self._enqueue(_WARM_UP, 8)

    async def take_turn(self, requests: int, connections: int) -> None:
        before = self._cpu_us()
        await self._enqueue(requests, connections)
        self.costs.append((self._cpu_us() - before) / requests)

    async def _enqueue(self, requests: int, connections: int) -> None:
        await asyncio.gather(*[self._repeat(requests // connections) for _ in range(connections)])

    async def _repeat(self, requests: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        for _ in range(requests):
            await _exchange(reader, writer, self.request)
        writer.close()

    def _cpu_us(self) -> float:
        """Of all its threads, to the nanosecond."""
        threads = Path(f"/proc/{self._process.pid}/task").iterdir()
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1_000

    def end(self) -> None:
        self._process.terminate()
        self._process.wait()


async def measure(base: Measured, new: Measured, *, turns: int, requests: int, connections: int) -> None:
    for one in (base, new):
        await one.begin()
    for turn in range(turns):
        for one in (base, new) if turn % 2 == 0 else (new, base):
            await one.take_turn(requests, connections)


def show(base: Measured, new: Measured) -> None:
    print(f"{'CPU microseconds per POST /api/jobs':38} {'base':>8} {'new':>8} {'ratio':>8}")
    for name, figure in (("least", min), ("lower quartile", lambda some: quantiles(some, n=4)[0]), ("median", median)):
        before, after = figure(base.costs), figure(new.costs)
        print(f"{name:38} {before:8.1f} {after:8.1f} {after / before:8.3f}")
    print(f"{'median of the ratios, turn by turn':56} {median(map(_ratio, new.costs, base.costs)):8.3f}")


def _ratio(after: float, before: float) -> float:
    return after / before


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the cost of POST /api/jobs with that of an older work tree.")
    parser.add_argument("--base", type=Path, required=True, help="the older work tree")
    parser.add_argument("--new", type=Path, default=HERE, help="the newer one; this, unless told")
    parser.add_argument("--store", choices=["redis", "sqlite"], default="redis")
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--requests", type=int, default=2_000, help="in one turn")
    parser.add_argument("--connections", type=int, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        servers: list[Redis] = []
        measured: list[Measured] = []
        try:
            for tree in (options.base, options.new):
                url = f"sqlite:///{folder}/{len(measured)}.db"
                if options.store == "redis":
                    servers.append(Redis(folder))
                    url = servers[-1].url
                measured.append(Measured(tree, url, folder))
            base, new = measured
            counts = {"turns": options.turns, "requests": options.requests, "connections": options.connections}
            asyncio.run(measure(base, new, **counts))
            show(base, new)
        finally:
            for one in (*measured, *servers):
                one.end() if isinstance(one, Measured) else one.close()


if __name__ == "__main__":
    main()
