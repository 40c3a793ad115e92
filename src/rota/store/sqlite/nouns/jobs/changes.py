"""Cancelling and bringing back single jobs, as part of a transaction."""

import sqlite3

from rota.model.job import Ending, JobState, rank_of
from rota.model.runs.settlement import cancelled_before_run
from rota.store.contract.events import Awaited
from rota.store.contract.jobs import CancelAnswer
from rota.store.records.codec import encode
from rota.store.sqlite.database.queries import SQL
from rota.store.sqlite.nouns.claims.locks import free_lock
from rota.store.sqlite.nouns.claims.rates import look_again
from rota.store.sqlite.nouns.events.outbox import tell_end
from rota.store.sqlite.nouns.history import count_forgotten
from rota.store.sqlite.nouns.jobs.lookup import find_row
from rota.store.sqlite.nouns.jobs.rows import spec_of
from rota.store.sqlite.nouns.queues.stats import count_up


def cancel_job(
    db: sqlite3.Connection, job_id: str, awaited: Awaited, now: int, ending: Ending | None = None
) -> CancelAnswer:
    """See `rota.store.contract.jobs.JobStore`; `ending` is that of a job which waits."""
    row = find_row(db, job_id)
    if row is None:
        return CancelAnswer.UNKNOWN
    if row["ended_at"] is not None:
        return CancelAnswer.FINAL
    if db.execute(SQL["cancel_running"], {"id": job_id}).rowcount:
        return CancelAnswer.REQUESTED
    ending = ending or cancelled_before_run(now)
    db.execute(SQL["cancel_waiting"], {"id": job_id, "now": now, "ending": encode(ending)})
    tell_end(db, spec_of(row), ending, awaited)
    count_up(db, row["queue"], JobState.CANCELLED, 1, now)
    if row["lock_key"] is not None:
        # It may have been the one that was made ready when the lock became free.
        free_lock(db, row["queue"], row["lock_key"])
    if row["rate_key"] is not None and not row["limited"]:
        look_again(db, row["queue"], row["rate_key"], now)
    return CancelAnswer.CANCELLED


def retry_job(db: sqlite3.Connection, job_id: str, now: int) -> bool:
    row = find_row(db, job_id)
    if row is None:
        return False
    rank = rank_of(spec_of(row).priority, now)
    if db.execute(SQL["retry_job"], {"id": job_id, "rank": rank}).rowcount != 1:
        return False
    count_forgotten(db, [(row["queue"], row["state"])])
    return True
