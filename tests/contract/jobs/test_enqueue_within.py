"""Jobs as part of a transaction of the application's own."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import structs

from rota.errors import InvalidInput
from rota.model.job import JobState
from rota.store import Store
from rota.store.contract.jobs import Admission
from tests.contract.building import LATER, NOW, counts, enqueue, given, new_queue, spec, states_of

ON_A_FILE = pytest.mark.stores("sqlite-file")
"""Only a file has transactions that others can take part in."""


@pytest.fixture
def connection(store_url: str) -> Iterator[sqlite3.Connection]:
    """The application's own connection, with a table of its own and rows that are plain tuples."""
    with closing(sqlite3.connect(store_url.removeprefix("sqlite:///"), timeout=60)) as db:
        db.execute("CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY)")
        db.commit()
        yield db


@ON_A_FILE
def test_a_job_is_there_when_the_transaction_is_committed(store: Store, connection: sqlite3.Connection) -> None:
    queue = new_queue()
    ready, later = spec(queue), spec(queue, run_at=LATER)
    connection.execute("INSERT INTO orders VALUES (1)")

    answers = store.enqueue_jobs_within(connection, [ready, later], now=NOW)
    before = states_of(store, [ready.id, later.id])
    connection.commit()

    assert answers == [Admission(ready.id, True), Admission(later.id, True)]
    assert before == [None, None]
    assert states_of(store, [ready.id, later.id]) == [JobState.QUEUED, JobState.DELAYED]
    assert store.read_totals(queue).enqueued == 2
    assert given(store, queue) == [ready.id]


@ON_A_FILE
def test_the_application_s_rows_may_be_dicts(store: Store, connection: sqlite3.Connection) -> None:
    connection.row_factory = lambda cursor, row: dict(zip((one[0] for one in cursor.description), row, strict=True))
    job = spec(new_queue(), unique_key="k")

    first = store.enqueue_jobs_within(connection, [job], now=NOW)
    second = store.enqueue_jobs_within(connection, [spec(job.queue, unique_key="k")], now=NOW)
    connection.commit()

    assert [*first, *second] == [Admission(job.id, True), Admission(job.id, False)]
    assert connection.execute("SELECT 1 AS one").fetchone() == {"one": 1}


@ON_A_FILE
def test_an_expired_job_gives_its_unique_key_to_one_of_the_transaction(
    store: Store, connection: sqlite3.Connection
) -> None:
    old, new = (structs.replace(spec("q", unique_key="k"), expires_at=LATER) for _ in range(2))
    enqueue(store, old)

    answer = store.enqueue_jobs_within(connection, [new], now=LATER)
    connection.commit()

    assert answer == [Admission(new.id, True)]
    assert states_of(store, [old.id, new.id]) == [JobState.CANCELLED, JobState.QUEUED]


@ON_A_FILE
def test_a_job_never_was_if_the_transaction_is_rolled_back(store: Store, connection: sqlite3.Connection) -> None:
    queue = new_queue()
    connection.execute("INSERT INTO orders VALUES (1)")
    store.enqueue_jobs_within(connection, [spec(queue), spec(queue, series=("s",))], now=NOW)

    connection.rollback()

    assert counts(store, queue) == {}
    assert store.read_totals(queue).enqueued == 0
    assert store.count_series(queue, "s") == 0
    assert connection.execute("SELECT COUNT(*) FROM orders").fetchone() == (0,)


@ON_A_FILE
def test_either_all_jobs_of_a_call_or_none_are_part_of_the_transaction(
    store: Store, connection: sqlite3.Connection
) -> None:
    queue = new_queue()
    good, bad = spec(queue), spec(queue)
    connection.execute("INSERT INTO orders VALUES (1)")
    connection.execute(
        "CREATE TEMP TRIGGER full BEFORE INSERT ON main.jobs"
        f" WHEN NEW.id = '{bad.id}' BEGIN SELECT RAISE(FAIL, 'the disk is full'); END"
    )

    with pytest.raises(sqlite3.DatabaseError, match="the disk is full"):
        store.enqueue_jobs_within(connection, [good, bad], now=NOW)
    connection.commit()

    assert states_of(store, [good.id, bad.id]) == [None, None]
    assert store.read_totals(queue).enqueued == 0
    assert connection.execute("SELECT number FROM orders").fetchall() == [(1,)], "the application's own work stays"


@ON_A_FILE
def test_it_begins_the_transaction_that_was_not_begun(store: Store, connection: sqlite3.Connection) -> None:
    queue = new_queue()

    store.enqueue_jobs_within(connection, [spec(queue)], now=NOW)

    assert connection.in_transaction
    connection.rollback()
    assert counts(store, queue) == {}


@ON_A_FILE
def test_a_taken_unique_key_and_a_known_id_are_told(store: Store, connection: sqlite3.Connection) -> None:
    queue = new_queue()
    (there,) = enqueue(store, spec(queue, unique_key="k"))

    answers = store.enqueue_jobs_within(connection, [spec(queue, unique_key="k"), spec(queue, job_id=there)], now=NOW)
    connection.commit()

    assert answers == [Admission(there, False), Admission(there, False)]
    assert counts(store, queue) == {JobState.QUEUED: 1}


@ON_A_FILE
def test_a_connection_that_commits_each_statement_is_refused(store: Store, store_url: str) -> None:
    queue = new_queue()
    with closing(sqlite3.connect(store_url.removeprefix("sqlite:///"), isolation_level=None)) as db:
        with pytest.raises(InvalidInput, match="connection: commits each statement by itself; begin a transaction"):
            store.enqueue_jobs_within(db, [spec(queue)], now=NOW)
        db.execute("BEGIN")
        store.enqueue_jobs_within(db, [spec(queue)], now=NOW)
        db.execute("COMMIT")

    assert counts(store, queue) == {JobState.QUEUED: 1}


def test_a_connection_to_something_else_is_refused(store: Store, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as other, closing(sqlite3.connect(":memory:")) as memory:
        for connection in (other, memory, object()):
            with pytest.raises(InvalidInput, match=r"^connection: .*use an outbox$"):
                store.enqueue_jobs_within(connection, [spec(new_queue())], now=NOW)
