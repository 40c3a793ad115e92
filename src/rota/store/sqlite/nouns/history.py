"""Ended jobs of the SQLite store: how many there are, and forgetting them.

SQLite has one writer at a time, so nothing here holds the write lock for long. Ended jobs are not counted: every end is
counted in the stats, and whatever takes an ended job away is counted here. Jobs are forgotten in many small
transactions, a long log in several, with a pause after each in which others may write.
"""

import heapq
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from typing import TypeVar

from rota.model.job import FINAL_STATES, JobState
from rota.store.sqlite.database.database import Database
from rota.store.sqlite.database.noun import SqliteNoun
from rota.store.sqlite.database.queries import SQL, json_array

STEP_JOBS = 100
STEP_LINES = 500
STEP_BYTES = 256 * 1024
"""What one transaction forgets at most: jobs, blocks of their logs, and bytes of both; more bytes only if a single one
has them. Where SQLite overwrites what is deleted, as Debian's does, each of these bytes is written, and synced with the
commit."""
CALL_PIECES = 200
"""Transactions that left something over, after which a call of `trim_history` or `delete_logs` leaves the rest to the
next one."""
_EVER = 1 << 62
_Item = TypeVar("_Item")


class SqliteHistory(SqliteNoun):
    """See `rota.store.contract.history.HistoryStore` for what each method promises."""

    def trim_history(self, queue: str, *, ended_before: int, keep: int, limit: int) -> int:
        with self._database.read() as db:
            surplus = min(sum(count_ended(db, queue).values()) - keep, limit)
            old = _oldest(db, queue, ended_before, limit)
            if len(old) < surplus:
                old = _oldest(db, queue, _EVER, surplus)
        count, pieces = 0, 0
        for some in _in_steps(old):
            forgotten, more_pieces = _forget(self._database, [job_id for _, job_id in some], some[-1][0])
            count, pieces = count + len(forgotten), pieces + more_pieces
            if pieces >= CALL_PIECES:
                break
        return count


def forget_jobs(database: Database, job_ids: Sequence[str]) -> set[str]:
    """Forget those of some jobs that are over, with their logs; returns which these were."""
    forgotten: set[str] = set()
    for some in _in_steps(job_ids):
        forgotten |= _forget(database, some, _EVER)[0]
    return forgotten


def forget_logs(database: Database, job_ids: Sequence[str]) -> list[bool]:
    """Forget the logs of those of some jobs that are over; tells of each whether it is. Those at the end that have no
    answer are left to the next call."""
    answers: list[bool] = []
    pieces = 0
    for some in _in_steps(job_ids):
        while (ended := _forget_logs_step(database, some)) is None:
            pieces += 1
            if pieces >= CALL_PIECES:
                return answers
            database.give_way()
        answers += [job_id in ended for job_id in some]
    return answers


def count_ended(db: sqlite3.Connection, queue: str) -> dict[JobState, int]:
    """How many jobs of a queue are over, by state."""
    found = {row["state"]: row["jobs"] for row in db.execute(SQL["count_ended"], {"queue": queue})}
    return {state: found.get(state, 0) for state in sorted(FINAL_STATES)}


def count_forgotten(db: sqlite3.Connection, ended: Iterable[tuple[str, str]]) -> None:
    """Ended jobs, each a queue and a state, are over no more: forgotten, or brought back."""
    for (queue, state), some in groupby(sorted(ended)):
        db.execute(SQL["count_forgotten"], {"queue": queue, "state": state, "jobs": len(list(some))})


def _in_steps(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    return (items[start : start + STEP_JOBS] for start in range(0, len(items), STEP_JOBS))


def _forget(database: Database, job_ids: Sequence[str], ended_until: int) -> tuple[set[str], int]:
    """Forget jobs that ended by then: those that there were, and how many steps left something over."""
    forgotten, is_done = _forget_step(database, job_ids, ended_until)
    pieces = 0
    while not is_done:
        pieces += 1
        database.give_way()
        more, is_done = _forget_step(database, job_ids, ended_until)
        forgotten |= more
    if len(job_ids) == STEP_JOBS:  # more may follow
        database.give_way()
    return forgotten, pieces


def _forget_step(database: Database, job_ids: Sequence[str], ended_until: int) -> tuple[set[str], bool]:
    """Forget jobs that ended by then, their logs first: those that it forgot, and whether nothing is left over."""
    with database.write() as db:
        ended = db.execute(SQL["ended_jobs"], {"ids": json_array(job_ids), "until": ended_until}).fetchall()
        size, are_all = _delete_lines(db, json_array([row["id"] for row in ended]))
        some = _within_step(ended, size) if are_all else []
        ids = json_array([row["id"] for row in some])
        db.execute(SQL["delete_jobs"], {"ids": ids})
        db.execute(SQL["delete_from_series"], {"ids": ids})
        count_forgotten(db, ((row["queue"], row["state"]) for row in some))
        database.count_bytes(size + sum(row["bytes"] for row in some))
    return {row["id"] for row in some}, len(some) == len(ended)


def _within_step(jobs: Iterable[sqlite3.Row], size: int) -> list[sqlite3.Row]:
    """The first jobs that fit into a step which has forgotten so many bytes; one at least if it has forgotten none."""
    some = []
    for job in jobs:
        if size and size + job["bytes"] > STEP_BYTES:
            break
        size += job["bytes"]
        some.append(job)
    return some


def _forget_logs_step(database: Database, job_ids: Sequence[str]) -> set[str] | None:
    """Forget lines of jobs that are over; those that there were, or None if their logs take another step."""
    with database.write() as db:
        ended = db.execute(SQL["ended_jobs"], {"ids": json_array(job_ids), "until": _EVER}).fetchall()
        ids = [str(row["id"]) for row in ended]
        size, are_all = _delete_lines(db, json_array(ids))
        database.count_bytes(size)
        return set(ids) if are_all else None


def _delete_lines(db: sqlite3.Connection, ids: str) -> tuple[int, bool]:
    """Forget the first lines of the logs of some jobs, a bounded number; how many bytes, and whether these were all."""
    last_positions: dict[str, int] = {}
    size, are_all = 0, True
    # Read one by one: a line that is left to the next step may be long, and others wait for the end of this one.
    with closing(db.execute(SQL["first_lines"], {"ids": ids, "limit": STEP_LINES + 1})) as lines:
        for taken, line in enumerate(lines):
            if taken == STEP_LINES or (taken and size + line["bytes"] > STEP_BYTES):
                are_all = False
                break
            size += line["bytes"]
            last_positions[line["job_id"]] = line["position"]
    db.executemany(SQL["delete_lines"], list(last_positions.items()))
    return size, are_all


def _oldest(db: sqlite3.Connection, queue: str, before: int, limit: int) -> list[tuple[int, str]]:
    """When the first jobs ended that ended before an instant, and their ids, in this order."""
    conditions = {"queue": queue, "before": before, "limit": limit}
    rows = [
        (int(row["ended_at"]), str(row["id"]))
        for state in FINAL_STATES
        for row in db.execute(SQL["trim_by_age"], {**conditions, "state": state})
    ]
    return heapq.nsmallest(limit, rows)
