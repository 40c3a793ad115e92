"""Putting back what a node holds without knowing of it, as part of a transaction."""

import sqlite3

from rota.model.job import JobState
from rota.model.runs.settlement import cancelled_before_run
from rota.store.contract.events import Awaited
from rota.store.records.codec import encode
from rota.store.sqlite.database.queries import SQL, json_array
from rota.store.sqlite.nouns.claims.locks import free_lock
from rota.store.sqlite.nouns.claims.lookup import claims_of_node
from rota.store.sqlite.nouns.events.outbox import tell_end
from rota.store.sqlite.nouns.jobs.rows import spec_of
from rota.store.sqlite.nouns.queues.stats import count_up


def recover(
    db: sqlite3.Connection, queue: str, node: str, *, known: dict[str, str], floor: int, awaited: Awaited, now: int
) -> int:
    """Put back all claims of the node but the known ones, and take none of its claims up to the floor any more; returns
    how many were put back."""
    db.execute(SQL["raise_floor"], {"queue": queue, "node": node, "floor": floor})
    orphans = [row for row in claims_of_node(db, queue, node) if known.get(row["id"]) != row["token"]]
    seqs, ending = json_array([row["seq"] for row in orphans]), cancelled_before_run(now)
    db.execute(SQL["recover_claims"], {"seqs": seqs, "now": now, "ending": encode(ending)})
    cancelled = [row for row in orphans if row["cancel_requested"]]
    count_up(db, queue, JobState.CANCELLED, len(cancelled), now)
    for row in cancelled:
        tell_end(db, spec_of(row), ending, awaited)
    for lock_key in {row["lock_key"] for row in orphans} - {None}:
        free_lock(db, queue, lock_key)
    return len(orphans)
