"""`soft_time_limit`: an exception is raised in the code of a task that takes longer, which may still clean up."""

import ctypes
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from rota.moving.celery.exceptions import SoftTimeLimitExceeded

R = TypeVar("R")
_TRIES = 10
_logger = logging.getLogger("rota.celery")
_here = threading.local()
"""`is_deaf` in a thread in which Python raises nothing from outside."""


def call_within(limit_s: float | None, call: Callable[[], R]) -> R:
    """Call something; if it takes longer, `SoftTimeLimitExceeded` is raised in it, once. Python raises it between two
    steps of the code: a call that waits in the operating system, such as a long sleep, ends first."""
    if limit_s is None or getattr(_here, "is_deaf", False):
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
        self._timer = threading.Timer(limit_s, self.strike)
        self._timer.daemon = True

    def start(self) -> None:
        self._timer.start()

    def stop(self) -> None:
        """What was not raised in the code is not raised any more: the thread goes on to other work.

        Nothing is taken back, because Python 3.11 would look for it in all threads, for ever. It is raised here, and
        again if that was overlooked: Python 3.11 does so for a while if another thread gives up the interpreter at the
        same moment.
        """
        try:
            with self._lock:
                self._is_over = True
            if self._has_struck:
                for _ in range(_TRIES):
                    self._raise()
                _give_up()
        except SoftTimeLimitExceeded:
            pass
        self._timer.cancel()

    def strike(self) -> None:
        with self._lock:
            if not self._is_over:
                self._has_struck = True
                self._raise()

    def _raise(self) -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(self._thread, ctypes.py_object(SoftTimeLimitExceeded))


def _give_up() -> None:
    """Python 3.11 raises nothing in a thread that once could not start another one: what is meant for it goes to the
    one that never was. It looks for that in all threads until something is raised in any of them."""
    _here.is_deaf = True
    _logger.warning(
        "soft time limits have no effect in this thread any more, because it could not start another one when threads "
        "were short; start the node again, or use Python 3.12"
    )
    with suppress(RuntimeError):  # threads are still short
        threading.Thread(target=_raise_something, daemon=True).start()


def _raise_something() -> None:
    with suppress(SoftTimeLimitExceeded):
        _Limit(0).strike()
