"""Wakes a node that waits for work in a SQLite file.

Threads of the same process signal each other through a pipe. What other processes commit is reported by the kernel,
which watches the write-ahead log; where it cannot, `PRAGMA data_version` is asked every few milliseconds.
"""

import os
import select
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress

from rota.store.sqlite.file_watch import drain, watch_file

POLL_S = 0.008
"""Between two questions for `data_version`, on systems without a file watch."""
BUSY_POLL_S = 0.05
"""Between two looks for cancellations while the node is busy: its own commits would wake it all the time."""


class Changes:
    """Tells the waiting threads of this process that something was changed in it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pipes: set[int] = set()

    def add(self, pipe: int) -> None:
        with self._lock:
            self._pipes.add(pipe)

    def remove(self, pipe: int) -> None:
        with self._lock:
            self._pipes.discard(pipe)

    def announce(self) -> None:
        with self._lock:
            for pipe in self._pipes:
                signal(pipe)


class SqliteWaker:
    """One node's wait on one queue."""

    def __init__(
        self,
        changes: Changes,
        *,
        path: str | None,
        connect: Callable[[], sqlite3.Connection],
        ready_in_s: Callable[[], float | None],
        cancelled_claims: Callable[[], list[str]],
        monotonic: Callable[[], float],
    ) -> None:
        self._changes = changes
        self._ready_in_s = ready_in_s
        self._cancelled_claims = cancelled_claims
        self._monotonic = monotonic
        self._file = watch_file(f"{path}-wal") if path else None
        self._polled = connect() if path and self._file is None else None
        self._version = 0
        self._pipe, self._signals = _pipe()
        self._changes.add(self._signals)
        self._nudged = threading.Event()
        self._told: set[str] = set()
        self._closing = threading.Lock()
        self._closed = False

    def wait(self, timeout_s: float, *, wants_jobs: bool) -> list[str]:
        deadline = self._monotonic() + timeout_s
        with self._closing:
            while not self._closed:
                # Forget first, look then: what happens in between is reported again.
                self._forget_signals()
                news = self._untold_cancellations()
                ready_in_s = self._ready_in_s() if wants_jobs else None
                if news or self._take_nudge() or ready_in_s == 0:
                    return news
                if ready_in_s is not None:
                    deadline = min(deadline, self._monotonic() + ready_in_s)
                if not self._wait_for_signal(deadline, wants_jobs):
                    return []
        return []

    def nudge(self) -> None:
        self._nudged.set()
        signal(self._signals)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self.nudge()
        self._changes.remove(self._signals)
        with self._closing:
            for descriptor in (self._file, self._pipe, self._signals):
                if descriptor is not None:
                    os.close(descriptor)
            if self._polled is not None:
                self._polled.close()

    def _wait_for_signal(self, deadline: float, wants_jobs: bool) -> bool:
        """Whether there is time left; returns early when there may be news."""
        poll = select.poll()
        poll.register(self._pipe, select.POLLIN)
        if wants_jobs and self._file is not None:
            poll.register(self._file, select.POLLIN)
        step_s = BUSY_POLL_S if not wants_jobs else POLL_S if self._polled is not None else None
        while (left_s := deadline - self._monotonic()) > 0:
            signalled = poll.poll((left_s if step_s is None else min(left_s, step_s)) * 1000)
            if signalled or not wants_jobs or self._version_changed():
                return True
        return False

    def _version_changed(self) -> bool:
        if self._polled is None:
            return False
        version = int(self._polled.execute("PRAGMA data_version").fetchone()[0])
        changed, self._version = version != self._version, version
        return changed

    def _forget_signals(self) -> None:
        drain(self._pipe)
        if self._file is not None:
            drain(self._file)

    def _take_nudge(self) -> bool:
        nudged = self._nudged.is_set()
        self._nudged.clear()
        return nudged

    def _untold_cancellations(self) -> list[str]:
        """Each cancellation is told once; a node that missed it hears of it when it renews its claims."""
        asked = set(self._cancelled_claims())
        news = asked - self._told
        self._told = asked
        return sorted(news)


def signal(pipe: int) -> None:
    """Make the other end readable. A full pipe is readable already, a closed one has nobody at its other end."""
    with suppress(OSError):
        os.write(pipe, b"!")


def _pipe() -> tuple[int, int]:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    return reading, writing
