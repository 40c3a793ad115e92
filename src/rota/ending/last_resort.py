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
from queue import SimpleQueue
from typing import NoReturn, Self

LEAVE_S = 3.0
"""How long threads and tasks that jobs left behind may hold the process when all else has ended."""
_SLICES = 30
_THREADS = 2
"""One waits, and when the time has come another one takes leave while it waits for that."""
LOOK_S = 1.0
"""How often it is asked whether the process still comes to its end by itself."""
_logger = logging.getLogger("rota.node")


class LastResort:
    """A timer that ends the process. Its threads begin before it is needed, when there may be room for none."""

    def __init__(self) -> None:
        self._is_cancelled = threading.Event()
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        """For its threads; None lets one end."""

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()
        for _thread in range(_THREADS):
            self._calls.put(None)

    def begin(self) -> None:
        """Have all that is needed to end the process. As long as the process lives, unless it is entered instead."""
        for _ in range(_THREADS):
            threading.Thread(target=self._serve, name="rota-last-resort", daemon=True).start()

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
                    self._leave(exit_code, before)
                wait_s = LOOK_S

        self._calls.put(wait)

    def cancel(self) -> None:
        self._is_cancelled.set()

    def _serve(self) -> None:
        while (call := self._calls.get()) is not None:
            call()

    def _leave(self, exit_code: int, before: Callable[[], None]) -> None:
        _logger.warning("a job's code holds the process, which ends now all the same")
        has_left = threading.Event()

        def take_leave() -> None:
            try:
                before()
            finally:
                has_left.set()

        self._calls.put(take_leave)
        for _ in range(_SLICES):  # so that a time for which the whole process stood still counts once
            has_left.wait(LEAVE_S / _SLICES)
        _end_process(exit_code)


def end_within(seconds: float, exit_code: int) -> None:
    """End the process with this code after so long, although its own end waits for threads that may never end. At once
    if there is no room for what would wait."""
    last_resort = LastResort()
    try:
        last_resort.begin()
    except RuntimeError:
        _end_process(exit_code)
    last_resort.set(seconds, exit_code)


def has_lasting_threads() -> bool:
    """Whether there are threads for which the end of the process would wait."""
    return any(not one.daemon for one in threading.enumerate() if one is not threading.current_thread())


def _end_process(exit_code: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(exit_code)
