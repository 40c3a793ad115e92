"""An outbox: jobs as rows of a table in the application's own database, whatever that is. A row is written in the
application's transaction, so it is there if that is committed; a relay makes jobs of the rows.

    create_outbox(db)                                        # once
    report.options(outbox=db).enqueue(day="monday")          # in a transaction of db
    relay_outbox(db, app)                                    # again and again, by as many processes as there are

A job has its id before its row is written. A relay hands jobs in before it deletes their rows; whoever dies between
the two leaves rows, and whoever finds them hands the same ids in again, which makes no second job.
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import structs

from rota.errors import InvalidInput, NotFound
from rota.model.ids import new_id
from rota.model.limits import check_payload

if TYPE_CHECKING:
    from rota.engine.jobs.intake import JobRequest
    from rota.sdk.tasks.app import Rota

TABLE = "rota_outbox"
_AT_A_TIME = 500
_CREATE = f"CREATE TABLE IF NOT EXISTS {TABLE} (id VARCHAR(36) PRIMARY KEY, request TEXT NOT NULL, error TEXT)"
_INSERT = f"INSERT INTO {TABLE} (id, request) VALUES (?, ?)"
_SELECT = f"SELECT id, request FROM {TABLE} WHERE error IS NULL ORDER BY id LIMIT {_AT_A_TIME}"
_DELETE = f"DELETE FROM {TABLE} WHERE id = ?"
_REFUSE = f"UPDATE {TABLE} SET error = ? WHERE id = ?"


class DatabaseConnection(Protocol):
    """What a connection of any DB-API driver can do."""

    def cursor(self) -> Any: ...

    def commit(self) -> object: ...

    def rollback(self) -> object: ...


def create_outbox(connection: DatabaseConnection) -> None:
    """Make the table, unless it is there. The caller commits; or a migration of the application makes it."""
    _run(connection, _CREATE)


def write_outbox(connection: DatabaseConnection, requests: "Sequence[JobRequest]", now: int) -> list[str]:
    """Write requests for jobs as rows, in the connection's transaction; returns their ids. A time that is said from now
    on is counted from here, not from when the row is relayed."""
    settled = [_settled(request, now) for request in requests]
    for request in settled:
        check_payload("arguments", request.arguments)
    rows = [(str(request.id), msgspec.json.encode(request).decode()) for request in settled]
    _run(connection, _INSERT, *rows)
    return [job_id for job_id, _ in rows]


def relay_outbox(connection: DatabaseConnection, app: "Rota") -> int:
    """Make jobs of all rows that are committed, and commit their deletion; returns how many there were. A row that
    cannot become a job keeps the reason in its column `error`, and stops nobody; without that text it is tried again.
    The connection is the relay's own: what else it has begun is committed too."""
    app.declare()
    relayed = 0
    while rows := _run(connection, _SELECT).fetchall():
        reasons = _hand_in(app, rows)
        done = [(job_id,) for job_id, _ in rows if not reasons[job_id]]
        refused = [(reason, job_id) for job_id, reason in sorted(reasons.items()) if reason]
        _run(connection, _DELETE, *done)
        _run(connection, _REFUSE, *refused)
        connection.commit()
        relayed += len(done)
    connection.rollback()
    return relayed


def _settled(request: "JobRequest", now: int) -> "JobRequest":
    run_at, expires_at = request.run_at, request.expires_at
    if request.delay_ms is not None:
        run_at = now + request.delay_ms
    if request.expires_ms is not None:
        expires_at = now + request.expires_ms
    return structs.replace(
        request, id=request.id or new_id(now), run_at=run_at, delay_ms=None, expires_at=expires_at, expires_ms=None
    )


def _hand_in(app: "Rota", rows: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Make jobs of rows; per id why not, or nothing."""
    found: dict[str, JobRequest] = {}
    reasons: dict[str, str] = {}
    for job_id, text in rows:
        try:
            found[job_id] = structs.replace(_read(text), id=job_id)
        except msgspec.DecodeError as error:
            reasons[job_id] = f"request: {error}"
    try:
        app.engine.intake.enqueue(list(found.values()))
        return reasons | dict.fromkeys(found, "")
    except (InvalidInput, NotFound):  # one of them is bad, so each is handed in for itself
        return reasons | {job_id: _reason(app, request) for job_id, request in found.items()}


def _read(text: str) -> "JobRequest":
    from rota.engine.jobs.intake import JobRequest

    return msgspec.json.decode(text, type=JobRequest)


def _reason(app: "Rota", request: "JobRequest") -> str:
    try:
        app.engine.intake.enqueue([request])
    except (InvalidInput, NotFound) as error:
        return str(error)
    return ""


# -- any driver --------------------------------------------------------------------------------------------------------


def _run(connection: DatabaseConnection, sql: str, *rows: Sequence[object]) -> Any:
    """Run a statement on a new cursor, once for each row of values, which are marked as the driver wants it."""
    cursor = connection.cursor()
    if "?" not in sql:
        cursor.execute(sql)
    elif rows:
        cursor.executemany(sql if _style_of(connection) == "qmark" else sql.replace("?", "%s"), rows)
    return cursor


def _style_of(connection: DatabaseConnection) -> str:
    """How the driver of a connection wants values to be marked; a connection that says nothing is one like Django's."""
    for kind in type(connection).__mro__:
        style = getattr(sys.modules.get(kind.__module__.partition(".")[0]), "paramstyle", None)
        if style in ("qmark", "format", "pyformat"):
            return str(style)
        if style is not None:
            raise InvalidInput("outbox", f"{kind.__module__} marks values by {style!r}; known are qmark and format")
    return "format"
