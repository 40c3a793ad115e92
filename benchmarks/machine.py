"""What the kernel tells about this machine and its processes. Linux only: everything is read from /proc."""

import os
import platform
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

PROC = Path("/proc")
TICK = os.sysconf("SC_CLK_TCK")


class Usage(NamedTuple):
    """What the processes of one session used so far."""

    cpu_s: float
    peak_rss: int
    processes: int


class _Process(NamedTuple):
    parent: int
    session: int
    cpu_s: float
    """Its own, and that of the children it waited for."""
    peak_rss: int


def _look_at(pid: int) -> _Process | None:
    try:
        fields = (PROC / str(pid) / "stat").read_text().rsplit(") ", 1)[1].split()
        status = (PROC / str(pid) / "status").read_text().splitlines()
    except (OSError, IndexError):
        return None
    peak = [int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM")]
    cpu_s = sum(int(ticks) for ticks in fields[11:15]) / TICK
    return _Process(int(fields[1]), int(fields[3]), cpu_s, peak[0] if peak else 0)


def _all_pids() -> list[int]:
    return sorted(int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit())


def session_usage(session: int) -> Usage:
    """What a session that `start` began has used, with all its processes."""
    found = [one for pid in _all_pids() if (one := _look_at(pid)) and one.session == session]
    return Usage(sum(one.cpu_s for one in found), sum(one.peak_rss for one in found), len(found))


def tree_cpu_s(root: int) -> float:
    """CPU seconds of a process and its descendants; for servers whose children begin sessions of their own."""
    family, total = {root}, 0.0
    for pid in _all_pids():
        one = _look_at(pid)
        if one and (pid == root or one.parent in family):
            family.add(pid)
            total += one.cpu_s
    return total


def machine_cpu_s() -> tuple[float, float]:
    """Busy CPU seconds of the whole machine so far, and those that its host took away."""
    ticks = (PROC / "stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _wait, irq, soft_irq, stolen = (int(value) / TICK for value in ticks[:8])
    return user + nice + system + irq + soft_irq, stolen


def own_cpu_s() -> float:
    """CPU seconds of this process and the children it waited for."""
    return sum(os.times()[:4])


def wait_for_calm(longest_s: float, cores: float = 0.15, span_s: float = 1.5) -> None:
    """Wait for others on this machine to use little CPU."""
    end = time.monotonic() + longest_s
    while time.monotonic() < end:
        before = machine_cpu_s()[0]
        time.sleep(span_s)
        if (machine_cpu_s()[0] - before) / span_s < cores:
            return


def start(argv: Sequence[object], **options: Any) -> subprocess.Popen[str]:
    """Start a program in a session of its own."""
    return subprocess.Popen([str(word) for word in argv], start_new_session=True, text=True, **options)


def stop(process: subprocess.Popen[str], *, grace_s: float = 5.0, first: int = signal.SIGTERM) -> None:
    """End a session that `start` began, and nothing else."""
    for number, wait_s in ((first, grace_s), (signal.SIGKILL, 5.0)):
        with suppress(ProcessLookupError):  # the group has ended
            os.killpg(process.pid, number)
        end = time.monotonic() + wait_s
        while time.monotonic() < end:
            process.poll()
            if session_usage(process.pid).processes == 0:
                return
            time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def describe() -> dict[str, object]:
    """What the figures were measured on."""
    lines = (PROC / "cpuinfo").read_text().splitlines()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": models[0] if models else "?",
        "cores": os.cpu_count(),
        "system": _system(),
        "kernel": os.uname().release,
    }


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()
