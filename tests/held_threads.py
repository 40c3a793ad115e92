"""Stops one thread of another process, while all others of it go on, by `ptrace`. Linux only.

On a busy machine threads are late one by one: of two that were woken together, one may go on long after the other has
done everything. To stop a whole process never shows that.
"""

import ctypes
import os
from contextlib import suppress
from pathlib import Path

_DETACH, _SEIZE, _INTERRUPT = 17, 0x4206, 0x4207
_EVENT_STOP = 128
"""A stop that was asked for, and none before a signal is delivered."""
_ANY_THREAD = 0x4000_0000
_LIBC = ctypes.CDLL(None, use_errno=True)
_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")


def why_none_can_be_held() -> str:
    """Why this process may hold no thread of processes that it did not start; empty if it may."""
    if not Path("/proc/self/stat").exists():
        return "there is no /proc"
    if os.geteuid() != 0 and _SCOPE.exists() and _SCOPE.read_text().strip() != "0":
        return f"{_SCOPE} is not 0, and this is not root"
    return ""


class HeldThread:
    """A thread that was asked to stop. It goes on when it is let go, and if the process that holds it ends."""

    def __init__(self, thread: int) -> None:
        """`OSError` if it cannot be held: it has ended, somebody else traces it, or this process may not."""
        self._thread = thread
        self._goes_on_with: int | None = None
        """The signal that it was about to get, or 0; None while it has not stopped."""
        self._has_ended = False
        _trace(_SEIZE, thread)
        _trace(_INTERRUPT, thread)

    def look(self) -> None:
        """See what became of it. To be called often: nobody else hears of its end before."""
        try:
            changed, status = os.waitpid(self._thread, os.WNOHANG | _ANY_THREAD)
        except ChildProcessError:
            self._has_ended = True
            return
        if not changed:
            return
        if os.WIFSTOPPED(status):
            self._goes_on_with = 0 if status >> 16 == _EVENT_STOP else os.WSTOPSIG(status)
        else:
            self._has_ended = True

    def let_go(self) -> bool:
        """Let it go on; False if it must be tried again, since it has not stopped yet."""
        self.look()
        if self._has_ended or self._goes_on_with is None:
            return self._has_ended
        with suppress(OSError):  # it was killed, and its end is told a little later
            _trace(_DETACH, self._thread, self._goes_on_with)
            return True
        return False


def _trace(request: int, thread: int, data: int = 0) -> None:
    if _LIBC.ptrace(ctypes.c_long(request), ctypes.c_int(thread), None, ctypes.c_void_p(data)) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
