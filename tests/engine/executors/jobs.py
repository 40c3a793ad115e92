"""Functions that the tests run as jobs."""

import asyncio
import contextvars
import dataclasses
import datetime
import functools
import json
import logging
import os
import resource
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NoReturn

from rota import Rota
from rota.engine.executors.python.python import current_run

seen: contextvars.ContextVar[str] = contextvars.ContextVar("seen", default="nothing")
gate = threading.Event()
"""Blocks `wait_at_gate` until a test opens it."""

not_a_function = 5


@Rota("sqlite://:memory:").task
async def task_on_loop() -> bool:
    return threading.current_thread() is threading.main_thread()


def tell_what_programs_inherit() -> list[int]:
    """The descriptors behind the usual three that are open in a program which takes over all that there are."""
    script = "import json, os; print(json.dumps([fd for fd in range(3, 256) if os.path.exists(f'/dev/fd/{fd}')]))"
    said = subprocess.run([sys.executable, "-c", script], close_fds=False, capture_output=True, check=True)
    return list(json.loads(said.stdout))


async def nothing() -> None:
    return None


async def add(a: int, b: int = 10) -> int:
    await asyncio.sleep(0)
    return a + b


def add_in_thread(a: int, b: int = 10) -> dict[str, object]:
    return {"sum": a + b, "is_main": threading.current_thread() is threading.main_thread()}


class Sums:
    @staticmethod
    def add(a: int, b: int) -> int:
        return a + b


class AsyncCallable:
    async def __call__(self, a: int) -> int:
        return a


async_callable = AsyncCallable()


def _plain_decorator(function: Callable[[], Awaitable[str]]) -> Callable[[], Awaitable[str]]:
    @functools.wraps(function)
    def call() -> Awaitable[str]:
        return function()

    return call


@_plain_decorator
async def decorated() -> str:
    await asyncio.sleep(0)
    return current_run().spec.id


def _with_connection(function: Callable[[str], object]) -> Callable[[], object]:
    """A decorator that adds an argument, and has the signature of a function that needs it."""

    @functools.wraps(function)
    def call() -> object:
        return function("connection")

    return call


@_with_connection
def fail_within(connection: str) -> object:
    return connection + 1  # type: ignore[operator]


def identify() -> list[object]:
    run = current_run()
    run.log("I am here", "warning")
    return [run.spec.id, run.attempt]


def tell_run() -> list[object]:
    run = current_run()
    return [run.attempt, run.fencing_number, run.stop_grace_s]


async def identify_async() -> list[object]:
    await asyncio.sleep(0)
    return identify()


async def set_and_see(value: str) -> list[str]:
    before = seen.get()
    seen.set(value)
    await asyncio.sleep(0)
    inner = await asyncio.create_task(_see())
    return [before, inner, seen.get()]


async def _see() -> str:
    return seen.get()


def set_and_see_in_thread(value: str) -> list[str]:
    before = seen.get()
    seen.set(value)
    return [before, seen.get()]


async def with_inner_timeout() -> str:
    try:
        async with asyncio.timeout(0.001):
            await asyncio.Event().wait()
    except TimeoutError:
        return "timed out inside"
    return "never"


async def with_task_group() -> list[int]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(add(a=number)) for number in range(3)]
    return [task.result() for task in tasks]


async def failing_task_group() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(fail_async())
        group.create_task(asyncio.Event().wait())


async def fail_async() -> NoReturn:
    await asyncio.sleep(0)
    raise ValueError("no such luck")


def fail() -> NoReturn:
    raise ValueError("no such luck")


def fail_with(kind: str) -> object:
    if kind == "stop":
        raise StopIteration(5)
    if kind == "exit":
        sys.exit(3)
    if kind == "cancelled":
        raise asyncio.CancelledError
    if kind == "huge":
        raise ValueError("x" * 1_000_000)
    if kind == "surrogate":
        raise ValueError("\ud800")
    if kind == "recursion":
        return fail_with(kind)
    raise _UnprintableError


async def fail_async_with(kind: str) -> object:
    return fail_with(kind)


class _UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


async def await_cancelled_future() -> None:
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    await future


async def wait_for_ever() -> None:
    current_run().log("waiting", "info")
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0)
        current_run().log("cleaned up", "info")


async def ignore_one_cancellation() -> str:
    current_run().log("waiting", "info")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        await asyncio.sleep(0)
    return "finished all the same"


def wait_at_gate() -> str:
    current_run().log("waiting", "info")
    gate.wait()
    return "late"


@dataclasses.dataclass
class Point:
    x: int
    when: datetime.date


def give(kind: str) -> object:
    values: dict[str, Callable[[], object]] = {
        "point": lambda: Point(1, datetime.date(2024, 2, 29)),
        "uuid": lambda: uuid.UUID(int=1),
        "keys": lambda: {1: "one"},
        "nan": lambda: float("nan"),
        "object": object,
        "big": lambda: "x" * 2_000_000,
        "surrogate": lambda: "\ud800",
        "loop": _make_loop,
        "huge_int": lambda: 10**30,
    }
    return values[kind]()


def _make_loop() -> list[object]:
    loop: list[object] = []
    loop.append(loop)
    return loop


def use_logging() -> None:
    logger = logging.getLogger("jobs.test")
    logger.info("an info")
    logger.warning("a %s", "warning")
    logger.error("an error")
    logging.getLogger("rota.something").error("about the node")


def speak() -> dict[str, object]:
    print("to stdout")
    print("to stderr", file=sys.stderr)
    logging.getLogger("jobs.test").info("to logging")
    current_run().log("to the run", "warning")
    return {"argv": len(sys.argv), "stdin": sys.stdin.read(), "environment": os.environ["ROTA_JOB_ID"]}


def pid_then_sleep(path: str) -> None:
    try:
        print(f"pid {os.getpid()}", flush=True)
        threading.Event().wait()
    finally:
        Path(path).write_text("cleaned up")


def sleep_while_a_thread_takes_the_signal(path: str) -> None:
    """As it is when a signal comes just before a function begins to wait: nothing interrupts what it waits for."""
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    pid_then_sleep(path)


async def pid_then_sleep_async(path: str) -> None:
    try:
        print(f"pid {os.getpid()}", flush=True)
        await asyncio.Event().wait()
    finally:
        Path(path).write_text("cleaned up")  # noqa: ASYNC240, the loop has nothing else to do


async def fail_when_stopped() -> None:
    await ignore_one_cancellation()
    raise ValueError("it was stopped")


def die(code: int) -> None:
    os._exit(code)


def die_by_signal(number: int) -> None:
    os.kill(os.getpid(), number)
    threading.Event().wait()


def forge() -> str:
    """Writes nonsense to every descriptor it can find, as careless code might."""
    for fd in range(3, 64):
        try:
            os.write(fd, b"nonsense\n" + json.dumps({"outcome": 5}).encode() + b"\n")
        except OSError:
            continue
    return "done"


def variables() -> dict[str, str]:
    """What this process has in its environment."""
    return dict(os.environ)


def open_files_limit() -> list[int]:
    """How many files this process may have open."""
    return list(resource.getrlimit(resource.RLIMIT_NOFILE))


def print_some() -> None:
    print("one")
    print("two", "three", end="")
    print("!", file=sys.stderr)


async def print_some_async() -> None:
    print("one")
    await asyncio.create_task(_print_in_task())
    print("!", file=sys.stderr)


async def _print_in_task() -> None:
    print("two", "three", end="")


def print_much(characters: int) -> None:
    for _ in range(characters // 100):
        print("x" * 100, end="")
