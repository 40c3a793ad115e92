"""Tasks as rows of the project's own transactions: one is enqueued exactly if the transaction is committed.

The table is apart from that of the project's other apps, whose relays do not know Django's tasks.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from django.db import DatabaseError, connections

from rota.clock import SystemClock
from rota.sdk.outbox.outbox import find_request, write_outbox

if TYPE_CHECKING:
    from rota.engine.jobs.intake import JobRequest

TABLE = "rota_django_outbox"


def write_row(database: str, request: "JobRequest") -> str:
    """Write a task into the outbox, in the transaction that the calling thread has there; returns the id of its job."""
    with advising(database):
        (job_id,) = write_outbox(connections[database], [request], SystemClock().now(), table=TABLE)
    return job_id


def find_waiting(database: str, job_id: str) -> tuple[str, str | None] | None:
    """The request of a row, and why it cannot become a job; None if there is no such row."""
    with advising(database):
        return find_request(connections[database], job_id, table=TABLE)


@contextmanager
def advising(database: str) -> Iterator[None]:
    """Say with an error about the table how it is made."""
    try:
        yield
    except DatabaseError as error:
        if TABLE in str(error):
            error.add_note(f"The table is made by: manage.py migrate rota --database {database}")
        raise


def words_of(error: Exception) -> str:
    """What went wrong, with what was advised."""
    return " ".join([str(error).strip(), *getattr(error, "__notes__", ())])
