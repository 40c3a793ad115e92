"""The relay. A job has its id before its row is written. A relay hands jobs in before it deletes their rows; whoever
dies between the two leaves rows, and whoever finds them hands the same ids in again, which makes no second job.
"""

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from rota.errors import InvalidInput, NotFound
from rota.sdk.outbox.database import DatabaseConnection, find_rows, run_statement
from rota.sdk.outbox.outbox import TABLE

if TYPE_CHECKING:
    from rota.engine.jobs.intake import JobRequest
    from rota.sdk.tasks.app import Rota
    from rota.store.contract.jobs import Admission

HandIn = Callable[["Sequence[JobRequest]"], Collection[str]]
"""Makes jobs of requests, and gives the ids of those that must wait because something is away that they need;
`InvalidInput` or `NotFound` if one of them cannot become a job."""
_AT_A_TIME = 500


def relay_outbox(connection: DatabaseConnection, app: "Rota") -> int:
    """Make jobs of all rows that are committed, and commit their deletion; returns how many there were. A row that
    cannot become a job keeps the reason in its column `error`, and stops nobody; without that text it is tried again.
    The connection is the relay's own: what else it has begun is committed too."""
    app.declare()

    def hand_in(requests: "Sequence[JobRequest]") -> Collection[str]:
        enqueue_requests(app, requests)
        return ()

    return relay_rows(connection, hand_in)


def relay_rows(connection: DatabaseConnection, hand_in: HandIn, *, table: str = TABLE) -> int:
    """The same for a table and whoever makes jobs of its rows. One that must wait stays as it is, and stops nobody."""
    select = f"SELECT id, request FROM {table} WHERE error IS NULL AND id > ? ORDER BY id LIMIT {_AT_A_TIME}"
    relayed, last = 0, ""
    while rows := find_rows(connection, select, (last,)):
        reasons = _hand_in(hand_in, rows)
        done = [(job_id,) for job_id, _ in rows if reasons[job_id] == ""]
        refused = [(reason, job_id) for job_id, reason in sorted(reasons.items()) if reason]
        run_statement(connection, f"DELETE FROM {table} WHERE id = ?", *done)
        run_statement(connection, f"UPDATE {table} SET error = ? WHERE id = ?", *refused)
        connection.commit()
        relayed, last = relayed + len(done), rows[-1][0]
    connection.rollback()
    return relayed


def enqueue_requests(app: "Rota", requests: "Sequence[JobRequest]") -> "list[Admission]":
    """Hand jobs in; queues that they name and nobody has defined are made first."""
    from rota.sdk.tasks.declaring import ensure_queues

    ensure_queues(app.engine, sorted({one.node_type for one in requests if one.node_type is not None}))
    return app.engine.intake.enqueue(requests)


def read_request(text: str) -> "JobRequest":
    """The request of a row."""
    from rota.engine.jobs.intake import JobRequest

    return msgspec.json.decode(text, type=JobRequest)


def _hand_in(hand_in: HandIn, rows: Sequence[Sequence[Any]]) -> dict[str, str | None]:
    """Make jobs of rows; per id why not, empty if it is one now, None if it must wait."""
    found: dict[str, JobRequest] = {}
    reasons: dict[str, str | None] = {}
    for job_id, text in rows:
        try:
            found[job_id] = structs.replace(read_request(text), id=job_id)
        except msgspec.DecodeError as error:
            reasons[job_id] = f"request: {error}"
    try:
        waiting = hand_in(list(found.values()))
        return reasons | {job_id: None if job_id in waiting else "" for job_id in found}
    except (InvalidInput, NotFound):  # one of them is bad, so each is handed in for itself
        return reasons | {job_id: _reason(hand_in, request) for job_id, request in found.items()}


def _reason(hand_in: HandIn, request: "JobRequest") -> str | None:
    try:
        return None if hand_in([request]) else ""
    except (InvalidInput, NotFound) as error:
        return str(error)
