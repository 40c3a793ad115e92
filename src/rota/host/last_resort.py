"""Ends this process when its orderly end does not come.

Jobs run user code, which may block the event loop, swallow its cancellation, or leave threads behind that nobody can
stop. None of that may keep a process that was asked to end. What it started ends with it. What it still held it gives
back if the store answers, or else it is taken from it as from any node that is gone.
"""

import logging
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

LEAVE_S = 3.0
"""How long threads and tasks that jobs left behind may hold the process when all else has ended."""
_SLICES = 30
LOOK_S = 1.0
"""How often it is asked whether the process still comes to its end by itself."""
_logger = logging.getLogger("rota.node")


class LastResort:
    """A timer that ends the process."""

    def __init__(self) -> None:
        self._is_cancelled = threading.Event()

    def set(
        self,
        seconds: float,
        exit_code: int,
        *,
        before: Callable[[], None] = lambda: None,
        unless: Callable[[], bool] = lambda: False,
    ) -> None:
        """End the process with this code after this long, or later: not as long as `unless`, which is asked in a thread
        and may take its time, says yes. What was set before no longer counts. `before` is called first, and has a few
        seconds."""
        self.cancel()
        self._is_cancelled = is_cancelled = threading.Event()

        def wait() -> None:
            wait_s = seconds
            while not is_cancelled.wait(wait_s):
                if not unless() and not is_cancelled.is_set():
                    _leave(exit_code, before)
                wait_s = LOOK_S

        threading.Thread(target=wait, name="rota-last-resort", daemon=True).start()

    def cancel(self) -> None:
        self._is_cancelled.set()


def has_lasting_threads() -> bool:
    """Whether there are threads for which the end of the process would wait."""
    return any(not one.daemon for one in threading.enumerate() if one is not threading.current_thread())


def _leave(exit_code: int, before: Callable[[], None]) -> None:
    _logger.warning("a job's code holds the process, which ends now all the same")
    taking_leave = threading.Thread(target=before, name="rota-take-leave", daemon=True)
    taking_leave.start()
    for _ in range(_SLICES):  # so that a time for which the whole process stood still counts once
        taking_leave.join(LEAVE_S / _SLICES)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(exit_code)
