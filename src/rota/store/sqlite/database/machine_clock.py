"""The clock of a SQLite store: the machine's, which all processes that use the file share, and which may be set.

A process that sees its wall clock jump cannot tell by itself whether the machine's clock was set or only its own
reading is wrong. So every process leaves its reading in the file with each beat, and a jump is believed when the other
processes read the same, or when there is none.
"""

import os
import sqlite3
import threading

from rota.clock import STEP_MS, SystemClock, uptime_ms
from rota.errors import StoreError
from rota.store.sqlite.database.database import Database
from rota.store.sqlite.database.queries import SQL

_PATIENCE_MS = 8_000
"""A process that lives leaves a reading within this time."""
_DRIFT_MS = 20
"""The wall clock and the time since the machine's start go apart by less, unless somebody sets the one, or this thread
is held up after it asked for the other."""
_TRIES = 5


class MachineClock:
    """Tells the time of the machine. Readings are the instant at which the machine was started, by the wall clock."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._wall = SystemClock()
        self._lock = threading.Lock()
        self._trusted = self.reading()
        self._doubted_since: int | None = None

    def now(self) -> int:
        uptime, wall = uptime_ms(), self._wall.now()
        if abs(wall - uptime - self._trusted) < _DRIFT_MS and self._doubted_since is None:
            return wall
        with self._lock:
            self._judge(self.reading())
            return self._wall.now() if self._doubted_since is None else uptime_ms() + self._trusted

    def monotonic(self) -> float:
        return self._wall.monotonic()

    def reading(self) -> int:
        """The closest of some tries: this thread may be held up between the two questions."""
        return min(self._try_to_read() for _ in range(_TRIES))[1]

    def _try_to_read(self) -> tuple[int, int]:
        """How long it took, and what it found."""
        before, wall, after = uptime_ms(), self._wall.now(), uptime_ms()
        return after - before, wall - after

    def leave_reading(self, db: sqlite3.Connection) -> None:
        """Let the other processes know what this one reads."""
        uptime = uptime_ms()
        db.execute(SQL["put_clock"], {"process": os.getpid(), "uptime": uptime, "reading": self.reading()})
        db.execute(SQL["trim_clocks"], {"uptime": uptime})

    def _judge(self, reading: int) -> None:
        """If the wall clock jumped, go on as before until the others have been heard."""
        if abs(reading - self._trusted) < STEP_MS:
            self._trusted, self._doubted_since = reading, None
            return
        if self._doubted_since is None:
            self._doubted_since = uptime_ms()
        others = self._others(self._doubted_since)
        if any(abs(other - self._trusted) < STEP_MS for other in others):
            return
        if others or uptime_ms() - self._doubted_since >= _PATIENCE_MS:
            self._trusted, self._doubted_since = reading, None

    def _others(self, since: int) -> list[int]:
        """What the other processes of this machine read since then. In memory there is none, and reading would wait for
        the writer, which may wait for this."""
        if self._database.in_memory:
            return []
        try:
            with self._database.read() as db:
                rows = db.execute(SQL["read_clocks"], {"process": os.getpid(), "since": since}).fetchall()
        except StoreError:
            return []
        return [int(row["reading"]) for row in rows]
