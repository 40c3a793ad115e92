"""What every Python peer shares: job bodies that time-stamp themselves, and the peer command line.

A run folder (BENCH_RUN) holds three files, which the harness makes before the peer starts:
    flags.bin  N bytes   how often job i ran, so that lost and repeated jobs are seen and not guessed
    start.bin  N int64   CLOCK_MONOTONIC in ns when job i last started
    enq.bin    N int64   CLOCK_MONOTONIC in ns just before job i was handed to the producer (workload B)
Writing them costs about 0.2 us a job, the same for every peer.

A peer module defines
    versions() -> dict                  of the packages that matter
    producer(variant)                   a context manager, plain or async, that gives an object with
                                        bulk(n) and one(i), plain or coroutine functions
    worker(variant, procs, conc)        never returns: execs a program, or runs the loop
    further commands, if any            functions in COMMANDS, by name
and ends with probe.cli(globals()).
"""

import asyncio
import inspect
import json
import mmap
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

HERE = Path(__file__).resolve().parent
JOB = os.environ.get("BENCH_JOB", "noop")  # or "shell"
VARIANT = os.environ.get("BENCH_VARIANT", "")
REDIS_URL = os.environ.get("BENCH_REDIS_URL", "")
PG_DSN = os.environ.get("BENCH_PG_DSN", "")
RUN = os.environ.get("BENCH_RUN", "")
_now = time.monotonic_ns


def _map(name: str, kind: str) -> Any:
    with (Path(RUN) / name).open("r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), 0)).cast(kind)  # type: ignore[call-overload]


if RUN:
    flags, start, enq = _map("flags.bin", "B"), _map("start.bin", "q"), _map("enq.bin", "q")


def hit(i: int) -> None:
    """The body of a no-op job."""
    start[i] = _now()
    flags[i] = min(255, flags[i] + 1)


def shell(i: int) -> None:
    """The body of a job that runs a process, for peers with threads or processes."""
    start[i] = _now()
    subprocess.run(["true"], check=True)
    flags[i] = min(255, flags[i] + 1)


async def ashell(i: int) -> None:
    """The same for peers that are asyncio."""
    start[i] = _now()
    process = await asyncio.create_subprocess_exec("true")
    await process.wait()
    flags[i] = min(255, flags[i] + 1)


def dists(*names: str) -> dict[str, str]:
    return {name: version(name) for name in names} | {"python": sys.version.split()[0]}


def program(name: str) -> str:
    """A console script of the peer's own environment."""
    return str(Path(sys.executable).parent / name)


def execute(*argv: object, **env: object) -> NoReturn:
    words = [str(word) for word in argv]
    os.execve(words[0], words, os.environ | {name: str(value) for name, value in env.items()})


def copies(procs: int, *argv: object) -> NoReturn:
    """For peers that have no option of their own for several worker processes. No launcher stays behind."""
    for _ in range(procs - 1):
        subprocess.Popen([str(word) for word in argv])
    execute(*argv)


def copies_of(script: str, variant: str, procs: int, conc: int | None) -> NoReturn:
    """Several times the worker of a peer's own script."""
    copies(procs, sys.executable, Path(script).resolve(), "worker", variant, 1, *([conc] if conc else []))


async def each(n: int, enqueue: Callable[[int], Awaitable[object]], window: int = 200) -> None:
    """For async peers that have no bulk API: `window` enqueues in flight on one event loop."""
    for low in range(0, n, window):
        await asyncio.gather(*(enqueue(i) for i in range(low, min(n, low + window))))


def batches(n: int, size: int = 1000) -> list[range]:
    """For peers that have a bulk API."""
    return [range(low, min(n, low + size)) for low in range(0, n, size)]


async def _call(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


async def _bulk(producer: Any, n: int) -> dict[str, float]:
    began = time.perf_counter()
    await _call(producer.bulk(n))
    return {"n": n, "seconds": time.perf_counter() - began}


async def _trickle(producer: Any, n: int, rate: int, *, is_async: bool) -> dict[str, float]:
    await _call(producer.one(n))  # slot n: warms the producer's connection up
    began = time.monotonic() + 0.2
    for i in range(n):
        pause = began + i / rate - time.monotonic()
        if pause > 0:
            # A plain producer sleeps as a plain program does, so that no event loop stands in its way.
            await asyncio.sleep(pause) if is_async else time.sleep(pause)  # noqa: ASYNC251
        enq[i] = _now()
        await _call(producer.one(i))
    return {"n": n}


async def _produce(manager: Any, command: str, numbers: list[int]) -> dict[str, float]:
    is_async = hasattr(manager, "__aenter__")
    producer = await manager.__aenter__() if is_async else manager.__enter__()
    try:
        if command == "bulk":
            return await _bulk(producer, numbers[0])
        return await _trickle(producer, numbers[0], numbers[1], is_async=is_async)
    finally:
        await manager.__aexit__(None, None, None) if is_async else manager.__exit__(None, None, None)


def cli(peer: dict[str, Any]) -> None:
    """versions | worker VARIANT PROCS [CONC] | bulk VARIANT N | latency VARIANT N RATE | a command of the peer's own"""
    if peer["__name__"] != "__main__":
        return
    command, *rest = sys.argv[1:]
    if command == "versions":
        print(json.dumps(peer["versions"]()))
    elif command == "worker":
        peer["worker"](rest[0], int(rest[1]), int(rest[2]) if len(rest) > 2 else None)
    elif command in peer.get("COMMANDS", {}):
        peer["COMMANDS"][command](*rest)
    else:
        manager = peer["producer"](rest[0])
        print(json.dumps(asyncio.run(_produce(manager, command, [int(word) for word in rest[1:]]))))
