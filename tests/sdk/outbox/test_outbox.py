"""Jobs as rows in the application's own database, which a relay moves into the store, each once."""

import json
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rota import InvalidInput, Rota, relay_outbox
from rota.engine.jobs.intake import JobRequest
from rota.errors import NotFound
from rota.model.job import JobState
from rota.sdk.outbox.relay import enqueue_requests, relay_rows
from tests.sdk.outbox.conftest import Connect
from tests.sdk.tasks import functions

PROJECT = Path(__file__).parents[3]
pytestmark = pytest.mark.stores("sqlite-file", "redis")


def rows_of(connection: Any, what: str = "id") -> list[Any]:
    cursor = connection.cursor()
    cursor.execute(f"SELECT {what} FROM rota_outbox ORDER BY id")
    found = [row[0] for row in cursor.fetchall()]
    connection.rollback()
    return found


def test_a_job_is_made_of_a_committed_row(app: Rota, connect: Connect) -> None:
    add, db = app.task(functions.add), connect()
    db.cursor().execute("INSERT INTO orders VALUES (1)")
    handle = add.options(outbox=db, priority=7).enqueue(2, b=3)
    db.commit()
    with pytest.raises(NotFound):
        _ = handle.status

    assert relay_outbox(connect(), app) == 1

    app.run_worker(burst=True)
    assert (handle.result, handle.job.spec.priority) == (5, 7)
    assert rows_of(db) == []
    assert relay_outbox(connect(), app) == 0


def test_a_queue_that_nobody_has_defined_is_made_by_the_relay(app: Rota, connect: Connect) -> None:
    add, db = app.task(functions.add), connect()
    app.declare()
    handle = add.options(outbox=db, queue="mail").enqueue(2, b=3)
    db.commit()
    assert "mail" not in [one.name for one in app.engine.definitions.node_types()]

    assert relay_outbox(connect(), app) == 1

    app.run_worker(burst=True, queue="mail")
    assert handle.result == 5


def test_nothing_comes_of_a_transaction_that_is_rolled_back(app: Rota, connect: Connect) -> None:
    add, db = app.task(functions.add), connect()
    handles = add.options(outbox=db).map([(1,), (2,)])
    db.rollback()

    assert relay_outbox(connect(), app) == 0
    for handle in handles:
        with pytest.raises(NotFound):
            _ = handle.status


def test_more_rows_than_are_moved_at_a_time_become_jobs_in_order(app: Rota, connect: Connect) -> None:
    add, db = app.task(functions.add), connect()
    handles = add.options(outbox=db).map([(number,) for number in range(1_100)])
    db.commit()

    assert relay_outbox(connect(), app) == 1_100

    jobs = app.engine.store.find_jobs([handle.id for handle in handles])
    assert [job and job.spec.arguments["a"] for job in jobs] == list(range(1_100))


def test_several_relays_make_each_job_once(app: Rota, connect: Connect) -> None:
    add, db = app.task(functions.add), connect()
    handles = add.options(outbox=db).map([(number,) for number in range(600)])
    db.commit()
    errors: list[BaseException] = []

    def relay(connection: Any) -> None:
        try:
            relay_outbox(connection, app)
        except Exception as error:  # a test looks at all of them
            errors.append(error)

    relays = [threading.Thread(target=relay, args=[connect()]) for _ in range(4)]
    for one in relays:
        one.start()
    for one in relays:
        one.join()

    assert errors == []
    assert rows_of(db) == []
    assert app.engine.store.read_totals(handles[0].job.spec.queue).enqueued == 600
    assert {handle.status for handle in handles} == {JobState.QUEUED}


def test_a_relay_that_is_killed_between_the_two_doubles_and_loses_nothing(
    app: Rota, connect: Connect, database: str, store_url: str
) -> None:
    add, db = app.task(functions.add), connect()
    handles = add.options(outbox=db).map([(1,), (2,), (3,)])
    db.commit()

    words = [sys.executable, "-m", "tests.sdk.outbox.killed_relay", store_url, database]
    assert subprocess.run(words, check=False, cwd=PROJECT).returncode == -signal.SIGKILL
    assert len(rows_of(db)) == 3
    assert [handle.status for handle in handles] == [JobState.QUEUED] * 3
    app.run_worker(burst=True)

    assert relay_outbox(connect(), app) == 3
    assert [handle.result for handle in handles] == [2, 3, 4]
    assert app.engine.store.read_totals(handles[0].job.spec.queue).enqueued == 3


def test_a_row_that_cannot_become_a_job_says_why_and_stops_nobody(app: Rota, connect: Connect) -> None:
    add, db = app.task(functions.add), connect()
    bad = add.options(outbox=db, priority=1 << 40).enqueue(1)
    good = add.options(outbox=db).enqueue(2)
    db.cursor().execute("INSERT INTO rota_outbox (id, request) VALUES ('broken', '{\"job\": 1}')")
    db.commit()

    assert relay_outbox(connect(), app) == 1

    assert good.status is JobState.QUEUED
    assert rows_of(db) == [bad.id, "broken"]
    reasons = rows_of(db, "error")
    assert reasons[0].startswith("priority: must be from -10000 to 10000")
    assert reasons[1].startswith("request: ")
    assert relay_outbox(connect(), app) == 0


