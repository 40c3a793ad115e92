"""What the jobs of the system tests do. Each tells the ledger, a file outside Rota, when it starts and when it ends."""

import asyncio
import os
import signal
import subprocess

from rota.engine.executors.python import current_run
from tests.system.ledger import write_line


async def work(ledger: str, ms: int) -> None:
    """Takes so many milliseconds."""
    _tell(ledger, "start")
    await asyncio.sleep(ms / 1000)
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


async def nothing() -> None:
    """Does nothing."""


def _tell(ledger: str, event: str) -> None:
    run = current_run()
    write_line(ledger, event, run.spec.id, run.attempt)
