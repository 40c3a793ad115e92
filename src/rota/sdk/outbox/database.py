"""Databases of programs, through whatever DB-API driver they use."""

import sys
from collections.abc import Sequence
from typing import Any, Protocol

from rota.errors import InvalidInput

_DRIVERS = frozenset({"sqlite3", "psycopg", "psycopg2", "pg8000"})
_VENDORS = frozenset({"sqlite", "postgresql"})


class DatabaseConnection(Protocol):
    """What a connection of any DB-API driver can do."""

    def cursor(self) -> Any: ...

    def commit(self) -> object: ...

    def rollback(self) -> object: ...


def run_statement(connection: DatabaseConnection, sql: str, *rows: Sequence[object]) -> Any:
    """Run a statement on a new cursor, once for each row of values, which are marked as the driver wants it."""
    cursor = connection.cursor()
    if "?" not in sql:
        cursor.execute(sql)
    elif rows:
        cursor.executemany(_marked(connection, sql), rows)
    return cursor


def find_rows(connection: DatabaseConnection, sql: str, values: Sequence[object]) -> list[Sequence[Any]]:
    """The rows that a query with these values finds."""
    cursor = connection.cursor()
    cursor.execute(_marked(connection, sql), values)
    return list(cursor.fetchall())


def find_row(connection: DatabaseConnection, sql: str, values: Sequence[object]) -> Sequence[object] | None:
    """The first of them."""
    rows = find_rows(connection, sql, values)
    return rows[0] if rows else None


def knows_on_conflict(connection: DatabaseConnection) -> bool:
    """Whether this certainly is a database that takes `ON CONFLICT`: Django's connections say what they are to, others
    are known by their driver."""
    if getattr(connection, "vendor", None) in _VENDORS:
        return True
    return any(kind.__module__.partition(".")[0] in _DRIVERS for kind in type(connection).__mro__)


def _marked(connection: DatabaseConnection, sql: str) -> str:
    return sql if _style_of(connection) == "qmark" else sql.replace("?", "%s")


def _style_of(connection: DatabaseConnection) -> str:
    """How the driver of a connection wants values to be marked; a connection that says nothing is one like Django's."""
    for kind in type(connection).__mro__:
        style = getattr(sys.modules.get(kind.__module__.partition(".")[0]), "paramstyle", None)
        if style in ("qmark", "format", "pyformat"):
            return str(style)
        if style is not None:
            raise InvalidInput("outbox", f"{kind.__module__} marks values by {style!r}; known are qmark and format")
    return "format"
