"""Finding jobs by their ids."""

import sqlite3
from collections.abc import Sequence

from rota.model.job import Job
from rota.store.sqlite.database.database import Database
from rota.store.sqlite.database.queries import SQL, json_array
from rota.store.sqlite.nouns.jobs.rows import job_of


def find_jobs(database: Database, job_ids: Sequence[str]) -> list[Job | None]:
    """One answer per id, in order."""
    with database.read() as db:
        rows = [find_row(db, job_id) for job_id in job_ids]
    return [job_of(row) if row else None for row in rows]


def find_row(db: sqlite3.Connection, job_id: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = db.execute(SQL["find_job"], {"id": job_id}).fetchone()
    return row


def states_of_jobs(db: sqlite3.Connection, job_ids: Sequence[str]) -> dict[str, str]:
    """The state of each of these jobs that there is."""
    return {row["id"]: row["state"] for row in db.execute(SQL["states_of_jobs"], {"ids": json_array(job_ids)})}
