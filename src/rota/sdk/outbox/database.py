"""Databases of programs, through whatever DB-API driver they use."""

import sys
from collections.abc import Sequence
from typing import Any, Protocol

from rota.errors import InvalidInput


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
