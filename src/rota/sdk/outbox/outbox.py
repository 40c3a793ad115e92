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


def table_statement(table: str) -> str:
    """What makes a table, unless it is there."""
    return f"CREATE TABLE IF NOT EXISTS {table} (id VARCHAR(36) PRIMARY KEY, request TEXT NOT NULL, error TEXT)"


def create_outbox(connection: DatabaseConnection) -> None:
    """Make the table, unless it is there. The caller commits; or a migration of the application makes it."""
    run_statement(connection, table_statement(TABLE))


def write_outbox(
    connection: DatabaseConnection, requests: "Sequence[JobRequest]", now: int, *, table: str = TABLE
) -> list[str]:
    """Write requests for jobs as rows, in the connection's transaction; returns their ids. An id that is there already
    stays as it is. A time that is said from now on is counted from here, not from when the row is relayed."""
    settled = [_settled(request, now) for request in requests]
    for request in settled:
        check_payload("arguments", request.arguments)
    rows = [(str(request.id), msgspec.json.encode(request).decode()) for request in settled]
    _insert(connection, table, rows, own_ids={request.id for request in requests if request.id})
    return [job_id for job_id, _ in rows]


def find_request(connection: DatabaseConnection, job_id: str, *, table: str = TABLE) -> tuple[str, str | None] | None:
    """The row of a job: its request, and why it cannot become a job, if a relay found that. None if it has no row."""
    found = find_row(connection, f"SELECT request, error FROM {table} WHERE id = ?", (job_id,))
    return None if found is None else (str(found[0]), None if found[1] is None else str(found[1]))


def _insert(connection: DatabaseConnection, table: str, rows: Sequence[tuple[str, str]], *, own_ids: set[str]) -> None:
    """Only ids of the program's own can be there already."""
    insert = f"INSERT INTO {table} (id, request) VALUES (?, ?)"
    if knows_on_conflict(connection):
        run_statement(connection, f"{insert} ON CONFLICT (id) DO NOTHING", *rows)
        return
    run_statement(connection, insert, *(row for row in rows if row[0] not in own_ids))
    for row in rows:
        if row[0] in own_ids and find_request(connection, row[0], table=table) is None:
            run_statement(connection, insert, row)


def _settled(request: "JobRequest", now: int) -> "JobRequest":
    run_at, expires_at = request.run_at, request.expires_at
    if request.delay_ms is not None:
        run_at = now + request.delay_ms
    if request.expires_ms is not None:
        expires_at = now + request.expires_ms
    return structs.replace(
        request, id=request.id or new_id(now), run_at=run_at, delay_ms=None, expires_at=expires_at, expires_ms=None
    )
