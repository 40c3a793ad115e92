"""The loop of a process that is to end: whether it still answers, and how it is closed."""

import asyncio
import threading
from contextlib import suppress

from rota.engine.executors.shortage import raise_if_short
from rota.errors import NodeStrained


def answers(loop: asyncio.AbstractEventLoop, within_s: float) -> bool:
    """Whether a loop does something for another thread, within a time in which only a blocked one does not."""
    has_answered = threading.Event()
    try:
        loop.call_soon_threadsafe(has_answered.set)
    except RuntimeError:
        return True  # it has ended, which is all that was wanted
    return has_answered.wait(within_s)


def close_runner(runner: asyncio.Runner) -> None:
    """It closes its loop whatever happens, but a thread of its own waits for those of the loop."""
    try:
        runner.close()
    except RuntimeError as error:
        with suppress(NodeStrained):
            raise_if_short(error)
            raise
