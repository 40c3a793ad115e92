"""The nodes of the soak: `rota` processes that are killed, stopped, suspended and started again."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.processes import processes_with
from tests.servers import wait_until
from tests.soak.judge import Life, Stretch
from tests.soak.ledger import boot_ms
from tests.system.crew import ROOT, WorkerProcess

STOP_GRACE_S = 3
STORE_EXIT_CODE = 5
STOP_DEADLINE_S = 90.0
ORPHAN_AFTER_S = 3.0
"""Processes of a node that live so long after it are orphans. A second is wanted; the machine is busy on purpose."""
_LOOK_S = 0.25


class NodeProcess(WorkerProcess):
    """One process of a node, and what was done to it. Its children inherit its mark in their environment."""

    def __init__(self, process: subprocess.Popen[bytes], output: Path, name: str, mark: str) -> None:
        super().__init__(process, output)
        self._mark = mark
        self.life = Life(name, boot_ms())

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    @property
    def was_turned_away(self) -> bool:
        """It found no store at its start. It then says so and ends; supervisors start it again."""
        return self.exit_code == STORE_EXIT_CODE and not self.has_begun

    @property
    def has_begun(self) -> bool:
        """It has said what it is, which is the last thing of its start."""
        return "Rota " in self.output

    @property
    def relatives(self) -> list[int]:
        """Living processes that it started, and those that these started."""
        return [pid for pid in processes_with(f"{self._mark}\0") if pid != self.pid]

    def kill9(self) -> None:
        self.life.killed_at = boot_ms()
        super().kill9()

    def terminate(self) -> None:
        self.life.asked_at = boot_ms()
        super().terminate()

    def suspend(self) -> int:
        """Returns when it was suspended, for `resume`."""
        self._process.send_signal(signal.SIGSTOP)
        return boot_ms()

    def resume(self, since: int) -> None:
        self._process.send_signal(signal.SIGCONT)
        self.life.suspended.append(Stretch(since, boot_ms()))


class Fleet:
    """A number of seats; each is taken by one process after another. Whoever leaves unasked is noted and replaced."""

    def __init__(self, url: str, folder: Path, seats: dict[str, list[str]]) -> None:
        self._url, self._folder, self._seats = url, folder, seats
        self._lock = threading.Lock()
        self._starts: dict[str, int] = {}
        self._sitting: dict[str, NodeProcess] = {}
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._keep_watch, name="fleet", daemon=True)
        self._ended: list[NodeProcess] = []
        self.all: list[NodeProcess] = []
        self.turned_away: list[str] = []
        """Nodes that found no store at their start."""
        self.deserters: list[str] = []
        """Nodes that ended although nobody asked them to."""
        self.stragglers: list[str] = []
        """Nodes that did not stop when they were told to."""
        self.orphans: list[str] = []
        """Processes that outlived their node."""

    @property
    def names(self) -> list[str]:
        return list(self._seats)

    @property
    def ledger(self) -> Path:
        return self._folder / "ledger"

    def __enter__(self) -> Self:
        self.ledger.touch()
        for seat in self._seats:
            self.start(seat)
        self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._watch.join()
        for node in self.all:
            if node.is_running:
                node.kill9()
            for pid in node.relatives:
                _kill(pid)

    def at(self, seat: str) -> NodeProcess:
        with self._lock:
            return self._sitting[seat]

    def start(self, seat: str) -> NodeProcess:
        with self._lock:
            number = self._starts[seat] = self._starts.get(seat, 0) + 1
            node = self._launch(f"{seat}.{number}", self._seats[seat])
            self._sitting[seat] = node
            self.all.append(node)
            return node

    def kill(self, seat: str) -> None:
        self.at(seat).kill9()

    def stop(self, seat: str) -> None:
        """Tell it to stop and wait until it has; one that does not is killed, and noted."""
        node = self.at(seat)
        node.terminate()
        try:
            node.wait(STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.stragglers.append(node.life.node)
            node.kill9()

    def stop_all(self) -> None:
        threads = [threading.Thread(target=self.stop, args=(seat,)) for seat in self._seats]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wait_until(lambda: len(self._ended) == len(self.all), "the watch to have seen every end")

    def _launch(self, name: str, words: list[str]) -> NodeProcess:
        mark = f"{self._folder.name}/{name}"  # two soaks on one machine must not meet
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
            "ROTA_STORE": self._url,
            "ROTA_STOP_GRACE_S": str(STOP_GRACE_S),
            "SOAK_NODE": name,
            "SOAK_MARK": mark,
            "SOAK_LEDGER": str(self.ledger),
        }
        output = self._folder / f"{name}.log"
        with output.open("ab") as file:
            process = subprocess.Popen(
                [str(Path(sys.executable).with_name("rota")), *words],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
        return NodeProcess(process, output, name, f"SOAK_MARK={mark}")

    def _keep_watch(self) -> None:
        while not self._over.wait(_LOOK_S):
            for node in list(self.all):
                if node not in self._ended and not node.is_running:
                    self._note_end(node)
                    self._ended.append(node)

    def _note_end(self, node: NodeProcess) -> None:
        life = node.life
        life.ended_at, life.exit_code = boot_ms(), node.exit_code
        threading.Thread(target=self._look_for_orphans, args=(node,), daemon=True).start()
        if life.killed_at is None and life.asked_at is None:
            life.killed_at = life.ended_at  # its jobs are to be taken over, as those of a killed one
            said = f"{life.node} with exit code {life.exit_code}: {node.output[-300:].strip()}"
            (self.turned_away if node.was_turned_away else self.deserters).append(said)
            self.start(life.node.rpartition(".")[0])

    def _look_for_orphans(self, node: NodeProcess) -> None:
        time.sleep(ORPHAN_AFTER_S)
        self.orphans += [f"process {pid} of {node.life.node}: {_command(pid)}" for pid in node.relatives]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")[:100]
    except OSError:
        return "ended meanwhile"


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