@pytest.mark.parametrize("has_bad_one", [False, True])
def test_rows_whose_jobs_must_wait_stay_for_the_next_relay(app: Rota, connect: Connect, has_bad_one: bool) -> None:
    add, db = app.task(functions.add), connect()
    app.declare()
    waiting = add.options(outbox=db).enqueue(1)
    ready = add.options(outbox=db).enqueue(2)
    bad = [add.options(outbox=db, priority=1 << 40).enqueue(3).id] if has_bad_one else []
    db.commit()

    def hand_in(requests: Sequence[JobRequest]) -> list[str]:
        enqueue_requests(app, [one for one in requests if one.id != waiting.id])
        return [waiting.id for one in requests if one.id == waiting.id]

    assert relay_rows(connect(), hand_in) == 1
    assert (rows_of(db), rows_of(db, "error IS NULL")[0]) == ([waiting.id, *bad], True)
    assert ready.status is JobState.QUEUED

    assert relay_outbox(connect(), app) == 1
    assert waiting.status is JobState.QUEUED


def test_a_driver_that_marks_values_in_another_way_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or its statements would be wrong, and the transaction of the program with them."""
    driver = ModuleType("a_driver")
    driver.paramstyle = "named"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "a_driver", driver)
    kind = type("Connection", (UnknownDatabase,), {"__module__": "a_driver.connections"})

    with closing(sqlite3.connect(":memory:")) as db:
        named = kind(db)
        with pytest.raises(InvalidInput, match="marks values by 'named'; known are qmark and format"):
            relay_rows(named, lambda requests: ())


class UnknownDatabase:
    """A connection that does not tell which database it is to; values are marked by `%s`, as in most."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._mark = "?" if isinstance(connection, sqlite3.Connection) else "%s"
        self.commit, self.rollback = connection.commit, connection.rollback

    def cursor(self) -> "UnknownCursor":
        return UnknownCursor(self._connection.cursor(), self._mark)


class UnknownCursor:
    def __init__(self, cursor: Any, mark: str) -> None:
        self._cursor, self._mark = cursor, mark
        self.fetchall = cursor.fetchall

    def execute(self, sql: str, values: Sequence[object] = ()) -> None:
        assert "CONFLICT" not in sql
        self._cursor.execute(sql.replace("%s", self._mark), values)

    def executemany(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        assert "CONFLICT" not in sql
        self._cursor.executemany(sql.replace("%s", self._mark), rows)


@pytest.mark.parametrize("is_known", [True, False])
def test_an_id_of_ones_own_that_is_written_twice_makes_one_job(app: Rota, connect: Connect, is_known: bool) -> None:
    add = app.task(functions.add)
    db = connect() if is_known else UnknownDatabase(connect())
    own_id = "0190b0c0-0000-7000-8000-000000000001"

    first = add.options(outbox=db, id=own_id).enqueue(1)
    again = add.options(outbox=db, id=own_id).enqueue(2)
    db.commit()
    in_another = add.options(outbox=db, id=own_id).enqueue(3)
    other = add.options(outbox=db).enqueue(4)
    db.commit()

    assert first.id == again.id == in_another.id == own_id
    assert relay_outbox(connect(), app) == 2
    assert (first.job.spec.arguments["a"], other.job.spec.arguments["a"]) == (1, 4)


def test_an_id_that_two_transactions_write_at_once_makes_one_job(app: Rota, connect: Connect) -> None:
    add, first, second = app.task(functions.add), connect(), connect()
    own_id = "0190b0c0-0000-7000-8000-000000000001"
    add.options(outbox=first, id=own_id).enqueue(1)
    errors: list[BaseException] = []

    def write_too() -> None:
        try:
            add.options(outbox=second, id=own_id).enqueue(2)  # waits for the first one
            second.commit()
        except Exception as error:  # a test looks at all of them
            errors.append(error)

    other = threading.Thread(target=write_too)
    other.start()
    first.commit()
    other.join()

    assert errors == []
    assert relay_outbox(connect(), app) == 1


def test_a_relay_that_has_nothing_left_to_do_leaves_no_transaction_open(app: Rota, connect: Connect) -> None:
    """It would keep the database from tidying up for as long as the relay waits."""
    add, db, relaying = app.task(functions.add), connect(), connect()
    add.options(outbox=db).enqueue(1)
    db.commit()

    for _ in range(2):
        relay_outbox(relaying, app)
        is_open = (
            relaying.in_transaction if isinstance(relaying, sqlite3.Connection) else relaying.info.transaction_status
        )
        assert not is_open


def test_a_delay_counts_from_the_enqueue(app: Rota, connect: Connect) -> None:
    add, db = app.task(functions.add), connect()
    handle = add.options(outbox=db, delay="1h", expires="2h").enqueue(1)
    db.commit()
    (request,) = (json.loads(text) for text in rows_of(db, "request"))

    relay_outbox(connect(), app)

    spec = handle.job.spec
    assert request["expires_at"] - request["run_at"] == 3_600_000
    assert (spec.run_at, spec.expires_at) == (request["run_at"], request["expires_at"])


def test_arguments_that_json_cannot_carry_are_refused_at_once(app: Rota, connect: Connect) -> None:
    add, db = app.task(functions.add), connect()

    with pytest.raises(InvalidInput, match=r"arguments\.a: is of the type object"):
        add.options(outbox=db).enqueue(object())  # type: ignore[arg-type]

    db.commit()
    assert rows_of(db) == []
