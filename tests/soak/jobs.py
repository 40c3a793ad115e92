"""What the jobs of the soak do: they take their time, and tell the ledger that they begin, still run, fail and end.

The node's environment says which ledger it is and which node this is (`tests/soak/nodes.py`); `shell_job.sh` is the
same as a shell script.
"""

import asyncio
import os
import time
from collections.abc import Iterator

from rota.engine.executors.python.python import current_run
from tests.soak.ledger import Line, boot_ms
from tests.system.ledger import append_lines

STEP_MS = 250
"""A run that goes on says so this often. What it writes after its successor began gives it away."""


class WantedFailure(Exception):
    """The job was asked to fail."""


async def rest(ms: int, lock: str = "-", failures: int = 0) -> None:
    """Take so long, on the loop. The first attempts fail."""
    for step_ms in _tell(ms, lock, failures):
        await asyncio.sleep(step_ms / 1000)


def rest_in_thread(ms: int, lock: str = "-", failures: int = 0) -> None:
    """The same in a thread, or in a process of its own."""
    for step_ms in _tell(ms, lock, failures):
        time.sleep(step_ms / 1000)


def _tell(ms: int, lock: str, failures: int) -> Iterator[int]:
    """The steps of a run, in milliseconds; lines are written between them."""
    run = current_run()
    name = f"{os.getpid()}-{time.monotonic_ns()}"
    node = os.environ["SOAK_NODE"]

    def tell(event: str) -> None:
        line = Line(event, name, run.spec.id, run.attempt, node, boot_ms(), lock)
        append_lines(os.environ["SOAK_LEDGER"], line.text, is_synced=event != "goes_on")

    tell("start")
    while ms > STEP_MS:
        yield STEP_MS
        ms -= STEP_MS
        tell("goes_on")
    yield ms
    if run.attempt <= failures:
        tell("fail")
        raise WantedFailure(f"attempt {run.attempt} of {failures + 1}")
    tell("end")
