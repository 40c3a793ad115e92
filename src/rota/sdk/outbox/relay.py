"""The relay. A job has its id before its row is written. A relay hands jobs in before it deletes their rows; whoever
dies between the two leaves rows, and whoever finds them hands the same ids in again, which makes no second job.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from rota.errors import InvalidInput, NotFound
from rota.sdk.outbox.database import DatabaseConnection, run_statement
from rota.sdk.outbox.outbox import TABLE

if TYPE_CHECKING:
    from rota.engine.jobs.intake import JobRequest
    from rota.sdk.tasks.app import Rota

_AT_A_TIME = 500
_SELECT = f"SELECT id, request FROM {TABLE} WHERE error IS NULL ORDER BY id LIMIT {_AT_A_TIME}"
_DELETE = f"DELETE FROM {TABLE} WHERE id = ?"
_REFUSE = f"UPDATE {TABLE} SET error = ? WHERE id = ?"


def relay_outbox(connection: DatabaseConnection, app: "Rota") -> int:
    """Make jobs of all rows that are committed, and commit their deletion; returns how many there were. A row that
    cannot become a job keeps the reason in its column `error`, and stops nobody; without that text it is tried again.
    The connection is the relay's own: what else it has begun is committed too."""
    app.declare()
    relayed = 0
    while rows := run_statement(connection, _SELECT).fetchall():
        reasons = _hand_in(app, rows)
        done = [(job_id,) for job_id, _ in rows if not reasons[job_id]]
        refused = [(reason, job_id) for job_id, reason in sorted(reasons.items()) if reason]
        run_statement(connection, _DELETE, *done)
        run_statement(connection, _REFUSE, *refused)
        connection.commit()
        relayed += len(done)
    connection.rollback()
    return relayed


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
        _enqueue(app, list(found.values()))
        return reasons | dict.fromkeys(found, "")
    except (InvalidInput, NotFound):  # one of them is bad, so each is handed in for itself
        return reasons | {job_id: _reason(app, request) for job_id, request in found.items()}


def _enqueue(app: "Rota", requests: "Sequence[JobRequest]") -> None:
    """Hand jobs in; queues that they name and nobody has defined are made first."""
    from rota.sdk.tasks.declaring import ensure_queues

    ensure_queues(app.engine, sorted({one.node_type for one in requests if one.node_type is not None}))
    app.engine.intake.enqueue(requests)


def _read(text: str) -> "JobRequest":
    from rota.engine.jobs.intake import JobRequest

    return msgspec.json.decode(text, type=JobRequest)


def _reason(app: "Rota", request: "JobRequest") -> str:
    try:
        _enqueue(app, [request])
    except (InvalidInput, NotFound) as error:
        return str(error)
    return ""
