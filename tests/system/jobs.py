"""What the jobs of the system tests do. Each tells the ledger, a file outside Rota, when it starts and when it ends."""

import asyncio
import os
import signal
import subprocess
import time
from contextlib import suppress

from rota.engine.executors.python.python import current_run
from tests.system.ledger import write_line


async def work(ledger: str, ms: int) -> None:
    """Takes so many milliseconds."""
    _tell(ledger, "start")
    await asyncio.sleep(ms / 1000)
    _tell(ledger, "end")


async def wait_for_gate(ledger: str, gate: str) -> None:
    """Goes on until a file is there."""
    _tell(ledger, "start")
    while not os.path.exists(gate):  # noqa: ASYNC110, ASYNC240, PTH110 - another process makes it
        await asyncio.sleep(0.05)
    _tell(ledger, "end")


async def exit_process(ledger: str) -> None:
    """Takes its whole node along."""
    _tell(ledger, "start")
    os._exit(9)


async def kill_process(ledger: str) -> None:
    """Takes its whole node along, as the kernel does when memory is short."""
    _tell(ledger, "start")
    os.kill(os.getpid(), signal.SIGKILL)


def sleep_in_process() -> None:
    """Lasts, and has a child of its own."""
    subprocess.run(["sleep", "600"], check=True)


def quick_in_process() -> None:
    """Takes no longer than its process."""


async def swallow(ledger: str) -> None:
    """Does not let itself be cancelled."""
    _tell(ledger, "start")
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)


async def block(ledger: str) -> None:
    """Lets nothing else happen on the event loop."""
    _tell(ledger, "start")
    _sleep()


def _sleep() -> None:
    time.sleep(3600)


async def nothing() -> None:
    """Does nothing."""


def _tell(ledger: str, event: str) -> None:
    run = current_run()
    write_line(ledger, event, run.spec.id, run.attempt)
