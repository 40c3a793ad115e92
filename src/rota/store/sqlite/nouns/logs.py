"""The logs of the SQLite store. Lines that come together are one row, a block: a flood costs a row for many lines.

A row is known by the position of its last line, so a single line, which is a record without a list, is a block of one.
How far a job has come is kept at the position before its first line.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing

from rota.model.runs.log import LogEntry
from rota.model.runs.progress import Progress
from rota.store.contract.logs import LogBatch, LogPage
from rota.store.records.codec import decode_log_entries, decode_log_entry, encode
from rota.store.records.unreadable import UNREADABLE_ERRORS, readable_progress, unreadable_line
from rota.store.sqlite.database.inserts import insert_rows
from rota.store.sqlite.database.noun import SqliteNoun
from rota.store.sqlite.database.queries import SQL, json_array
from rota.store.sqlite.nouns.claims.lookup import held_claims
from rota.store.sqlite.nouns.history import forget_logs

BLOCK_LINES = 1_000
BLOCK_CHARS = 128 * 1024
"""What one row holds at most, a longer line apart: whoever wants one line reads its whole block."""


class SqliteLogs(SqliteNoun):
    """See `rota.store.contract.logs.LogStore` for what each method promises."""

    def append_logs(self, batches: Sequence[LogBatch]) -> frozenset[str]:
        # Encoded before the transaction begins, since others wait for its end.
        encoded = [_blocks(batch.entries) for batch in batches]
        with self._database.write() as db:
            rows = held_claims(db, [batch.job_id for batch in batches])
            held = {(row["queue"], row["id"], row["token"]) for row in rows}
            for batch, blocks in zip(batches, encoded, strict=True):
                if (batch.queue, batch.job_id, batch.token) in held:
                    _append_blocks(db, batch.job_id, blocks)
                    _note_progress(db, batch.job_id, batch.progress)
                    self._database.count_bytes(sum(len(block) for _, block in blocks))
        return frozenset(one.job_id for one in batches if (one.queue, one.job_id, one.token) not in held)

    def delete_logs(self, job_ids: Sequence[str]) -> list[bool]:
        return forget_logs(self._database, job_ids)

    def count_logs(self, job_id: str) -> int:
        with self._database.read() as db:
            return _next_position(db, job_id)

    def read_logs(self, job_id: str, *, after: int = 0, limit: int = 1000) -> LogPage:
        entries: list[LogEntry] = []
        with self._database.read() as db:
            rows = db.execute(SQL["read_logs"], {"job_id": job_id, "after": after, "limit": limit})
            # Closed before the connection is anybody else's: a page may end before the rows do.
            with closing(rows):
                for row in rows:
                    lines = _lines_of(db, job_id, row)
                    first = row["position"] - len(lines) + 1
                    entries += lines[max(after - first, 0) :]
                    if len(entries) >= limit:
                        break
        del entries[limit:]
        return LogPage(entries, after + len(entries))

    def read_progress(self, queue: str, job_ids: Sequence[str]) -> dict[str, Progress]:
        with self._database.read() as db:
            rows = db.execute(SQL["read_progress"], {"ids": json_array(job_ids)}).fetchall()
        found = {row["job_id"]: readable_progress(row["entry"]) for row in rows}
        return {job_id: progress for job_id, progress in found.items() if progress is not None}

    def restore_logs(
        self, queue: str, job_id: str, entries: Sequence[LogEntry], *, after: int, progress: Progress | None = None
    ) -> None:
        with self._database.write() as db:
            there = _next_position(db, job_id) - after
            _append_blocks(db, job_id, _blocks(list(entries[max(there, 0) :])))
            _note_progress(db, job_id, progress)


def _note_progress(db: sqlite3.Connection, job_id: str, progress: Progress | None) -> None:
    if progress is not None:
        db.execute(SQL["note_progress"], {"job_id": job_id, "entry": encode(progress)})


def _blocks(entries: list[LogEntry]) -> list[tuple[int, bytes]]:
    """The lines in few records, each with how many lines it has."""
    if len(entries) <= BLOCK_LINES and sum(len(entry.message) for entry in entries) <= BLOCK_CHARS:
        return [_block(entries)] if entries else []
    return [_block(some) for some in _in_blocks(entries)]


def _block(entries: list[LogEntry]) -> tuple[int, bytes]:
    return len(entries), encode(entries if len(entries) > 1 else entries[0])


def _in_blocks(entries: Sequence[LogEntry]) -> Iterator[list[LogEntry]]:
    block: list[LogEntry] = []
    size = 0
    for entry in entries:
        if block and (len(block) == BLOCK_LINES or size + len(entry.message) > BLOCK_CHARS):
            yield block
            block, size = [], 0
        block.append(entry)
        size += len(entry.message)
    yield block


def _next_position(db: sqlite3.Connection, job_id: str) -> int:
    return int(db.execute(SQL["count_logs"], {"job_id": job_id}).fetchone()[0])


def _append_blocks(db: sqlite3.Connection, job_id: str, blocks: Sequence[tuple[int, bytes]]) -> None:
    last = _next_position(db, job_id) - 1
    rows: list[dict[str, object]] = []
    for lines, block in blocks:
        last += lines
        rows.append({"job_id": job_id, "position": last, "entry": block})
    insert_rows(db, SQL["append_logs"], rows)


def _lines_of(db: sqlite3.Connection, job_id: str, row: sqlite3.Row) -> list[LogEntry]:
    block = row["entry"]
    try:
        return decode_log_entries(block) if block[:1] == b"[" else [decode_log_entry(block)]
    except UNREADABLE_ERRORS as error:
        before = db.execute(SQL["position_before"], {"job_id": job_id, "position": row["position"]}).fetchone()[0]
        return [unreadable_line(error)] * (row["position"] - before)
