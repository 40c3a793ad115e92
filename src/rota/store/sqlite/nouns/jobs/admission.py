"""Taking jobs in, as part of the transaction of whoever makes them: a call, a schedule, a configuration."""

import sqlite3
from collections.abc import Callable, Sequence

from rota.model.job import JobSpec
from rota.model.runs.settlement import expired_before_run, has_expired
from rota.store.contract.events import Awaited
from rota.store.contract.jobs import Admission, CancelAnswer
from rota.store.sqlite.database.inserts import insert_rows
from rota.store.sqlite.database.queries import SQL
from rota.store.sqlite.nouns.jobs.changes import cancel_job
from rota.store.sqlite.nouns.jobs.lookup import find_row
from rota.store.sqlite.nouns.jobs.rows import job_of

Row = dict[str, object]
AwaitedEnds = Callable[[sqlite3.Connection], Awaited]
"""Which ends of jobs are waited for, read in the same transaction."""


def insert_jobs(db: sqlite3.Connection, specs: Sequence[JobSpec], rows: Sequence[Row]) -> int:
    """Take in all that may be, with few statements; returns how many these were. Unless these are all, the caller takes
    it back."""
    inserted = insert_rows(db, SQL["enqueue_jobs"], rows)
    for spec in specs:
        insert_series(db, spec)
    return inserted


def admit(db: sqlite3.Connection, spec: JobSpec, row: Row, now: int, awaited_ends: AwaitedEnds) -> Admission:
    """Take in one job, or tell which one there is instead. One that has expired is ended for it, and `awaited_ends`
    is asked whether somebody waits for that."""
    if _insert(db, spec, row):
        return Admission(spec.id, True)
    if spec.unique_key is None or find_row(db, spec.id):
        return Admission(spec.id, False)
    holder = _holder_of_unique_key(db, spec)
    if holder and _expire(db, holder, now, awaited_ends) and _insert(db, spec, row):
        return Admission(spec.id, True)
    return Admission(holder or spec.id, False)


def _expire(db: sqlite3.Connection, job_id: str, now: int, awaited_ends: AwaitedEnds) -> bool:
    """End a job that did not begin in time; False if it lives on, or a node has it, which ends it then."""
    row = find_row(db, job_id)
    if row is None or not has_expired(job_of(row), now):
        return False
    answer = cancel_job(db, job_id, awaited_ends(db), now, expired_before_run(now))
    return answer is CancelAnswer.CANCELLED


def _holder_of_unique_key(db: sqlite3.Connection, spec: JobSpec) -> str | None:
    """The live job that has the unique key of this one."""
    found = db.execute(SQL["holder_of_unique_key"], {"queue": spec.queue, "unique_key": spec.unique_key}).fetchone()
    return str(found["id"]) if found else None


def _insert(db: sqlite3.Connection, spec: JobSpec, row: Row) -> bool:
    is_new = db.execute(SQL["enqueue_jobs"], row).rowcount == 1
    if is_new:
        insert_series(db, spec)
    return is_new


def insert_series(db: sqlite3.Connection, spec: JobSpec) -> None:
    """Have a job found in its series; nearly all are in none."""
    if not spec.series:
        return
    rows = [
        {"queue": spec.queue, "name": name, "enqueued_at": spec.enqueued_at, "job_id": spec.id} for name in spec.series
    ]
    db.executemany(SQL["insert_series"], rows)
