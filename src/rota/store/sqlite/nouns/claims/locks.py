"""Locks: of the jobs with the same lock key one runs, the others are blocked until it is over. All of it is part of the
transaction that gives jobs out or takes them back.
"""

import sqlite3
from collections.abc import Sequence

from rota.store.sqlite.database.queries import SQL, json_array


def free_lock(db: sqlite3.Connection, queue: str, lock_key: object) -> None:
    """Make the first job ready that waits for a lock, unless the lock is taken."""
    if not _is_locked(db, queue, lock_key):
        db.execute(SQL["free_lock"], {"queue": queue, "lock_key": lock_key})


def block_jobs(db: sqlite3.Connection, rows: Sequence[sqlite3.Row]) -> None:
    """Keep jobs back until their lock is free."""
    db.execute(SQL["block_jobs"], {"seqs": json_array([row["seq"] for row in rows])})


def split_by_lock(
    db: sqlite3.Connection, queue: str, candidates: list[sqlite3.Row], locks: set[str]
) -> tuple[list[sqlite3.Row], list[sqlite3.Row]]:
    """Candidates whose lock is free, and those that must wait for theirs. `locks` are known to be taken, and become
    more."""
    free, blocked = [], []
    for row in candidates:
        lock_key = row["lock_key"]
        if lock_key is None:
            free.append(row)
            continue
        if lock_key in locks or _is_locked(db, queue, lock_key):
            blocked.append(row)
        else:
            free.append(row)
        locks.add(lock_key)
    return free, blocked


def fences_of(db: sqlite3.Connection, queue: str, rows: list[sqlite3.Row], now: int) -> list[int]:
    """A fencing number for each row of a job with a lock, 0 for the others."""
    locked = sum(row["lock_key"] is not None for row in rows)
    if not locked:
        return [0] * len(rows)
    last = db.execute(SQL["next_fence"], {"queue": queue, "now": now, "jobs": locked}).fetchone()[0]
    numbers = iter(range(last - locked + 1, last + 1))
    return [0 if row["lock_key"] is None else next(numbers) for row in rows]


def _is_locked(db: sqlite3.Connection, queue: str, lock_key: object) -> bool:
    return bool(db.execute(SQL["is_locked"], {"queue": queue, "lock_key": lock_key}).fetchone()[0])
