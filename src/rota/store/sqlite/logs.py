"""The logs of the SQLite store. How far a job has come is kept at the position before its first line."""

import sqlite3
from collections.abc import Sequence

from rota.model.log import LogEntry
from rota.model.progress import Progress
from rota.store.logs import LogBatch, LogPage
from rota.store.records.codec import decode_log_entry, encode
from rota.store.records.unreadable import UNREADABLE_ERRORS, readable_progress, unreadable_line
from rota.store.sqlite.claims.lookup import held_claims
from rota.store.sqlite.database.inserts import insert_rows
from rota.store.sqlite.database.noun import SqliteNoun
from rota.store.sqlite.database.queries import SQL, json_array


class SqliteLogs(SqliteNoun):
    """See `rota.store.logs.LogStore` for what each method promises."""

    def append_logs(self, batches: Sequence[LogBatch]) -> frozenset[str]:
        # Encoded before the transaction begins, since others wait for its end.
        encoded = [[encode(entry) for entry in batch.entries] for batch in batches]
        with self._database.write() as db:
            rows = held_claims(db, [batch.job_id for batch in batches])
            held = {(row["queue"], row["id"], row["token"]) for row in rows}
            for batch, entries in zip(batches, encoded, strict=True):
                if (batch.queue, batch.job_id, batch.token) in held:
                    _append_lines(db, batch.job_id, entries)
                    if batch.progress is not None:
                        row = {"job_id": batch.job_id, "entry": encode(batch.progress)}
                        db.execute(SQL["note_progress"], row)
        return frozenset(one.job_id for one in batches if (one.queue, one.job_id, one.token) not in held)

    def read_logs(self, job_id: str, *, after: int = 0, limit: int = 1000) -> LogPage:
        with self._database.read() as db:
            rows = db.execute(SQL["read_logs"], {"job_id": job_id, "after": after, "limit": limit}).fetchall()
        return LogPage([_log_entry(row) for row in rows], rows[-1]["position"] + 1 if rows else after)

    def read_progress(self, queue: str, job_ids: Sequence[str]) -> dict[str, Progress]:
        with self._database.read() as db:
            rows = db.execute(SQL["read_progress"], {"ids": json_array(job_ids)}).fetchall()
        found = {row["job_id"]: readable_progress(row["entry"]) for row in rows}
        return {job_id: progress for job_id, progress in found.items() if progress is not None}


def _append_lines(db: sqlite3.Connection, job_id: str, entries: Sequence[bytes]) -> None:
    first = db.execute(SQL["next_position"], {"job_id": job_id}).fetchone()[0]
    rows = [{"job_id": job_id, "position": place, "entry": entry} for place, entry in enumerate(entries, first)]
    insert_rows(db, SQL["append_logs"], rows)


def _log_entry(row: sqlite3.Row) -> LogEntry:
    try:
        return decode_log_entry(row["entry"])
    except UNREADABLE_ERRORS as error:
        return unreadable_line(error)
