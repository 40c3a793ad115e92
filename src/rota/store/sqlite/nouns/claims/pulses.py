"""Signs of life in a SQLite file: what nodes last said on a queue, and which of their claims come too late."""

import sqlite3

from rota.model.job import node_of_token, serial_of_token
from rota.store.sqlite.database.queries import SQL


def set_pulse(db: sqlite3.Connection, queue: str, node: str, pulse: str) -> None:
    db.execute(SQL["set_pulse"], {"queue": queue, "node": node, "pulse": pulse})


def has_pulse(db: sqlite3.Connection, queue: str, node: str, pulse: str) -> bool:
    return bool(db.execute(SQL["has_pulse"], {"queue": queue, "node": node, "pulse": pulse}).fetchone()[0])


def is_late(db: sqlite3.Connection, queue: str, token: str) -> bool:
    """Whether the node recovered its claims after it sent the one of this token."""
    row = db.execute(SQL["floor_of_node"], {"queue": queue, "node": node_of_token(token)}).fetchone()
    return row is not None and serial_of_token(token) <= int(row["floor"])
