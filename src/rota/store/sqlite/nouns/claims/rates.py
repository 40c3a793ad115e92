"""Rates: of the jobs with the same rate key so many start within a period, the others are limited until it allows them.
All of it is part of the transaction that gives jobs out.
"""

import sqlite3
from collections.abc import Callable
from functools import cached_property

import msgspec

from rota.model.rate import Rate, Starts, counted, judged_at, left_of, next_start_at, rate_of_key, with_start
from rota.model.runs.settlement import has_expired
from rota.store.contract.claims import MAX_PROMOTED
from rota.store.records.unreadable import UNREADABLE_ERRORS
from rota.store.sqlite.database.queries import SQL
from rota.store.sqlite.nouns.jobs.rows import claim_of

_FORGOTTEN_AT_A_TIME = 10
"""Each claim that counts starts forgets so many rates that count nothing any more: more than it can add."""
_decode_starts = msgspec.json.Decoder(Starts).decode


def look_again(db: sqlite3.Connection, queue: str, rate_key: str, now: int) -> None:
    """Look at the limited jobs of a rate at once, if there are any: one that it allowed does not start."""
    db.execute(SQL["look_again"], {"queue": queue, "rate_key": rate_key, "now": now})


class _Count:
    """What was started under one rate key."""

    def __init__(self, rate: Rate, starts: Starts, *, is_due: bool) -> None:
        self.rate = rate
        self.starts = starts
        self.again = is_due
        """Whether limited jobs are looked at again at once if the rate allows more: it is time and this claim did not
        come to them, some were left, or one that was brought back did not start."""

    @property
    def left(self) -> int:
        return left_of(self.starts, self.rate)


class RateRound:
    """The rates that one claim comes across: each is read once, and written at the end."""

    def __init__(self, db: sqlite3.Connection, queue: str, now: int, clock: Callable[[], int]) -> None:
        self._db = db
        self._queue = queue
        self._callers_now = now
        self._read_clock = clock
        self._counts: dict[str, _Count | None] = {}

    @cached_property
    def _clock(self) -> int:
        """The store's clock, which is asked only if there are rates."""
        return self._read_clock()

    @cached_property
    def _now(self) -> int:
        return judged_at(self._callers_now, self._clock)

    @property
    def is_touched(self) -> bool:
        return bool(self._counts)

    def free_due(self) -> None:
        """Make those limited jobs ready that their rates allow now."""
        room = MAX_PROMOTED
        due = {"queue": self._queue, "now": self._now, "limit": MAX_PROMOTED}
        for row in self._db.execute(SQL["due_rates"], due).fetchall():
            if room < 1:
                break
            count = self._count(row["rate_key"])
            if count is None:
                continue
            wanted = min(count.left, room)
            freed = {"queue": self._queue, "rate_key": row["rate_key"], "limit": wanted}
            room -= self._db.execute(SQL["free_limited"], freed).rowcount
            count.again = wanted < count.left

    def split(self, rows: list[sqlite3.Row]) -> tuple[list[sqlite3.Row], list[sqlite3.Row]]:
        """Rows of jobs that start now, and of those whose rate is used up."""
        free: list[sqlite3.Row] = []
        limited: list[sqlite3.Row] = []
        for row in rows:
            (free if row["rate_key"] is None or self._may_start(row) else limited).append(row)
        return free, limited

    def give_room_back(self, rows: list[sqlite3.Row]) -> None:
        """Jobs that their rates may have allowed do not start now: others may. Each time a job leaves the ready ones,
        so this ends."""
        for rate_key in {row["rate_key"] for row in rows} - {None}:
            if count := self._count(rate_key):
                count.again = True

    def write(self) -> None:
        for rate_key, count in self._counts.items():
            if count is not None:
                self._put(rate_key, count)
        forgotten = {"queue": self._queue, "now": self._now, "limit": _FORGOTTEN_AT_A_TIME + len(self._counts)}
        self._db.execute(SQL["forget_rates"], forgotten)

    def _may_start(self, row: sqlite3.Row) -> bool:
        """One that has expired needs no start: its node only ends it."""
        if _has_expired(row, self._callers_now):
            self.give_room_back([row])
            return True
        return self._start(row["rate_key"])

    def _start(self, rate_key: str) -> bool:
        count = self._count(rate_key)
        if count is None:
            return True
        if count.left < 1:
            return False
        count.starts = with_start(count.starts, count.rate, self._now)
        return True

    def _count(self, rate_key: str) -> _Count | None:
        """None, if the key says nothing that can be read: then it limits nobody."""
        if rate_key not in self._counts:
            try:
                rate = rate_of_key(rate_key)
                row = self._db.execute(SQL["read_rate"], {"queue": self._queue, "rate_key": rate_key}).fetchone()
                starts = counted(_starts_of(row), rate, self._now, self._clock)
                self._counts[rate_key] = _Count(rate, starts, is_due=_is_due(row, self._now))
            except UNREADABLE_ERRORS:
                self._counts[rate_key] = None
        return self._counts[rate_key]

    def _put(self, rate_key: str, count: _Count) -> None:
        key = {"queue": self._queue, "rate_key": rate_key}
        due: int | None = None
        if self._db.execute(SQL["has_limited"], key).fetchone()[0]:
            is_due = count.again and count.left > 0
            due = self._now if is_due else next_start_at(count.starts, count.rate, self._now)
        forgotten_at = count.starts[-1][0] + count.rate.period_ms if count.starts else self._now
        starts = msgspec.json.encode(count.starts).decode()
        self._db.execute(SQL["put_rate"], {**key, "starts": starts, "due": due, "forgotten_at": forgotten_at})


def _starts_of(row: sqlite3.Row | None) -> Starts:
    try:
        return _decode_starts(row["starts"]) if row else []
    except UNREADABLE_ERRORS:
        return []  # as if nothing had been started: a record that cannot be read holds up nobody


def _is_due(row: sqlite3.Row | None, now: int) -> bool:
    return row is not None and row["due"] is not None and row["due"] <= now


def _has_expired(row: sqlite3.Row, now: int) -> bool:
    try:
        return has_expired(claim_of(row, token="", fence=0, is_begun=False), now)
    except UNREADABLE_ERRORS:
        return False
