"""Sync tasks under load. Run: python -m benchmarks.sync_tasks

A node with everything in one process, as `rota up` makes it. A task writes so many log lines a second; what counts is
how long it took compared with how long it meant to, the API's latency meanwhile, and memory and CPU. Then a hundred
collections are due in one second. `pages` lists a source that has run 100,000 tasks.
"""

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

from benchmarks.machine import free_port, stop, tree_cpu_s
from benchmarks.servers import Redis

TOKEN = "benchmark"
EVER = "start=2000-01-01T00:00:00Z&end=2100-01-01T00:00:00Z"
WRITER = """
import os, sys, time
rate, seconds = int(sys.argv[1]), float(sys.argv[2])
began, done, total = time.monotonic(), 0, int(rate * seconds)
while done < total:
    due = min(int((time.monotonic() - began) * rate), total)
    lines = "".join(f"record {number:09d} was read and stored\\n" for number in range(done, due))
    data = memoryview(lines.encode())
    while data:
        data = data[os.write(1, data):]
    done = due
    time.sleep(0.005)
print(f"took {time.monotonic() - began:.3f}", file=sys.stderr)
"""
NODE = """
import sys
import rota.model.limits as limits
limits.MAX_LOG_ATTEMPT_BYTES = int(sys.argv.pop(1))
from rota.cli.main import main
main()
"""
"""A node whose attempts may write more than usual, so that a flood can last."""


