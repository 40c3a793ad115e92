"""Jobs of tasks as part of a transaction of the program's own."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from rota import InvalidInput, Rota
from rota.errors import Conflict, NotFound
from tests.sdk.tasks import functions
from tests.sdk.tasks.working import running_worker

pytestmark = pytest.mark.stores("sqlite-file")


@pytest.fixture
def connection(app: Rota, store_url: str) -> Iterator[sqlite3.Connection]:
    """The program's own connection to the store's file, in which it has a table of its own."""
    with closing(sqlite3.connect(store_url.removeprefix("sqlite:///"), timeout=60)) as db:
        db.execute("CREATE TABLE orders (number INTEGER)")
        db.commit()
        yield db


def test_a_waiting_worker_runs_the_job_when_the_transaction_is_committed(
    app: Rota, connection: sqlite3.Connection
) -> None:
    add = app.task(functions.add)
    app.declare()

    with running_worker(app):
        add.enqueue(0).get(timeout=60)  # from now on it waits
        with connection:
            connection.execute("INSERT INTO orders VALUES (1)")
            handle = add.options(connection=connection, priority=3).enqueue(2, b=3)

        assert handle.get(timeout=60) == 5


def test_many_jobs_are_undone_with_the_transaction(app: Rota, connection: sqlite3.Connection) -> None:
    add = app.task(functions.add)

    handles = add.options(connection=connection).map([(1,), (2,)])
    handles.append(asyncio.run(add.options(connection=connection).aenqueue(3)))
    connection.rollback()

    for handle in handles:
        with pytest.raises(NotFound):
            _ = handle.status


def test_tasks_that_are_not_in_the_store_yet_are_told_instead_of_waited_for(
    app: Rota, connection: sqlite3.Connection
) -> None:
    add = app.task(functions.add)
    connection.execute("INSERT INTO orders VALUES (1)")

    with pytest.raises(Conflict, match=r"call app\.declare\(\) before it begins"):
        add.options(connection=connection).enqueue(1)

    connection.rollback()
    app.declare()
    connection.execute("INSERT INTO orders VALUES (1)")
    assert add.options(connection=connection).enqueue(1).is_new


def test_a_queue_that_is_not_in_the_store_yet_is_told_instead_of_waited_for(
    app: Rota, connection: sqlite3.Connection
) -> None:
    add = app.task(functions.add)
    app.declare()
    connection.execute("INSERT INTO orders VALUES (1)")

    with pytest.raises(Conflict, match=r"the queue 'mail' is not in the store yet.*rota node-type create mail"):
        add.options(connection=connection, queue="mail").enqueue(1)

    connection.rollback()
    assert add.options(connection=connection, queue="mail").enqueue(1).is_new  # nothing was begun: it is made first
    connection.commit()
    connection.execute("INSERT INTO orders VALUES (1)")
    assert add.options(connection=connection, queue="mail").enqueue(1).is_new


def test_arguments_are_checked_as_ever(app: Rota, connection: sqlite3.Connection) -> None:
    with pytest.raises(InvalidInput, match="missing a required argument: 'a'"):
        app.task(functions.add).options(connection=connection).enqueue()  # type: ignore[call-arg]
