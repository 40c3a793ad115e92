"""The workloads. Each makes one measurement of one peer and returns it as a row of figures."""

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext

from benchmarks.case import PEERS, Case, RunFailed
from benchmarks.machine import machine_cpu_s, own_cpu_s, session_usage, stop
from benchmarks.servers import Server

Row = dict[str, float]
Servers = Mapping[str, Server]

DRAIN_S = 180
SHELL_JOBS = 1000
SHELL_AT_A_TIME = 8
LATENCY_JOBS = 500
LATENCY_RATE = 50
IDLE_S = 10.0
SETTLE_S = 3.0
"""A worker has started and come to rest after this time."""


def measure(workload: str, peer: str, variant: str, servers: Servers, *, scale: float = 1.0) -> Row:
    """One run of a workload by its letter."""
    if workload == "B":
        return latency(peer, variant, servers)
    if workload == "C":
        return drain(peer, variant, servers, jobs=SHELL_JOBS, job="shell", at_a_time=SHELL_AT_A_TIME)
    if workload == "I":
        return idle(peer, variant, servers)
    jobs = max(100, int(PEERS[peer]["variants"][variant] * scale))
    return drain(peer, variant, servers, jobs=jobs, processes=int(workload[1]))


def does(peer: str, variant: str, workload: str) -> bool:
    """Whether this variant takes part in the workload."""
    key = {"B": "latency", "C": "shell", "I": "idle"}.get(workload)
    return key is None or variant in PEERS[peer].get(key, [])


class Bystanders:
    """CPU that others used since this was made: the machine's, less the worker's, the server's and our own."""

    def __init__(self, case: Case, follower: subprocess.Popen[str] | None = None) -> None:
        self._case = case
        self._follower = follower
        self._since = time.monotonic()
        self._machine, self._stolen = machine_cpu_s()
        self._known = self._known_cpu_s()

    def cores(self, worker_cpu_s: float) -> Row:
        busy, stolen = machine_cpu_s()
        span = time.monotonic() - self._since
        known = self._known_cpu_s() - self._known + worker_cpu_s
        return {
            "foreign_cores": (busy - self._machine - known) / span,
            "steal_cores": (stolen - self._stolen) / span,
        }

    def _known_cpu_s(self) -> float:
        followed_s = session_usage(self._follower.pid).cpu_s if self._follower else 0.0
        return self._case.server_cpu_s() + own_cpu_s() + followed_s


@contextmanager
def _running(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    try:
        yield process
    finally:
        stop(process)


def drain(
    peer: str,
    variant: str,
    servers: Servers,
    *,
    jobs: int,
    processes: int = 1,
    job: str = "noop",
    at_a_time: int | None = None,
) -> Row:
    """Workloads A and C: jobs lie in the queue, then the worker starts."""
    with closing(Case(peer, variant, servers, job=job, slots=jobs)) as case:
        put = case.ask("bulk", variant, jobs)
        follower = case.follow(jobs) if PEERS[peer].get(f"{job}_from_records") else None
        with _running(follower) if follower else nullcontext():
            server_cpu_s, began, others = case.server_cpu_s(), time.monotonic_ns(), Bystanders(case, follower)
            with _running(case.launch(processes, at_a_time)) as worker:
                usage = case.wait(worker, jobs, DRAIN_S)
                row: Row = {"n": jobs, "enqueue_s": jobs / put["seconds"], **others.cores(usage.cpu_s)}
                row["server_cpu_us"] = (case.server_cpu_s() - server_cpu_s) / jobs * 1e6
        _check_history(case, peer, variant, jobs)
        stamps = sorted(case.times("start.bin"))
        return row | {
            "jobs_s": (jobs - 1) / ((stamps[-1] - stamps[0]) / 1e9),
            "steady_s": 0.8 * jobs / ((stamps[int(jobs * 0.9)] - stamps[int(jobs * 0.1)]) / 1e9),
            "wall_s": (stamps[-1] - began) / 1e9,
            "boot_s": (stamps[0] - began) / 1e9,
            "worker_cpu_us": usage.cpu_s / jobs * 1e6,
            "rss_mb": usage.peak_rss / 2**20,
            "processes": usage.processes,
            "repeated": case.repeated(),
        }


def _check_history(case: Case, peer: str, variant: str, jobs: int) -> None:
    """A peer that promises a history has all jobs in it, after the worker has left."""
    if PEERS[peer].get("history"):
        recorded = case.ask("recorded", variant)["n"]
        if recorded != jobs:
            raise RunFailed(f"{recorded} of {jobs} jobs stand in the history as succeeded")


def latency(peer: str, variant: str, servers: Servers, jobs: int = LATENCY_JOBS, rate: int = LATENCY_RATE) -> Row:
    """Workload B: an idle worker, and a producer in another process that hands in a job every 1/rate seconds."""
    with closing(Case(peer, variant, servers, slots=jobs + 1)) as case:
        case.ask("bulk", variant, 0)  # makes the schema, if there is one
        with _running(case.launch(1)) as worker:
            time.sleep(SETTLE_S)
            before, began, others = session_usage(worker.pid).cpu_s, time.monotonic(), Bystanders(case)
            case.ask("latency", variant, jobs, rate)
            used_s = case.wait(worker, jobs, 60).cpu_s - before
            row: Row = {"n": jobs, "worker_cpu_pct": used_s / (time.monotonic() - began) * 100, **others.cores(used_s)}
        pairs = zip(case.times("start.bin")[:jobs], case.times("enq.bin")[:jobs], strict=True)
        late = sorted((started - handed_in) / 1e6 for started, handed_in in pairs)
        return row | {"p50_ms": late[jobs // 2], "p99_ms": late[int(jobs * 0.99)], "max_ms": late[-1]}


def idle(peer: str, variant: str, servers: Servers) -> Row:
    """Workload I: a worker without anything to do."""
    with closing(Case(peer, variant, servers)) as case:
        case.ask("bulk", variant, 0)
        with _running(case.launch(1)) as worker:
            time.sleep(SETTLE_S)
            began, server_cpu_s, others = session_usage(worker.pid).cpu_s, case.server_cpu_s(), Bystanders(case)
            time.sleep(IDLE_S)
            if worker.poll() is not None:
                raise RunFailed(f"the worker ended: {case.tail()}")
            used_s = session_usage(worker.pid).cpu_s - began
            return {
                "worker_cpu_pct": used_s / IDLE_S * 100,
                "server_cpu_pct": (case.server_cpu_s() - server_cpu_s) / IDLE_S * 100,
                **others.cores(used_s),
            }
