"""What a queue has, read as part of a transaction."""

import sqlite3

from rota.store.sqlite.database.queries import SQL


def queues_in(db: sqlite3.Connection) -> list[str]:
    """Every queue of which anything is known."""
    return [str(row["uuid"]) for row in db.execute(SQL["list_queues"])]


def has_live_jobs(db: sqlite3.Connection, queue: str) -> bool:
    """Whether it has jobs that are not over."""
    return bool(db.execute(SQL["has_live_jobs"], {"queue": queue}).fetchone()[0])


def has_ready_jobs(db: sqlite3.Connection, queue: str, now: int) -> bool:
    """Whether a claim would find something."""
    return bool(db.execute(SQL["has_ready_jobs"], {"queue": queue, "now": now}).fetchone()[0])


def next_due(db: sqlite3.Connection, queue: str) -> int | None:
    """When its first delayed job becomes ready, or its first limited one may."""
    row = db.execute(SQL["next_due"], {"queue": queue}).fetchone()
    return None if row["due"] is None else int(row["due"])


def is_paused(db: sqlite3.Connection, queue: str) -> bool:
    return bool(db.execute(SQL["is_paused"], {"queue": queue}).fetchone()[0])
