"""Bringing what was written from the write-ahead log into the database file, beside the writer and not in its way.

SQLite does this by itself within some commit, which then takes as long as the disk needs, while everybody waits. A
checkpoint of another connection takes nothing from the writer. SQLite's own stays as a backstop.
"""

import sqlite3
import threading
from collections.abc import Callable

_EVERY_CHANGES = 2_000
"""Rows changed between two checkpoints: some megabytes of log. More makes the stalls of a slow disk rarer, but longer.
"""


class Checkpoints:
    """Starts a checkpoint in a thread of its own whenever enough was changed, one at a time."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._last_changes = 0
        self._thread: threading.Thread | None = None

    def after_commit(self, total_changes: int) -> None:
        """Called by the writer, which holds its lock."""
        if total_changes - self._last_changes < _EVERY_CHANGES or (self._thread and self._thread.is_alive()):
            return
        self._last_changes = total_changes
        self._thread = threading.Thread(target=self._run, name="rota-checkpoint", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Wait for the one under way."""
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            connection = self._connect()
            try:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            finally:
                connection.close()
        except sqlite3.Error:
            return  # the file is busy or gone; the writer will hear of it itself