class Api:
    """One connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(self, method: str, path: str) -> tuple[int, bytes]:
        self._connection.request(method, path, headers={"X-Admin-Token": TOKEN})
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def timed(self, method: str, path: str) -> float:
        """Milliseconds."""
        began = time.perf_counter()
        status, body = self.ask(method, path)
        assert status in (200, 201), (status, body[:300])
        return (time.perf_counter() - began) * 1000

    def create(self, source: str, collection: str) -> str:
        status, body = self.ask("POST", f"/tasks/?source={source}&collection={collection}")
        assert status == 201, body
        return str(json.loads(body)["task_id"])

    def task(self, id: str) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.ask("GET", f"/tasks/{quote(id)}")[1])
        return found

    def await_end(self, id: str) -> dict[str, str]:
        while (task := self.task(id))["status"] in ("SCHEDULED", "RUNNING"):
            time.sleep(0.2)
        return task


@contextmanager
def node(folder: Path, url: str, content: dict[str, object], log_bytes: int) -> Iterator[tuple[int, int]]:
    """A node with this configuration: its process and its port."""
    port = free_port()
    server = {"host": "127.0.0.1", "port": port, "admin_token": TOKEN}
    file = folder / "rota.yaml"
    file.write_text(json.dumps({"store": url, "server": server, **content}))
    words = [sys.executable, "-c", NODE, str(log_bytes), "up", "--config", str(file)]
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _await_answer(port)
        yield process.pid, port
    finally:
        stop(process)


def _await_answer(port: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            if Api(port).ask("GET", "/health")[0] == 200:
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise RuntimeError("the node does not answer")


def rss_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


def percentiles(times: list[float]) -> str:
    ordered = sorted(times)
    at = [ordered[min(int(len(ordered) * share), len(ordered) - 1)] for share in (0.5, 0.99, 1)]
    return "p50 {:.1f} p99 {:.1f} max {:.1f} ms of {}".format(*at, len(ordered))


def probe(port: int, source: str, until: threading.Event) -> list[float]:
    """How long requests take that have nothing to do with the log."""
    api = Api(port)
    times: list[float] = []
    paths = [f"/tasks?source={source}&limit=20&{EVER}", "/health", f"/api/v1/tasks?source={source}&limit=1&{EVER}"]
    while not until.is_set():
        times.append(api.timed("GET", paths[len(times) % len(paths)]))
        time.sleep(0.01)
    return times


def probed(port: int, source: str, act: Callable[[], object]) -> list[float]:
    over = threading.Event()
    found: list[float] = []
    thread = threading.Thread(target=lambda: found.extend(probe(port, source, over)))
    thread.start()
    try:
        act()
    finally:
        over.set()
        thread.join()
    return found


def flood(folder: Path, url: str, rate: int, seconds: float, *, is_probed: bool = True) -> None:
    (folder / "writer.py").write_text(WRITER)
    command = [sys.executable, str(folder / "writer.py"), str(rate), str(seconds)]
    source = {"executor": "bash", "metadata": {"command": command}, "collections": [{"name": "lines"}]}
    with node(folder, url, {"sources": {"flood": source}}, 2 << 30) as (pid, port):
        api = Api(port)
        quiet = probed(port, "flood", lambda: time.sleep(5)) if is_probed else []
        before, cpu, most = rss_mib(pid), tree_cpu_s(pid), [0.0]
        store_cpu = _store_cpu_s(url)

        def act() -> None:
            id = api.create("flood", "lines")
            while api.task(id)["status"] in ("SCHEDULED", "RUNNING"):
                most[0] = max(most[0], rss_mib(pid))
                time.sleep(0.2)

        busy: list[float] = []
        if is_probed:
            busy = probed(port, "flood", act)
        else:
            act()
        lines = int(rate * seconds)
        spent, store_spent = tree_cpu_s(pid) - cpu, _store_cpu_s(url) - store_cpu
        id = json.loads(api.ask("GET", f"/tasks?source=flood&limit=1&{EVER}")[1])["tasks"][0]["id"]
        entries = json.loads(api.ask("GET", f"/tasks/{quote(id)}/logs")[1])["logs"]
        took = next(float(one["message"].split()[1]) for one in entries if one["level"] == "error")
        print(f"  {rate} lines/s, {seconds} s: the writer took {took:.1f} s, {lines / took:.0f} lines/s")
        print(
            f"  {len(entries) - 1} of {lines} lines, in order: {_in_order(entries)}; memory +{most[0] - before:.0f} MiB"
        )
        print(f"  CPU us per line: node and writer {1e6 * spent / lines:.1f}, Redis {1e6 * store_spent / lines:.1f}")
        if is_probed:
            print(f"  API quiet: {percentiles(quiet)}; in flood: {percentiles(busy)}", flush=True)


def _in_order(entries: list[dict[str, str]]) -> bool:
    said = [one for one in entries if one["level"] == "info"]
    times = [one["time"] for one in entries]
    numbers = [int(one["message"].split()[1]) for one in said]
    return numbers == list(range(len(said))) and times == sorted(set(times))


_redis: list[Redis] = []


def _store_cpu_s(url: str) -> float:
    return _redis[0].cpu_s() if _redis and url.startswith("redis") else 0.0


def herd(folder: Path, url: str, count: int) -> None:
    """So many collections that are due in one second."""
    due = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=12)
    cron = f"{due.second} {due.minute} {due.hour} {due.day} {due.month} ? {due.year}"
    collections = [{"name": f"c{number}", "schedule": cron} for number in range(count)]
    source = {"executor": "bash", "metadata": {"command": ["true"]}, "collections": collections}
    content = {"sources": {"herd": source}, "sync_tasks": {"threads": 16}}
    with node(folder, url, content, 10 << 20) as (_, port):
        api = Api(port)
        while True:
            found = json.loads(api.ask("GET", f"/tasks?source=herd&{EVER}")[1])["tasks"]
            if sum(bool(one["finished_at"]) for one in found) == count:
                break
            time.sleep(0.5)
        starts = sorted(datetime.fromisoformat(one["started_at"]) for one in found)
        print(
            f"  {count} collections: the first {_after(starts[0], due)}, the last {_after(starts[-1], due)} ms late",
            flush=True,
        )


def pages(folder: Path, url: str, *, tasks: int = 100_000, collections: int = 1_000) -> None:
    """What it takes to list the tasks of a source that ran so many."""
    names = [f"c{number}" for number in range(collections)]
    source = {"executor": "log", "collections": [{"name": name} for name in names]}
    with node(folder, url, {"sources": {"many": source}}, 10 << 20) as (_, port):
        api, made = Api(port), 0
        while made < tasks:
            for name in names:
                status, _body = api.ask("POST", f"/tasks/?source=many&collection={name}")
                made += status == 201
        looks = {
            "20 tasks": f"source=many&limit=20&{EVER}",
            "100 tasks": f"source=many&limit=100&{EVER}",
            "100 of one collection": f"source=many&collection=c7&limit=100&{EVER}",
            "a status that none has": f"source=many&status=FAILED&limit=100&{EVER}",
        }
        for look, query in looks.items():
            print(f"  {look}: {percentiles([api.timed('GET', f'/tasks?{query}') for _ in range(100)])}", flush=True)


def _after(instant: datetime, due: datetime) -> int:
    return round((instant - due).total_seconds() * 1000)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sync_tasks", description=__doc__)
    parser.add_argument("--stores", default="sqlite,redis")
    parser.add_argument("--parts", default="flood,cost,herd", help="`cost` is a flood while nobody asks the API")
    parser.add_argument("--rate", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    arguments = parser.parse_args()
    for store in arguments.stores.split(","):
        for part in arguments.parts.split(","):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                if store == "redis":
                    _redis[:] = [Redis(name)]
                url = _redis[0].url if store == "redis" else f"sqlite:///{folder}/rota.db"
                print(f"{store}: {part}, load {os.getloadavg()[0]:.1f}", flush=True)
                try:
                    if part in ("flood", "cost"):
                        flood(folder, url, arguments.rate, arguments.seconds, is_probed=part == "flood")
                    elif part == "pages":
                        pages(folder, url)
                    else:
                        herd(folder, url, 100)
                finally:
                    if store == "redis":
                        _redis.pop().close()


if __name__ == "__main__":
    main()
