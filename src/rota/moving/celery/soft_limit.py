"""`soft_time_limit`: an exception is raised in the code of a task that takes longer, which may still clean up."""

import ctypes
import threading
from collections.abc import Callable
from typing import TypeVar

from rota.moving.celery.exceptions import SoftTimeLimitExceeded

R = TypeVar("R")


def call_within(limit_s: float | None, call: Callable[[], R]) -> R:
    """Call something; if it takes longer, `SoftTimeLimitExceeded` is raised in it, once. Python raises it between two
    steps of the code: a call that waits in the operating system, such as a long sleep, ends first."""
    if limit_s is None:
        return call()
    limit = _Limit(limit_s)
    limit.start()
    try:
        return call()
    finally:
        limit.stop()


class _Limit:
    """Raises an exception in the thread that made it."""

    def __init__(self, limit_s: float) -> None:
        self._thread = ctypes.c_ulong(threading.get_ident())
        self._lock = threading.Lock()
        self._is_over = False
        self._has_struck = False
        self._timer = threading.Timer(limit_s, self._strike)
        self._timer.daemon = True

    def start(self) -> None:
        self._timer.start()

    def stop(self) -> None:
        """What was not raised in the code is not raised any more: the thread goes on to other work.

        Nothing is taken back, because Python 3.11 would look for it in all threads, for ever. It is raised here, and
        once more if that was overlooked: Python 3.11 does so for a while if another thread gives up the interpreter at
        the same moment.
        """
        try:
            with self._lock:
                self._is_over = True
            while self._has_struck:
                self._raise()
        except SoftTimeLimitExceeded:
            pass
        self._timer.cancel()

    def _strike(self) -> None:
        with self._lock:
            if not self._is_over:
                self._has_struck = True
                self._raise()

    def _raise(self) -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(self._thread, ctypes.py_object(SoftTimeLimitExceeded))
