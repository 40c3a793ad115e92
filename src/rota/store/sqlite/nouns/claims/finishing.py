"""Carrying out settlements, as part of a transaction."""

import sqlite3
from collections.abc import Sequence
from itertools import groupby

from rota.model.events.event import Event
from rota.model.job import JobState
from rota.model.runs.settlement import Settlement
from rota.store.contract.events import Awaited
from rota.store.sqlite.database.queries import SQL
from rota.store.sqlite.nouns.claims.locks import free_lock
from rota.store.sqlite.nouns.claims.lookup import held_claims
from rota.store.sqlite.nouns.events.outbox import put_outbox
from rota.store.sqlite.nouns.jobs.rows import ended_row, returned_row
from rota.store.sqlite.nouns.queues.stats import count_up

Row = dict[str, object]


def finish(
    db: sqlite3.Connection, queue: str, settlements: Sequence[Settlement], *, awaited: Awaited, now: int
) -> bool:
    """Carry out what may be; tells whether that was everything."""
    told = awaited.events_of(settlements, now)
    ended = [ended_row(queue, one, one.ending) for one in settlements if one.ending and one.claim.spec.id not in told]
    returned = [returned_row(queue, one, now) for one in settlements if not one.ending]
    done = _end(db, queue, ended, now) if ended else 0
    done += _return(db, queue, returned, told, now) if returned else 0
    done += _end_and_tell(db, queue, settlements, told, now) if told else 0
    for lock_key in {one.claim.spec.lock_key for one in settlements} - {None}:
        free_lock(db, queue, lock_key)
    return done == len(settlements)


def _end_and_tell(
    db: sqlite3.Connection, queue: str, settlements: Sequence[Settlement], told: dict[str, Event], now: int
) -> int:
    """End jobs whose ends are events; returns how many were ended."""
    done = 0
    for one in settlements:
        event = told.get(one.claim.spec.id)
        if one.ending and event and _end(db, queue, [ended_row(queue, one, one.ending)], now):
            put_outbox(db, queue, event)
            done += 1
    return done


def _end(db: sqlite3.Connection, queue: str, rows: list[Row], now: int) -> int:
    """End jobs, in order, one call for each run of equal states; returns how many were ended."""
    done = 0
    for state, some in groupby(rows, key=lambda row: str(row["state"])):
        ended = db.executemany(SQL["finish_ended"], some).rowcount
        count_up(db, queue, state, ended, now)
        done += ended
    return done


def _return(db: sqlite3.Connection, queue: str, rows: list[Row], told: dict[str, Event], now: int) -> int:
    """Give jobs back; those that were to be cancelled end now. Returns how many there were."""
    tokens = {str(row["id"]): (queue, row["token"]) for row in rows}
    held = [row for row in held_claims(db, list(tokens)) if tokens[row["id"]] == (row["queue"], row["token"])]
    cancelled = [str(row["id"]) for row in held if row["cancel_requested"]]
    count_up(db, queue, JobState.CANCELLED, len(cancelled), now)
    for job_id in cancelled:
        if job_id in told:
            put_outbox(db, queue, told[job_id])
    return db.executemany(SQL["finish_returned"], rows).rowcount
