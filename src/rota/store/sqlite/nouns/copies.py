"""Copies of the SQLite store: a queue as of one moment, and writing what was read elsewhere."""

import sqlite3
from collections.abc import Sequence
from functools import partial

from rota.model.events.event import Event
from rota.model.job import FINAL_STATES, Job
from rota.model.schedules.schedule import Schedule, ScheduleState
from rota.store.contract.copies import QueueCopy, refuse_claimed
from rota.store.contract.events import ConfigurationEntry
from rota.store.contract.queues import STATS_WORDS, Stats
from rota.store.records.codec import (
    decode_configuration,
    decode_configuration_state,
    decode_event,
    decode_schedule,
    decode_schedule_state,
)
from rota.store.sqlite.database.inserts import insert_rows
from rota.store.sqlite.database.noun import SqliteNoun
from rota.store.sqlite.database.queries import SQL
from rota.store.sqlite.nouns.events.outbox import put_outbox
from rota.store.sqlite.nouns.jobs.admission import insert_series
from rota.store.sqlite.nouns.jobs.rows import job_of, restored_row
from rota.store.sqlite.nouns.queues.lookup import is_paused
from rota.store.sqlite.nouns.queues.stats import read_stats


class SqliteCopies(SqliteNoun):
    """See `rota.store.contract.copies.CopyStore` for what each method promises."""

    def copy_queue(self, queue: str) -> QueueCopy:
        with self._database.read() as db:

            def rows(query: str) -> list[sqlite3.Row]:
                return db.execute(SQL[query], {"queue": queue}).fetchall()

            fence, totals = rows("copy_fence"), read_stats(db, queue, 0, 1)
            return QueueCopy(
                queue=queue,
                jobs=[job_of(row) for row in rows("copy_jobs")],
                ended=[row["id"] for row in rows("copy_ended")],
                schedules=[each for row in rows("copy_schedules") if (each := self._copied_schedule(row))],
                configurations=[one for row in rows("copy_configurations") if (one := self._copied_configuration(row))],
                outbox=[event for row in rows("copy_outbox") if (event := self._copied_event(row))],
                fence=fence[0]["number"] if fence else 0,
                totals=totals[0] if totals else Stats(),
                is_paused=is_paused(db, queue),
            )

    def _copied_schedule(self, row: sqlite3.Row) -> tuple[Schedule, ScheduleState] | None:
        return self._unreadable.read(
            "schedule", row["uuid"], lambda: (decode_schedule(row["body"]), decode_schedule_state(row["state"]))
        )

    def _copied_configuration(self, row: sqlite3.Row) -> ConfigurationEntry | None:
        def decode() -> ConfigurationEntry:
            return ConfigurationEntry(decode_configuration(row["body"]), decode_configuration_state(row["state"]))

        return self._unreadable.read("configuration", row["uuid"], decode)

    def _copied_event(self, row: sqlite3.Row) -> Event | None:
        return self._unreadable.read("event", row["event"], partial(decode_event, row["body"]))

    def restore_jobs(self, queue: str, jobs: Sequence[Job]) -> None:
        refuse_claimed(jobs)
        rows = [restored_row(job) for job in jobs]
        with self._database.write() as db:
            insert_rows(db, SQL["restore_job"], rows)
            for job in jobs:
                insert_series(db, job.spec)

    def restore_queue(self, copy: QueueCopy, minutes: Sequence[Stats]) -> None:
        queue = copy.queue
        with self._database.write() as db:
            for one in [copy.totals, *minutes]:
                _restore_counts(db, queue, one)
            for state in FINAL_STATES:
                row = {"queue": queue, "state": state, "ended": getattr(copy.totals, state)}
                db.execute(SQL["restore_forgotten"], row)
            if copy.fence:
                db.execute(SQL["restore_fence"], {"queue": queue, "number": copy.fence})
            for event in copy.outbox:
                put_outbox(db, queue, event)


def _restore_counts(db: sqlite3.Connection, queue: str, one: Stats) -> None:
    for word in sorted(STATS_WORDS):
        if jobs := getattr(one, word):
            db.execute(SQL["restore_count"], {"queue": queue, "minute": one.minute, "word": word, "jobs": jobs})
