"""Forgetting the history of a SQLite store: nobody who writes waits for more than a small piece of it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

import pytest

from rota.model.job import JobState
from rota.model.limits import MAX_LOG_MESSAGE_BYTES
from rota.store.sqlite.database.database import Database
from rota.store.sqlite.nouns import history
from rota.store.sqlite.store import SqliteStore
from tests.contract.building import (
    NOW,
    claim_all,
    claim_one,
    counts,
    ended_job,
    enqueue,
    finish,
    log_batch,
    messages_of,
    new_queue,
    spec,
    succeed,
)

LONG_AGO = NOW + 1
COUNTED = 1
"""A row that is changed in each step: how many jobs of a state were forgotten."""


class MeasuredDatabase(Database):
    """Remembers how many rows each transaction changed, and how many steps it took SQLite."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.changes: list[int] = []
        self.steps: list[int] = []

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        with super().write() as db:
            before, steps = db.total_changes, count()
            db.set_progress_handler(lambda: next(steps) < 0, 1)
            yield db
            db.set_progress_handler(None, 0)
            self.changes.append(db.total_changes - before)
            self.steps.append(next(steps))


@pytest.fixture
def database(tmp_path: Path) -> MeasuredDatabase:
    return MeasuredDatabase(f"{tmp_path}/rota.db").open()


@pytest.fixture
def store(database: MeasuredDatabase) -> Iterator[SqliteStore]:
    opened = SqliteStore(database)
    yield opened
    opened.close()


def test_a_long_history_is_forgotten_in_small_transactions(store: SqliteStore, database: MeasuredDatabase) -> None:
    queue = new_queue()
    enqueue(store, *(spec(queue) for _ in range(1_050)))
    finish(store, *(succeed(held) for held in claim_all(store, queue)))
    database.changes.clear()

    assert store.trim_history(queue, ended_before=0, keep=50, limit=1_000) == 1_000

    assert max(database.changes) <= history.STEP_JOBS + 1
    assert counts(store, queue) == {JobState.SUCCEEDED: 50}


def test_a_long_log_is_forgotten_in_small_transactions(store: SqliteStore, database: MeasuredDatabase) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    held = claim_one(store, queue)
    store.append_logs([log_batch(held, "line") for _ in range(3 * history.STEP_LINES)])
    finish(store, succeed(held))
    database.changes.clear()

    assert store.trim_history(queue, ended_before=LONG_AGO, keep=0, limit=1_000) == 1

    assert max(database.changes) <= history.STEP_LINES + 2
    assert sum(database.changes) >= 3 * history.STEP_LINES
    assert messages_of(store, held.spec.id) == []


def test_long_lines_are_forgotten_in_smaller_numbers(store: SqliteStore, database: MeasuredDatabase) -> None:
    queue, lines = new_queue(), 200
    enqueue(store, spec(queue))
    held = claim_one(store, queue)
    store.append_logs([log_batch(held, *("x" * MAX_LOG_MESSAGE_BYTES for _ in range(lines)))])
    finish(store, succeed(held))
    database.changes.clear()

    assert store.delete_jobs([held.spec.id]) == [True]

    assert max(database.changes) <= history.STEP_BYTES // MAX_LOG_MESSAGE_BYTES + 2
    assert messages_of(store, held.spec.id) == []


@pytest.mark.parametrize("way", ["trim", "delete"])
def test_large_jobs_are_forgotten_in_smaller_numbers(store: SqliteStore, database: MeasuredDatabase, way: str) -> None:
    queue, jobs, result = new_queue(), history.STEP_JOBS // 2, "x" * (history.STEP_BYTES // 4)
    ids = enqueue(store, *(spec(queue) for _ in range(jobs)))
    finish(store, *(succeed(held, NOW, result) for held in claim_all(store, queue)))
    database.changes.clear()

    if way == "trim":
        assert store.trim_history(queue, ended_before=LONG_AGO, keep=0, limit=1_000) == jobs
    else:
        assert store.delete_jobs(ids) == [True] * jobs

    assert max(database.changes) <= 3 + COUNTED
    assert counts(store, queue) == {}


def test_a_job_that_is_larger_than_a_step_is_a_step_of_its_own(store: SqliteStore, database: MeasuredDatabase) -> None:
    queue = new_queue()
    enqueue(store, spec(queue), spec(queue))
    held = claim_all(store, queue)
    store.append_logs([log_batch(one, "line") for one in held])
    finish(store, *(succeed(one, NOW, "x" * history.STEP_BYTES) for one in held))
    database.changes.clear()

    assert store.trim_history(queue, ended_before=LONG_AGO, keep=0, limit=1_000) == 2

    lines, one_job = 2, 1 + COUNTED
    assert [changes for changes in database.changes if changes] == [lines, one_job, one_job]


