"""Taking jobs in as part of a transaction of the application's own, whose tables are in the same file."""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from rota.errors import InvalidInput
from rota.model.job import JobSpec
from rota.store.contract.jobs import Admission
from rota.store.sqlite.nouns.jobs.admission import AwaitedEnds, admit
from rota.store.sqlite.nouns.jobs.rows import new_row
from rota.store.sqlite.nouns.queues.stats import count_up

_SAVEPOINT = "rota_enqueue"


class _NamedRows:
    """The application's connection, with rows that are read by name, whatever it makes of its own."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: object = ()) -> sqlite3.Cursor:
        return self._cursor().execute(sql, parameters)  # type: ignore[arg-type]

    def executemany(self, sql: str, parameters: object) -> sqlite3.Cursor:
        return self._cursor().executemany(sql, parameters)  # type: ignore[arg-type]

    def _cursor(self) -> sqlite3.Cursor:
        cursor = self._connection.cursor()
        cursor.row_factory = sqlite3.Row
        return cursor


def enqueue_within(
    connection: object, path: str, specs: Sequence[JobSpec], now: int, awaited_ends: AwaitedEnds
) -> list[Admission]:
    """Take jobs in with what else the connection's transaction does: they are there when it is committed."""
    checked = _check(connection, path)
    db = cast(sqlite3.Connection, _NamedRows(checked))
    with _savepoint(checked):
        admissions = [admit(db, spec, new_row(spec, now), now, awaited_ends) for spec in specs]
        pairs = zip(specs, admissions, strict=True)
        for queue, jobs in Counter(spec.queue for spec, admission in pairs if admission.is_new).items():
            count_up(db, queue, "enqueued", jobs, now)
    return admissions


def _check(connection: object, path: str) -> sqlite3.Connection:
    if not isinstance(connection, sqlite3.Connection):
        kind = f"{type(connection).__module__}.{type(connection).__qualname__}"
        raise InvalidInput("connection", f"must be a sqlite3.Connection to the store's file, got {kind}; use an outbox")
    databases = _NamedRows(connection).execute("PRAGMA database_list")
    file = next((row["file"] for row in databases if row["name"] == "main"), "")
    if not file or not Path(path).exists() or not Path(path).samefile(file):
        raise InvalidInput("connection", f"is to {file or 'memory'}, but the store is {path}; use an outbox")
    if not connection.in_transaction:
        _begin(connection)
    return connection


def _begin(connection: sqlite3.Connection) -> None:
    if connection.isolation_level is None or getattr(connection, "autocommit", None) is True:
        raise InvalidInput("connection", "commits each statement by itself; begin a transaction first")
    connection.execute("BEGIN IMMEDIATE")


@contextmanager
def _savepoint(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it, or nothing, whatever the application does after an error."""
    connection.execute(f"SAVEPOINT {_SAVEPOINT}")
    try:
        yield
    except BaseException:
        connection.execute(f"ROLLBACK TO {_SAVEPOINT}")
        raise
    finally:
        connection.execute(f"RELEASE {_SAVEPOINT}")
