"""Tasks of Python programs, measured with Rota's own environment: `python -m benchmarks.tasks WHAT [ROUNDS]`.

processes   jobs that compute, in one process and in two, in turns: how many times as many jobs per second
cost        CPU per no-op job on Redis, of programs and server, enqueued and run: by the engine's own call, as an
            `async def` and as a `def`, in turns. cost-run is the same without enqueueing
sleepers    1,000 jobs that sleep a second, all at once in one process
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from benchmarks.machine import machine_cpu_s
from benchmarks.servers import Redis

NOOPS = 100_000
COMPUTING = 240
STEPS = 400_000
HERE = Path(__file__).parent


class Folder:
    """An empty store, and programs that use it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.cpu_s = 0.0
        """Of the programs that were called."""
        self.call("-m", "task_program", "declare")

    def call(self, *words: str) -> str:
        """Run a Python program to its end."""
        before = _children_s()
        path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
        said = subprocess.run(
            [sys.executable, *words],
            cwd=self._path,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        ).stdout
        self.cpu_s += _children_s() - before
        return said


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def in_processes(count: int) -> float:
    """Jobs per second."""
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(path)
        folder.call("-m", "task_program", "compute", str(COMPUTING), str(STEPS))
        before = folder.cpu_s
        folder.call("-m", "rota", "worker", "task_program:app", "--burst", "--threads", "2", "--processes", str(count))
        print(f"{(folder.cpu_s - before) / COMPUTING * 1000:.2f} ms of CPU per job, start included")
        return COMPUTING * 1000 / int(folder.call("-m", "task_program", "span"))


def cost_us(kind: str, *, with_enqueue: bool) -> float:
    """CPU per job, without the start and the end of the programs."""

    def used(jobs: int) -> float:
        with tempfile.TemporaryDirectory() as path, closing(Redis(path)) as server:
            os.environ["BENCH_STORE"] = server.url
            folder = Folder(path)
            before = folder.cpu_s + server.cpu_s()
            folder.call("-m", "task_program", kind, str(jobs))
            enqueued = folder.cpu_s + server.cpu_s()
            folder.call("-m", "rota", "worker", "task_program:app", "--burst")
            return folder.cpu_s + server.cpu_s() - (before if with_enqueue else enqueued)

    return (used(NOOPS) - used(1)) / NOOPS * 1e6


def sleepers(count: int) -> float:
    """Seconds from the first start to the last end."""
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(path)
        folder.call("-m", "task_program", "sleep", str(count), "1.0")
        folder.call("-m", "rota", "worker", "task_program:app", "--burst", "--threads", str(count))
        return int(folder.call("-m", "task_program", "span")) / 1000


def in_turns(rounds: int, **cases: Callable[[], float]) -> None:
    """Measure each case once per round, print each, and at last the medians and their ratios to the first."""
    found: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, measure in cases.items():
            busy, at, own = machine_cpu_s()[0], time.monotonic(), _children_s()
            found[name].append(measure())
            others = (machine_cpu_s()[0] - busy - (_children_s() - own)) / (time.monotonic() - at)
            print(f"{name:8} {found[name][-1]:10.2f}   others used {others:.2f} cores", flush=True)
    first = statistics.median(next(iter(found.values())))
    for name, values in found.items():
        middle = statistics.median(values)
        print(
            f"{name:8} median {middle:.2f}, least {min(values):.2f}, most {max(values):.2f}; {middle / first:.2f} times"
        )


if __name__ == "__main__":
    what, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    if what == "processes":
        in_turns(rounds, one=partial(in_processes, 1), two=partial(in_processes, 2))
    elif what in ("cost", "cost-run"):
        kinds = {"engine": "engine", "task": "async", "thread": "def"}
        with_enqueue = what == "cost"
        in_turns(rounds, **{name: partial(cost_us, kind, with_enqueue=with_enqueue) for name, kind in kinds.items()})
    else:
        in_turns(rounds, sleepers=partial(sleepers, 1_000))
