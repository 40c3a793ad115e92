"""The table: a row is written in the program's transaction, so it is there if that is committed.

    create_outbox(db)                                        # once
    report.options(outbox=db).enqueue(day="monday")          # in a transaction of db
    relay_outbox(db, app)                                    # again and again, by as many processes as there are

A job has its id before its row is written, so whoever enqueued it can wait for it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from rota.model.ids import new_id
from rota.model.limits import check_payload
from rota.sdk.outbox.database import DatabaseConnection, find_row, knows_on_conflict, run_statement

if TYPE_CHECKING:
    from rota.engine.jobs.intake import JobRequest

TABLE = "rota_outbox"
_CREATE = f"CREATE TABLE IF NOT EXISTS {TABLE} (id VARCHAR(36) PRIMARY KEY, request TEXT NOT NULL, error TEXT)"
_INSERT = f"INSERT INTO {TABLE} (id, request) VALUES (?, ?)"
_INSERT_ONCE = f"{_INSERT} ON CONFLICT (id) DO NOTHING"
_FIND = f"SELECT id FROM {TABLE} WHERE id = ?"


def create_outbox(connection: DatabaseConnection) -> None:
    """Make the table, unless it is there. The caller commits; or a migration of the application makes it."""
    run_statement(connection, _CREATE)


def write_outbox(connection: DatabaseConnection, requests: "Sequence[JobRequest]", now: int) -> list[str]:
    """Write requests for jobs as rows, in the connection's transaction; returns their ids. An id that is there already
    stays as it is. A time that is said from now on is counted from here, not from when the row is relayed."""
    settled = [_settled(request, now) for request in requests]
    for request in settled:
        check_payload("arguments", request.arguments)
    rows = [(str(request.id), msgspec.json.encode(request).decode()) for request in settled]
    _insert(connection, rows, own_ids={request.id for request in requests if request.id})
    return [job_id for job_id, _ in rows]


def _insert(connection: DatabaseConnection, rows: Sequence[tuple[str, str]], own_ids: set[str]) -> None:
    """Only ids of the program's own can be there already."""
    if knows_on_conflict(connection):
        run_statement(connection, _INSERT_ONCE, *rows)
        return
    run_statement(connection, _INSERT, *(row for row in rows if row[0] not in own_ids))
    for row in rows:
        if row[0] in own_ids and not find_row(connection, _FIND, row[:1]):
            run_statement(connection, _INSERT, row)


def _settled(request: "JobRequest", now: int) -> "JobRequest":
    run_at, expires_at = request.run_at, request.expires_at
    if request.delay_ms is not None:
        run_at = now + request.delay_ms
    if request.expires_ms is not None:
        expires_at = now + request.expires_ms
    return structs.replace(
        request, id=request.id or new_id(now), run_at=run_at, delay_ms=None, expires_at=expires_at, expires_ms=None
    )
