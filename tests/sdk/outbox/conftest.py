"""Databases of an application, and an app on an empty store."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from rota import create_outbox
from tests.postgres import PostgresServer, postgres_programs
from tests.sdk.tasks.conftest import app, folder, make_app

__all__ = ["app", "folder", "make_app"]

Connect = Callable[[], Any]
_MISSING = "no PostgreSQL: run scripts/ensure-postgres, or name the folder of its programs in ROTA_TEST_POSTGRES"


@pytest.fixture(scope="session")
def postgres_address() -> Iterator[str]:
    """Of a server for all tests of this process. In CI a missing one is a failure."""
    programs = postgres_programs()
    if programs is None:
        if os.environ.get("CI") == "true":
            pytest.fail(_MISSING)
        pytest.skip(_MISSING)
    with PostgresServer(programs) as server:
        yield server.address


@pytest.fixture(params=["postgres", "sqlite"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database of the application, in which there is an empty outbox and an empty table."""
    address = request.getfixturevalue("postgres_address") if request.param == "postgres" else f"{tmp_path}/shop.db"
    with closing(connect_to(address)) as db:
        for table in ("orders", "rota_outbox"):
            db.cursor().execute(f"DROP TABLE IF EXISTS {table}")
        db.cursor().execute("CREATE TABLE orders (number INTEGER)")
        create_outbox(db)
        create_outbox(db)
        db.commit()
    return str(address)


@pytest.fixture
def connect(database: str) -> Iterator[Connect]:
    """Opens connections to the application's database, which are closed after the test."""
    with ExitStack() as opened:
        yield lambda: opened.enter_context(closing(connect_to(database)))


def connect_to(address: str) -> Any:
    if address.startswith("host="):
        return psycopg.connect(address)
    return sqlite3.connect(address, timeout=60, check_same_thread=False)
