"""A node's own line to a SQLite file: it waits for nobody in its process, and not long for others."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from rota.errors import StoreUnavailable
from rota.model.node import Node
from rota.store.contract.claims import Lifeline
from rota.store.sqlite.database import database
from rota.store.sqlite.store import SqliteStore
from tests.contract.racing import error_of

PATIENCE_S = 0.1
SIGNS_OF_LIFE: list[Callable[[Lifeline], object]] = [
    lambda line: line.renew_claims("queue", "node", {}),
    lambda line: line.beat(Node(uuid="node", node_type="queue", last_ping=0)),
]
each_sign = pytest.mark.parametrize("call", SIGNS_OF_LIFE, ids=["renew_claims", "beat"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rota.db"


@pytest.fixture
def store(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    """One whose other calls wait for a foreign lock as long as SQLite can."""
    monkeypatch.setattr(database, "_BUSY_TIMEOUT_MS", 2_000_000_000)
    with closing(SqliteStore.open(f"sqlite:///{path}")) as opened:
        yield opened


@each_sign
def test_a_sign_of_life_waits_for_a_foreign_lock_no_longer_than_it_may(
    store: SqliteStore, path: Path, call: Callable[[Lifeline], object]
) -> None:
    with (
        closing(store.lifeline(timeout_s=PATIENCE_S)) as line,
        closing(sqlite3.connect(path, isolation_level=None)) as foreign,
    ):
        foreign.execute("BEGIN IMMEDIATE")

        error = error_of(lambda: call(line), free=lambda: foreign.execute("ROLLBACK"))

    assert isinstance(error, StoreUnavailable)


@each_sign
def test_a_sign_of_life_does_not_wait_behind_other_writes_of_its_process(
    store: SqliteStore, call: Callable[[Lifeline], object]
) -> None:
    with closing(store.lifeline(timeout_s=PATIENCE_S)) as line, ExitStack() as writing:
        writing.enter_context(store._database.write())

        error = error_of(lambda: call(line), free=writing.close)

    assert isinstance(error, StoreUnavailable)


@each_sign
def test_a_sign_of_life_is_given_when_the_file_is_free(
    store: SqliteStore, path: Path, call: Callable[[Lifeline], object]
) -> None:
    with closing(store.lifeline(timeout_s=60)) as line, closing(sqlite3.connect(path, isolation_level=None)) as foreign:
        foreign.execute("BEGIN IMMEDIATE")
        foreign.execute("COMMIT")

        assert error_of(lambda: call(line)) is None
