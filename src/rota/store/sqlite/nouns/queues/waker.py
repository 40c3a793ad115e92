"""Wakes a node that waits for work in a SQLite file.

Threads of the same process signal each other through a pipe, after their commit. What other processes commit is
reported by the kernel, which watches the write-ahead log; where it cannot, `PRAGMA data_version` is read again and
again: every few milliseconds while there is work, and more seldom the longer there was none.

The kernel's report comes too early: a commit is written into the log, perhaps synced, and then published in shared
memory, which no kernel reports. Who looks in between sees nothing. Any time may pass there, for a writer may be
stopped. But it holds SQLite's write lock from before its first write until after it has published, and the lock of a
killed one is freed by the kernel. So a report leaves the waker *unsettled*: it looks at once, then again after short
and growing pauses, until it could take the write lock itself, and once more after that.

    No commit goes unheard. Its write is reported while its writer holds the lock. The report is either still there
    when the waker goes to sleep, and wakes it, or was forgotten, and left the waker unsettled. An unsettled waker
    settles only by holding the lock after that moment, which it cannot before the writer has published; and then it
    looks.

An idle waker is settled and sleeps in the kernel. The write lock is taken for some microseconds, a pause after the
last report, when its writer usually is done.
"""

import os
import select
import sqlite3
import threading
from collections.abc import Callable

from rota.store.contract.queues import Cancellation
from rota.store.sqlite.database.changes import Changes
from rota.store.sqlite.database.database import MEMORY, translated_errors
from rota.store.sqlite.nouns.queues.file_watch import drain, watch_file

POLL_S = 0.008
LONGEST_POLL_S = 0.1
"""Between two reads of `data_version`, on systems without a file watch. A read takes some 100 us of CPU: at the first
pace more than 1 % of a core, at the last about 0.1 %."""
_QUIET_SHARE = 1 / 50
"""Between two reads there is at most this part of the time for which nothing was to do, so the first job after it waits
no longer."""
BUSY_POLL_S = 0.05
"""Between two looks for cancellations while the node is busy: its own commits would wake it all the time."""
FIRST_PAUSE_S = 0.001
LONGEST_PAUSE_S = 0.05
"""Between two looks of an unsettled waker. The longest is how late it hears of a writer that was stopped."""


class SqliteWaker:
    """One node's wait on one queue. See `rota.store.contract.queues.Waker`."""

    def __init__(
        self,
        changes: Changes,
        *,
        path: str | None,
        connect: Callable[[], sqlite3.Connection],
        ready_in_s: Callable[[], float | None],
        cancelled_claims: Callable[[], list[Cancellation]],
        monotonic: Callable[[], float],
    ) -> None:
        self._changes = changes
        self._path = path or MEMORY
        self._ready_in_s = ready_in_s
        self._cancelled_claims = cancelled_claims
        self._monotonic = monotonic
        self._file = watch_file(f"{path}-wal") if path else None
        # The lock is tried through it, or the version read; in a database in memory there is nobody else.
        self._connection = _impatient(connect()) if path else None
        self._version = 0
        self._worked_at = monotonic()
        # What was written before the file was watched may be published yet.
        self._pause_s: float | None = FIRST_PAUSE_S if self._file is not None else None
        self._pipe, self._signals = _pipe()
        self._changes.add(self._signals)
        self._nudged = threading.Event()
        self._told: set[Cancellation] = set()
        self._closing = threading.Lock()
        self._closed = False

    def wait(self, timeout_s: float, *, wants_jobs: bool) -> list[Cancellation]:
        deadline = self._monotonic() + timeout_s
        with self._closing, translated_errors(self._path):
            while not self._closed:
                # Forget first, look then: what happens in between is reported again.
                self._forget_signals()
                news = self._untold_cancellations()
                ready_in_s = self._ready_in_s() if wants_jobs else None
                if news or self._take_nudge() or ready_in_s == 0:
                    self._worked_at = self._monotonic()
                    return news
                if ready_in_s is not None:
                    deadline = min(deadline, self._monotonic() + ready_in_s)
                if not self._wait_for_signal(deadline, wants_jobs):
                    return []
        return []

    def nudge(self) -> None:
        self._nudged.set()
        self._changes.signal(self._signals)

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
            if self._connection is not None:
                self._connection.close()

    def _wait_for_signal(self, deadline: float, wants_jobs: bool) -> bool:
        """Whether there is time left; returns early when there may be news."""
        poll = select.poll()
        poll.register(self._pipe, select.POLLIN)
        if wants_jobs and self._file is not None:
            poll.register(self._file, select.POLLIN)
        while (left_s := deadline - self._monotonic()) > 0:
            step_s = self._longest_sleep_s(wants_jobs)
            signalled = poll.poll((left_s if step_s is None else min(left_s, step_s)) * 1000)
            if signalled or not wants_jobs or self._version_changed():
                return True
            if self._pause_s is not None:
                self._settle(self._pause_s)
                return True
        return False

    def _longest_sleep_s(self, wants_jobs: bool) -> float | None:
        """Until the next look, if nobody signals; None if that is enough."""
        if not wants_jobs:
            return BUSY_POLL_S
        if not self._is_polled:
            return self._pause_s
        quiet_s = self._monotonic() - self._worked_at
        return min(max(quiet_s * _QUIET_SHARE, POLL_S), LONGEST_POLL_S)

    @property
    def _is_polled(self) -> bool:
        return self._connection is not None and self._file is None

    def _version_changed(self) -> bool:
        if self._connection is None or not self._is_polled:
            return False
        version = int(self._connection.execute("PRAGMA data_version").fetchone()[0])
        changed, self._version = version != self._version, version
        return changed

    def _settle(self, pause_s: float) -> None:
        """Settle if nobody writes; the caller looks afterwards, whether or not."""
        self._pause_s = None if self._nobody_writes() else min(pause_s * 2, LONGEST_PAUSE_S)

    def _nobody_writes(self) -> bool:
        """Whether the write lock was free: all that was written before is published, or never will be."""
        assert self._connection is not None
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                return False
            raise
        self._connection.execute("ROLLBACK")
        return True

    def _forget_signals(self) -> None:
        if drain(self._pipe):
            self._worked_at = self._monotonic()
        if self._file is not None and drain(self._file):
            self._pause_s = FIRST_PAUSE_S

    def _take_nudge(self) -> bool:
        nudged = self._nudged.is_set()
        self._nudged.clear()
        return nudged

    def _untold_cancellations(self) -> list[Cancellation]:
        """Each cancellation is told once; a node that missed it hears of it when it renews its claims."""
        requested = set(self._cancelled_claims())
        news = requested - self._told
        self._told = requested
        return sorted(news, key=lambda one: one.job_id)


def _impatient(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.execute("PRAGMA busy_timeout = 0")
    return connection


def _pipe() -> tuple[int, int]:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    return reading, writing
