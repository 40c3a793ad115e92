"""Brings an older file up to date."""

import re
import sqlite3
from collections.abc import Iterator
from importlib import resources

from rota.errors import StoreRefused


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Run the numbered scripts that a file has not seen yet, all in one transaction; refuse a newer file."""
    scripts = _scripts()
    newest = max(scripts)
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version > newest:
            raise StoreRefused(
                f"{path} was written by a newer Rota (layout {version}, this one knows {newest}); upgrade Rota"
            )
        for number in sorted(number for number in scripts if number > version):
            for statement in _statements(scripts[number]):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _scripts() -> dict[int, str]:
    folder = resources.files("rota.store.sqlite").joinpath("migrations")
    return {int(file.name[:3]): file.read_text() for file in folder.iterdir() if file.name.endswith(".sql")}


def _statements(script: str) -> Iterator[str]:
    bare = re.sub(r"^\s*--.*$", "", script, flags=re.MULTILINE)
    return (statement for part in bare.split(";") if (statement := part.strip()))