@pytest.fixture
def few_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs that are too long for a call are then soon written."""
    monkeypatch.setattr(history, "CALL_PIECES", 10)


@pytest.mark.usefixtures("few_pieces")
def test_what_comes_behind_long_logs_is_left_to_the_next_call(store: SqliteStore) -> None:
    queue, jobs = new_queue(), 2 * history.STEP_JOBS
    lines = history.STEP_LINES * history.CALL_PIECES // history.STEP_JOBS + 1
    enqueue(store, *(spec(queue) for _ in range(jobs)))
    held = claim_all(store, queue)
    store.append_logs([log_batch(one, "line") for one in held for _ in range(lines)])
    finish(store, *(succeed(one) for one in held))

    trimmed = [store.trim_history(queue, ended_before=LONG_AGO, keep=0, limit=1_000) for _ in range(3)]

    assert trimmed == [jobs // 2, jobs // 2, 0]


@pytest.mark.usefixtures("few_pieces")
def test_long_logs_are_forgotten_a_bounded_number_of_pieces_at_a_time(
    store: SqliteStore, database: MeasuredDatabase
) -> None:
    """Though the jobs that are asked for together have more; those without an answer are left to the next call."""
    queue, jobs = new_queue(), 2 * history.STEP_JOBS
    lines = history.STEP_LINES * history.CALL_PIECES // history.STEP_JOBS + 1
    enqueue(store, *(spec(queue) for _ in range(jobs)))
    held = claim_all(store, queue)
    store.append_logs([log_batch(one, "line") for one in held for _ in range(lines)])
    finish(store, *(succeed(one) for one in held))
    left = [one.spec.id for one in held]

    answers, pieces = [], []
    for _ in range(3):
        database.changes.clear()
        answers.append(store.delete_logs(left))
        pieces.append(len(database.changes))
        left = left[len(answers[-1]) :]

    assert answers == [[], [True] * history.STEP_JOBS, [True] * history.STEP_JOBS]
    assert max(pieces) <= history.CALL_PIECES + jobs // history.STEP_JOBS
    assert [messages_of(store, one.spec.id) for one in held] == [[]] * jobs


def test_what_a_piece_of_a_log_leaves_to_the_next_is_not_even_read(
    store: SqliteStore, database: MeasuredDatabase
) -> None:
    """Others wait for its end, and most of the time that it took was for reading long lines."""
    queue = new_queue()
    enqueue(store, spec(queue), spec(queue))
    long_line, most = "x" * MAX_LOG_MESSAGE_BYTES, []
    for held, times in zip(claim_all(store, queue), (2, 20), strict=True):
        lines = times * history.STEP_BYTES // MAX_LOG_MESSAGE_BYTES
        store.append_logs([log_batch(held, *[long_line] * lines)])
        finish(store, succeed(held))
        database.steps.clear()
        store.delete_logs([held.spec.id])
        most.append(max(database.steps))

    assert most[1] < 2 * most[0]


def test_a_file_of_an_older_layout_knows_how_many_ended_jobs_it_has(tmp_path: Path) -> None:
    path, queue = tmp_path / "rota.db", new_queue()
    with closing(SqliteStore(Database(str(path)).open())) as store:
        for state in (JobState.SUCCEEDED, JobState.FAILED, JobState.FAILED):
            ended_job(store, queue, state)
        store.delete_jobs([ended_job(store, queue, JobState.SUCCEEDED)])
        expected = store.count_jobs(queue)
    with closing(sqlite3.connect(path)) as database:
        for later in (
            "DROP TABLE forgotten",
            "DROP TABLE audit",
            "ALTER TABLE jobs DROP COLUMN past",
            "DROP TABLE series",
            "DROP TABLE topics",
            "DROP TABLE topic_records",
            "DROP TABLE event_records",
            "DROP TABLE rates",
            "DROP INDEX jobs_limited",
            "DROP INDEX jobs_limited_order",
            "DROP INDEX jobs_ready",
            "CREATE INDEX jobs_ready ON jobs (queue, rank, id) WHERE state = 'queued' AND held = 0",
            "ALTER TABLE jobs DROP COLUMN rate_key",
            "ALTER TABLE jobs DROP COLUMN limited",
            "DROP INDEX schedules_queue",
            "DROP INDEX configurations_queue",
        ):
            database.execute(later)
        database.execute("PRAGMA user_version = 5")

    with closing(SqliteStore(Database(str(path)).open())) as store:
        assert store.count_jobs(queue) == expected
        store.retry_jobs([ended_job(store, queue, JobState.FAILED)], now=NOW)
        assert counts(store, queue) == {JobState.QUEUED: 1, JobState.SUCCEEDED: 1, JobState.FAILED: 2}
