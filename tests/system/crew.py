"""Worker processes that a test hires, stops and kills. Whoever is left at the end of the test is killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from rota.model.node import Node as NodeRecord
from rota.store import Store
from tests.patience import LONG_DEADLINE_S
from tests.servers import freeze, wait_until

ROOT = Path(__file__).parents[2]


def run_python(
    module: str, *words: str, output: Path, environment: dict[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a module of the tests as a process; what it says goes to a file."""
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    with output.open("ab") as file:
        return subprocess.Popen(
            [sys.executable, "-m", module, *words],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": paths, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )


class WorkerProcess:
    """One worker."""

    def __init__(self, process: subprocess.Popen[bytes], output: Path) -> None:
        self._process = process
        self._output = output

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def output(self) -> str:
        """What it has said so far."""
        return self._output.read_text(errors="replace")

    def record(self, store: Store) -> NodeRecord | None:
        """Its node, once it has one."""
        return next((node for node in store.list_nodes(since=0) if node.pid == self.pid), None)

    def node(self, store: Store) -> str:
        """What the store knows it by; empty while it does not."""
        record = self.record(store)
        return record.uuid if record else ""

    def terminate(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def send_signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def freeze(self) -> None:
        freeze(self.pid)

    def kill9(self) -> None:
        """Without warning; returns when it is dead."""
        self._process.kill()
        self._process.wait()

    def wait(self, deadline_s: float = LONG_DEADLINE_S) -> int:
        """Its exit code."""
        return self._process.wait(deadline_s)

    def memory_mib(self, what: str) -> float:
        """`VmRSS` is what it takes now, `VmHWM` the most it ever took."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        (size,) = [line.split()[1] for line in lines if line.startswith(f"{what}:")]
        return int(size) / 1024


class Crew:
    """The workers of one test."""

    def __init__(self, url: str, folder: Path, *, environment: dict[str, str] | None = None) -> None:
        self._url = url
        self._folder = folder
        self._environment = environment
        self.workers: list[WorkerProcess] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.workers:
            if worker.is_running:
                worker.kill9()
        if error is not None:
            for worker in self.workers:
                print(f"--- worker {worker.pid}\n{worker.output[-3000:]}")

    def hire(
        self, *, threads: int = 4, grace_s: float = 25.0, dead_after_ms: int = 20_000, descriptors: int | None = None
    ) -> WorkerProcess:
        """Start a worker; it may take a moment until it beats."""
        output = self._folder / f"worker-{len(self.workers)}.log"
        options = [f"--threads={threads}", f"--grace-s={grace_s}", f"--dead-after-ms={dead_after_ms}"]
        options += [f"--descriptors={descriptors}"] if descriptors else []
        process = run_python(
            "tests.system.worker_main", self._url, *options, output=output, environment=self._environment
        )
        worker = WorkerProcess(process, output)
        self.workers.append(worker)
        return worker

    def hire_rota(self, *words: str) -> WorkerProcess:
        """Start a node by the command line, as a user does."""
        output = self._folder / f"worker-{len(self.workers)}.log"
        environment = {**(self._environment or {}), "ROTA_STORE": self._url}
        worker = WorkerProcess(run_python("rota", *words, output=output, environment=environment), output)
        self.workers.append(worker)
        return worker

    def await_beats(self, store: Store) -> None:
        """Wait until all workers that run are listed."""
        for worker in self.workers:
            if worker.is_running:
                self._await_beat(worker, store)

    def _await_beat(self, worker: WorkerProcess, store: Store) -> None:
        def beats() -> bool:
            assert worker.is_running, f"the worker ended at once:\n{worker.output}"
            return worker.record(store) is not None

        wait_until(beats, "the worker's first beat")
