"""Taking jobs in, as part of the transaction of whoever makes them: a call, a schedule, a configuration."""

import sqlite3
from collections.abc import Sequence

from rota.model.job import JobSpec
from rota.store.contract.jobs import Admission
from rota.store.sqlite.database.inserts import insert_rows
from rota.store.sqlite.database.queries import SQL
from rota.store.sqlite.nouns.jobs.lookup import find_row
from rota.store.sqlite.nouns.jobs.rows import new_row

Row = dict[str, object]


def insert_jobs(db: sqlite3.Connection, specs: Sequence[JobSpec], rows: Sequence[Row]) -> int:
    """Take in all that may be, with few statements; returns how many these were. Unless these are all, the caller takes
    it back."""
    inserted = insert_rows(db, SQL["enqueue_jobs"], rows)
    for spec in specs:
        insert_series(db, spec)
    return inserted


def insert_job(db: sqlite3.Connection, spec: JobSpec, now: int) -> bool:
    """Take in one job; False if its id is known or its unique key is taken."""
    return _insert(db, spec, new_row(spec, now))


def admit(db: sqlite3.Connection, spec: JobSpec, row: Row) -> Admission:
    """Take in one job, or tell which one there is instead."""
    if _insert(db, spec, row):
        return Admission(spec.id, True)
    if spec.unique_key is None or find_row(db, spec.id):
        return Admission(spec.id, False)
    return Admission(holder_of_unique_key(db, spec) or spec.id, False)


def holder_of_unique_key(db: sqlite3.Connection, spec: JobSpec) -> str | None:
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
