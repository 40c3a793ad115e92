"""Tells the event loop that a child process has ended, without reaping it.

The dead child stays a zombie until `reap` is called, so its process id, which is also the id of its group, cannot be
given to anybody else while the group is still to be signalled.
"""

import asyncio
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

UNKNOWN_EXIT = 255
"""The exit code of a child that somebody else reaped, for example because SIGCHLD is ignored in this process."""


class ExitWatch(Protocol):
    """Calls `on_exit` on the loop once, when the child has ended."""

    def close(self) -> None:
        """Watch no longer. May be called twice."""
        ...

    def reap(self) -> int:
        """Collect a child that has ended; its exit code, or minus the signal that killed it."""
        ...


def watch_exit(pid: int, loop: asyncio.AbstractEventLoop, on_exit: Callable[[], None]) -> ExitWatch:
    """Watch in the cheapest way there is: a file descriptor on Linux, else a thread that waits."""
    if hasattr(os, "pidfd_open"):
        # An old kernel or a sandbox may lack the call, and descriptors may have run out.
        with suppress(OSError):
            return PidfdWatch(pid, loop, on_exit)
    return ThreadWatch(pid, loop, on_exit)


class PidfdWatch:
    """Watches by a descriptor that becomes readable when the process ends."""

    __slots__ = ("_fd", "_loop", "_pid")

    def __init__(self, pid: int, loop: asyncio.AbstractEventLoop, on_exit: Callable[[], None]) -> None:
        self._pid = pid
        self._loop = loop
        self._fd = os.pidfd_open(pid)
        try:
            loop.add_reader(self._fd, on_exit)
        except BaseException:
            os.close(self._fd)
            raise

    def close(self) -> None:
        if self._fd >= 0:
            with suppress(RuntimeError):  # the loop was closed before us
                self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def reap(self) -> int:
        return reap(self._pid)


class ThreadWatch:
    """Watches by a thread that waits for this one process."""

    def __init__(self, pid: int, loop: asyncio.AbstractEventLoop, on_exit: Callable[[], None]) -> None:
        self._pid = pid
        self._loop = loop
        self._on_exit = on_exit
        self._is_closed = False
        self._exit_code: int | None = None
        threading.Thread(target=self._wait, name=f"rota-child-{pid}", daemon=True).start()

    def close(self) -> None:
        self._is_closed = True

    def reap(self) -> int:
        return reap(self._pid) if self._exit_code is None else self._exit_code

    def _wait(self) -> None:
        if hasattr(os, "waitid"):
            with suppress(ChildProcessError):
                os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT)
        else:  # macOS before Python 3.13 can only wait and reap in one step
            self._exit_code = reap(self._pid)
        with suppress(RuntimeError):  # the loop was closed meanwhile
            self._loop.call_soon_threadsafe(self._report)

    def _report(self) -> None:
        if not self._is_closed:
            self._on_exit()


def reap(pid: int) -> int:
    """Wait for a child and collect it."""
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return UNKNOWN_EXIT


def reap_in_background(pid: int) -> None:
    """Collect a child that was killed, without waiting here and without needing an event loop."""
    with suppress(ChildProcessError):
        if os.waitpid(pid, os.WNOHANG)[0] == 0:
            try:
                threading.Thread(target=reap, args=(pid,), name=f"rota-reap-{pid}", daemon=True).start()
            except RuntimeError:  # the system gives no more threads; a killed process ends soon
                reap(pid)
