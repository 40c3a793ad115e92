"""A flood of output: what it costs the neighbours of the job that writes it. Run: python -m benchmarks.floods

Two nodes with a queue each share a store. A job that does nothing is enqueued on either every 20 ms, first in peace,
then while a job of the first node writes its flood. What counts is the time from enqueueing to the start of such a job,
and how much the memory of the node grew that reads the flood. A flood that no node reads shows what the machine itself
makes of two processes that write as fast as they can.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.servers import Redis
from rota.engine.definitions.definitions import Definitions
from rota.engine.engine import Engine
from rota.engine.jobs.intake import JobRequest
from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.store import Store, open_store

EVERY_S = 0.02
_LINES = "yes 'one line of output as programs write them, with 80 characters or so, not more'"
KINDS = {
    "lines": f"{_LINES} | head -c {{size}}",
    "empty lines": "yes '' | head -c {size}",
    "no line ends": "head -c {size} /dev/zero | tr '\\0' x",
    "unread": f"{_LINES} | head -c {{size}} | cat >/dev/null",
}


class Scene:
    """An installation with two queues."""

    def __init__(self, store: Store, size: int) -> None:
        self.store = store
        engine = Engine.open(store)
        self.clock = engine.clock
        definitions = engine.definitions
        self.intake = engine.intake
        nothing: dict[str, object] = {"function": "rota.cli.operations.bench_jobs:nothing"}
        for queue in ("near", "far"):
            definitions.define_node_type(NodeType(uuid=new_id(self.clock.now()), name=queue, thread_count=8))
            self._define(definitions, f"nothing-{queue}", queue, "python", nothing)
        for kind, command in KINDS.items():
            name = kind.replace(" ", "-")
            self._define(definitions, name, "near", "bash", {"command": command.format(size=size)})

    def _define(
        self, definitions: Definitions, name: str, queue: str, executor: str, metadata: dict[str, object]
    ) -> None:
        uuid = new_id(self.clock.now())
        definitions.define_job_type(
            JobType(uuid=uuid, name=name, executor=executor, metadata=metadata, node_type=queue)
        )

    def enqueue(self, job_type: str) -> str:
        return self.intake.enqueue([JobRequest(job_type=job_type)])[0].job_id

    def is_over(self, job_id: str) -> bool:
        job = self.store.find_jobs([job_id])[0]
        return job is not None and job.state.is_final

    def probe(self, seconds: float, until: str | None = None) -> dict[str, list[int]]:
        """How long jobs waited for their start, by queue, in milliseconds: for some time, or until a job is over."""
        asked: dict[str, list[str]] = {"near": [], "far": []}
        end, looks = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            for queue, ids in asked.items():
                ids.append(self.enqueue(f"nothing-{queue}"))
            time.sleep(EVERY_S)
            looks += 1
            if until is not None and looks % 10 == 0 and self.is_over(until):
                break
        return {queue: [self._waited(job_id) for job_id in ids] for queue, ids in asked.items()}

    def _waited(self, job_id: str) -> int:
        while not self.is_over(job_id):
            time.sleep(0.01)
        job = self.store.find_jobs([job_id])[0]
        assert job is not None
        assert job.started_at is not None
        return job.started_at - job.spec.enqueued_at


@contextmanager
def nodes(url: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    processes = [
        subprocess.Popen([sys.executable, "-m", "rota", "worker", "--type", queue, "--store", url])
        for queue in ("near", "far")
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def memory_mib(process: subprocess.Popen[bytes], what: str) -> float:
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{what}:"))


def percentile(values: list[int], share: float) -> int:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def measure(url: str, kinds: list[str], size: int, quiet_s: float) -> None:
    store = open_store(url)
    scene = Scene(store, size)
    with nodes(url) as (near, _):
        scene.probe(2.0)
        show(url, "quiet", scene.probe(quiet_s), None)
        for kind in kinds:
            before = memory_mib(near, "VmRSS")
            Path(f"/proc/{near.pid}/clear_refs").write_text("5")  # the most it ever took counts from now on
            flood = scene.enqueue(kind.replace(" ", "-"))
            show(url, kind, scene.probe(300.0, until=flood), memory_mib(near, "VmHWM") - before)
            entries = store.read_logs(flood, limit=1_000_000).entries
            print(f"  {len(entries)} entries", *(f"the last: {entry.message:.80}" for entry in entries[-1:]), sep=", ")
    store.close()


def show(url: str, kind: str, waited: dict[str, list[int]], growth: float | None) -> None:
    figures = ", ".join(
        f"{queue} p50 {percentile(each, 0.5)} p99 {percentile(each, 0.99)} max {max(each)} ms of {len(each)}"
        for queue, each in waited.items()
    )
    grown = "" if growth is None else f", memory +{growth:.0f} MiB"
    print(f"{url.partition(':')[0]:7} {kind:12} {figures}{grown}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.floods", description=__doc__)
    parser.add_argument("--mib", type=int, default=1024, help="how much the flooding job writes")
    parser.add_argument("--quiet", type=float, default=10.0, help="seconds of peace")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--stores", default="sqlite,redis")
    arguments = parser.parse_args()
    options = (arguments.kinds.split(","), arguments.mib * 1024 * 1024, arguments.quiet)
    with tempfile.TemporaryDirectory() as folder:
        if "sqlite" in arguments.stores:
            measure(f"sqlite:///{folder}/rota.db", *options)
        if "redis" in arguments.stores:
            server = Redis(folder)
            try:
                measure(server.url, *options)
            finally:
                server.close()


if __name__ == "__main__":
    main()
