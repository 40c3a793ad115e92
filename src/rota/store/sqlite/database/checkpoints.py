"""Bringing what was written from the write-ahead log into the database file, and on to the disk, beside the writer and
not in its way.

SQLite does this by itself within some commit, which then takes as long as the disk needs, while everybody waits. A
checkpoint of another connection takes nothing from the writer. SQLite's own stays as a backstop.

With `synchronous = FULL` SQLite syncs every commit, and one that fails is an error of that commit. With `NORMAL` it
syncs in checkpoints only; so here the log is synced within `SYNC_WITHIN_S` of a commit, and after a sync that failed
nothing more is accepted. A process that ends syncs before, and says so if that failed. A node also syncs what others
wrote, so that it knows of a failing disk although it writes nothing itself. The kernel forgets what it could not
write, so that a later sync may succeed and prove nothing. A whole checkpoint does: it writes everything once more, and
syncs that.
"""

import errno
import fcntl
import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

EVERY_CHANGES = 2_000
"""Rows changed between two checkpoints: some megabytes of log. More makes the stalls of a slow disk rarer, but longer.
"""
EVERY_BYTES = 2 * 1024 * 1024
"""The same where rows are long, as those of jobs' logs: of these 2,000 may be 256 MB, and SQLite's own checkpoint would
come first, within a commit."""
SYNC_WITHIN_S = 1.0
"""How long a commit may stay unsynced where commits are not synced themselves; also the pause after a failure."""
MOST_LOG_BYTES = 256 * 1024 * 1024
"""A longer log is trouble. A busy store stays far below it, as long as nobody reads for minutes."""
_UNKNOWN_CALL = (errno.ENOTSUP, errno.EINVAL, errno.ENOTTY)
"""How a file system says that it does not know a call. Anything else is a sync that failed."""


class Checkpoints:
    """Checkpoints and syncs of one database, in a thread that lives while there is something to do."""

    def __init__(self, path: str, connect: Callable[[], sqlite3.Connection], *, syncs: bool) -> None:
        self._path = path
        self._log = Path(f"{path}-wal")
        self._connect = connect
        self.syncs = syncs
        self._last_changes = self._last_bytes = 0
        self._failure: str | None = None
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._has_commits = False
        self._has_enough = threading.Event()
        self._is_closing = False

    @property
    def refusal(self) -> str | None:
        """Why nothing may be accepted now: what was accepted last may not reach the disk."""
        return f"{self._failure}; nothing is accepted until one succeeds" if self._failure and self.syncs else None

    @property
    def loss(self) -> str | None:
        """Why what was accepted is not certain, once this is closed."""
        return f"{self._failure}; what was written last may be lost" if self._failure and self.syncs else None

    def troubles(self) -> list[str]:
        """What is wrong with the log and its syncs."""
        found = [self._failure] if self._failure else []
        size = _size(self._log)
        if size > MOST_LOG_BYTES:
            found.append(
                f"{self._log} has grown to {size >> 20} MiB, because something keeps an old view of the store open; "
                "end long transactions of other programs, such as a backup or a forgotten sqlite3 shell"
            )
        return found

    def after_commit(self, total_changes: int, total_bytes: int) -> None:
        """Called by the writer, which holds its lock: how many rows it has changed so far, and how many bytes of long
        ones."""
        has_enough = total_changes - self._last_changes >= EVERY_CHANGES
        has_enough = has_enough or total_bytes - self._last_bytes >= EVERY_BYTES
        if not (has_enough or self.syncs):
            return
        with self._guard:
            if has_enough:
                self._last_changes, self._last_bytes = total_changes, total_bytes
                self._has_enough.set()
            self._begin_round()

    def after_commit_of_another(self) -> None:
        """Another connection has committed, of whichever process, and it may be that nobody else syncs it."""
        with self._guard:
            self._begin_round()

    def _begin_round(self) -> None:
        self._has_commits = True
        if self._thread is None:
            self._thread = self._begin()

    def _begin(self) -> threading.Thread | None:
        """The thread; None if the process can have no more of them. What was committed is committed all the same, and
        the next commit tries again."""
        thread = threading.Thread(target=self._run, name="rota-checkpoint", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            return None
        return thread

    def close(self) -> None:
        """Finish what is under way. Afterwards `loss` tells whether that failed."""
        with self._guard:
            self._is_closing = True
            self._has_enough.set()
            thread = self._thread
        if thread is not None:
            thread.join()
        elif self._has_commits:  # there was no room for a thread
            self._bring(False)

    def _run(self) -> None:
        while True:
            if self.syncs or self._failure:
                self._has_enough.wait(SYNC_WITHIN_S)
            self._has_commits, is_long = False, self._has_enough.is_set()
            if is_long and not self._is_closing:
                self._has_enough.clear()
            self._bring(is_long or self._failure is not None)
            with self._guard:
                if self._is_closing or not (self._has_commits or self._failure):
                    self._thread = None
                    return

    def _bring(self, is_long: bool) -> None:
        """Sync the log, and bring it into the database file if it is long."""
        try:
            if self.syncs and self._log.exists():
                _sync(self._log)
            if is_long and self._checkpoint():
                self._failure = None
        except (sqlite3.Error, OSError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY:
                self._failure = f"{self._path}: the last checkpoint or sync failed: {error}"

    def _checkpoint(self) -> bool:
        """Whether everything is now in the database file, and synced."""
        with closing(self._connect()) as connection:
            busy, frames, moved = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        return not busy and frames == moved


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _sync(file: Path) -> None:
    descriptor = os.open(file, os.O_RDWR)
    try:
        _sync_descriptor(descriptor)
    finally:
        os.close(descriptor)


def _sync_descriptor(descriptor: int) -> None:
    """On macOS `fsync` only hands over to the drive, which may hold it back; another call waits for the drive too. Not
    every file system knows that call."""
    whole = getattr(fcntl, "F_FULLFSYNC", None)
    if whole is not None:
        try:
            fcntl.fcntl(descriptor, whole)
            return
        except OSError as error:
            if error.errno not in _UNKNOWN_CALL:
                raise
    os.fsync(descriptor)
