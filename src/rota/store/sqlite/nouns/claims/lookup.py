"""Which claims there are, read as part of a transaction."""

import sqlite3
from collections.abc import Sequence

from rota.store.contract.queues import Cancellation
from rota.store.sqlite.database.queries import SQL, json_array


def held_claims(db: sqlite3.Connection, job_ids: Sequence[str]) -> list[sqlite3.Row]:
    """The running ones among some jobs."""
    return db.execute(SQL["held_claims"], {"ids": json_array(job_ids)}).fetchall()


def claims_of_node(db: sqlite3.Connection, queue: str, node: str, limit: int = -1) -> list[sqlite3.Row]:
    """What one node holds in a queue; all of it by default."""
    return db.execute(SQL["claims_of_node"], {"queue": queue, **_token_range(node), "limit": limit}).fetchall()


def cancelled_claims(db: sqlite3.Connection, queue: str, node: str) -> list[Cancellation]:
    """What one node is to end."""
    rows = db.execute(SQL["cancelled_claims"], {"queue": queue, **_token_range(node)})
    return [Cancellation(row["id"], row["token"]) for row in rows]


def _token_range(node: str) -> dict[str, str]:
    """All tokens of one node: `0` is the character behind `/`."""
    return {"low": f"{node}/", "high": f"{node}0"}
