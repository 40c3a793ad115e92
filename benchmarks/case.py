"""One peer in one measurement: its run files, its producer, its worker. `peers/probe.py` is the other side of this."""

import json
import mmap
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from array import array
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.machine import Usage, session_usage, start, stop
from benchmarks.servers import Server

HERE = Path(__file__).resolve().parent
PEERS: dict[str, dict[str, Any]] = tomllib.loads((HERE / "peers.toml").read_text())
ENVIRONMENTS = Path(os.environ.get("BENCH_VENVS") or Path(tempfile.gettempdir()) / "bench-venvs")
ASK_S = 300
FILES = {"flags.bin": 1, "start.bin": 8, "enq.bin": 8}


class RunFailed(Exception):
    """A peer did not do what the workload asks of it."""


def interpreter_of(peer: str) -> list[Path | str]:
    """What runs the peer's script. A peer that the running Python has installed needs no environment of its own."""
    spec = PEERS[peer]
    language = Path(spec["script"]).suffix
    if language != ".py":
        return [{".js": "node", ".rb": "ruby"}[language]]
    if "module" in spec and find_spec(spec["module"]):
        return [sys.executable]
    return [ENVIRONMENTS / peer / "bin" / "python"]


def services_of(peer: str, variant: str) -> list[str]:
    """The servers that a variant needs."""
    spec = PEERS[peer]
    return [] if variant in spec.get("embedded", []) else list(spec["services"])


class Case:
    """A peer with a fresh run folder and empty servers. Close it."""

    def __init__(self, peer: str, variant: str, servers: Mapping[str, Server], *, job: str = "noop", slots: int = 1):
        self._spec = PEERS[peer]
        self._variant = variant
        self._servers = [servers[name] for name in services_of(peer, variant)]
        self._temporary = tempfile.TemporaryDirectory(prefix="bench-run-")
        self._folder = Path(self._temporary.name)
        for name, width in FILES.items():
            with (self._folder / name).open("wb") as file:
                file.truncate(width * slots)
        self._argv = [*interpreter_of(peer), HERE / "peers" / self._spec["script"]]
        self._environment = self._make_environment(peer, job, servers)
        self._log = (self._folder / "log").open("w+")
        for server in self._servers:
            server.reset()

    def _make_environment(self, peer: str, job: str, servers: Mapping[str, Server]) -> dict[str, str]:
        paths = [str(HERE / "peers"), os.environ.get("PYTHONPATH", "")]
        return os.environ | {
            "BENCH_RUN": str(self._folder),
            "BENCH_VARIANT": self._variant,
            "BENCH_JOB": job,
            "BENCH_REDIS_URL": servers["redis"].url if "redis" in servers else "",
            "BENCH_PG_DSN": servers["postgres"].url if "postgres" in servers else "",
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NODE_PATH": str(ENVIRONMENTS / peer / "node_modules"),
        }

    def ask(self, *words: object) -> dict[str, Any]:
        """Run the peer's script to its end; the JSON object it prints."""
        argv = [str(word) for word in (*self._argv, *words)]
        done = subprocess.run(
            argv, env=self._environment, cwd=HERE / "peers", text=True, capture_output=True, timeout=ASK_S
        )
        if done.returncode:
            raise RunFailed(f"{' '.join(argv[1:])}: {done.stderr[-1500:]}")
        answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return answer

    def launch(self, processes: int, at_a_time: int | None = None) -> subprocess.Popen[str]:
        """Start the peer's worker."""
        words = [*self._argv, "worker", self._variant, processes, *([at_a_time] if at_a_time else [])]
        return start(words, env=self._environment, cwd=HERE / "peers", stdout=self._log, stderr=self._log)

    def follow(self, jobs: int) -> subprocess.Popen[str]:
        """Start the peer's script that stamps jobs from the peer's own records; returns when it is ready to."""
        words = [*self._argv, "follow", self._variant, jobs]
        pipe = subprocess.PIPE
        follower = start(words, env=self._environment, cwd=HERE / "peers", stdout=pipe, stderr=self._log)
        assert follower.stdout is not None
        if not follower.stdout.readline():
            stop(follower)
            raise RunFailed(f"the follower ended: {self.tail()}")
        return follower

    def wait(self, worker: subprocess.Popen[str], jobs: int, longest_s: float) -> Usage:
        """Until all jobs ran; what the worker used, with the highest number of processes seen."""
        end, turn, peak, most = time.monotonic() + longest_s, 0, 0, 0
        with (self._folder / "flags.bin").open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as flags:
            while missing := flags[:jobs].count(0):
                if time.monotonic() > end or worker.poll() is not None:
                    raise RunFailed(f"{missing} of {jobs} jobs not run; log: {self.tail()}")
                if turn % 10 == 0:
                    usage = session_usage(worker.pid)
                    peak, most = max(peak, usage.peak_rss), max(most, usage.processes)
                turn += 1
                time.sleep(0.02)
        usage = session_usage(worker.pid)
        return Usage(usage.cpu_s, max(peak, usage.peak_rss), max(most, usage.processes))

    def server_cpu_s(self) -> float:
        return sum(server.cpu_s() for server in self._servers)

    def times(self, name: str) -> "array[int]":
        """The stamps of all jobs, CLOCK_MONOTONIC in nanoseconds."""
        stamps = array("q")
        stamps.frombytes((self._folder / name).read_bytes())
        return stamps

    def repeated(self) -> int:
        """Jobs that ran more than once."""
        return sum(1 for count in (self._folder / "flags.bin").read_bytes() if count > 1)

    def tail(self) -> str:
        self._log.flush()
        return (self._folder / "log").read_text()[-1500:]

    def close(self) -> None:
        self._log.close()
        self._temporary.cleanup()
