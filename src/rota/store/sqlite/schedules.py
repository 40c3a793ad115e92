"""The schedules of the SQLite store."""

import sqlite3
from collections.abc import Sequence

from rota.errors import Conflict
from rota.model.schedule import Schedule, Tick, TickStatus
from rota.store.codec import decode_schedule, decode_schedule_state, decode_tick, encode
from rota.store.schedules import (
    MAX_TICKS,
    DueSchedules,
    Firing,
    ScheduleChange,
    ScheduleEntry,
    SchedulePage,
)
from rota.store.sqlite import stats
from rota.store.sqlite.database import Database
from rota.store.sqlite.queries import SQL
from rota.store.sqlite.rows import json_array, new_row
from rota.store.sqlite.waker import Changes

_TRIM_SLACK = 100
"""Ticks are trimmed when so many are over the limit, not one by one."""


class SqliteSchedules:
    """See `rota.store.schedules.ScheduleStore` for what each method promises."""

    _database: Database
    _changes: Changes

    def put_schedules(self, changes: Sequence[ScheduleChange]) -> list[bool]:
        with self._database.write() as db:
            return [_put(db, change) for change in changes]

    def delete_schedules(self, uuids: Sequence[str]) -> list[bool]:
        with self._database.write() as db:
            answers = [db.execute(SQL["delete_schedule"], {"uuid": uuid}).rowcount == 1 for uuid in uuids]
            db.execute(SQL["delete_ticks"], {"uuids": json_array(uuids)})
            return answers

    def find_schedules(self, uuids: Sequence[str]) -> list[ScheduleEntry | None]:
        with self._database.read() as db:
            rows = [db.execute(SQL["find_schedule"], {"uuid": uuid}).fetchone() for uuid in uuids]
            return [_entry(db, row) if row else None for row in rows]

    def schedule_uuid(self, name: str) -> str | None:
        with self._database.read() as db:
            row = db.execute(SQL["schedule_uuid"], {"name": name}).fetchone()
            return str(row["uuid"]) if row else None

    def list_schedules(self, *, limit: int, cursor: str | None = None, job_type: str | None = None) -> SchedulePage:
        conditions = {"after": cursor or "", "limit": limit, "job_type": job_type}
        query = "list_schedules" if job_type is None else "list_schedules_of_job_type"
        with self._database.read() as db:
            rows = db.execute(SQL[query], conditions).fetchall()
            entries = [_entry(db, row) for row in rows]
        return SchedulePage(entries, entries[-1].schedule.name if len(entries) == limit else None)

    def claim_due_schedules(self, queue: str, *, now: int, lease_ms: int, limit: int) -> DueSchedules:
        with self._database.read() as db:
            # Schedulers look often; with nothing due there is no need to write.
            due = _next_due(db, queue)
            if due is None or due > now:
                return DueSchedules([], due)
        with self._database.write() as db:
            rows = db.execute(SQL["due_schedules"], {"queue": queue, "now": now, "limit": limit}).fetchall()
            seqs = json_array([row["seq"] for row in rows])
            db.execute(SQL["claim_due_schedules"], {"seqs": seqs, "until": now + lease_ms})
            entries = [_entry(db, row) for row in rows]
            return DueSchedules(entries, _next_due(db, queue))

    def fire_schedules(self, queue: str, firings: Sequence[Firing], *, now: int) -> list[bool]:
        with self._database.write() as db:
            made = [self._fire(db, firing, now) for firing in firings]
            stats.count_up(db, queue, "enqueued", sum(one or 0 for one in made), now)
        self._changes.announce()
        return [one is not None for one in made]

    def _fire(self, db: sqlite3.Connection, firing: Firing, now: int) -> int | None:
        """How many jobs were made; None if it is no longer the expected version."""
        state = firing.state
        moved = {
            "uuid": firing.schedule.uuid,
            "expected": firing.expected,
            "version": state.version,
            "due": state.due,
            "state": encode(state),
        }
        if not db.execute(SQL["fire_schedule"], moved).rowcount:
            return None
        refused = {spec.id for spec in firing.specs if not db.execute(SQL["enqueue_jobs"], new_row(spec, now)).rowcount}
        rows = [_tick_row(firing.schedule, tick, refused) for tick in firing.ticks]
        db.executemany(SQL["put_tick"], rows)
        if firing.ticks and state.version % _TRIM_SLACK == 0:
            db.execute(SQL["trim_ticks"], {"schedule": firing.schedule.uuid, "keep": MAX_TICKS})
        return len(firing.specs) - len(refused)

    def list_ticks(self, uuid: str, *, limit: int, before: int | None = None) -> list[Tick]:
        conditions = {"schedule": uuid, "limit": limit, "before": 1 << 62 if before is None else before}
        with self._database.read() as db:
            return [decode_tick(row["body"]) for row in db.execute(SQL["list_ticks"], conditions)]


def _put(db: sqlite3.Connection, change: ScheduleChange) -> bool:
    schedule, state = change.schedule, change.state
    row = {
        "uuid": schedule.uuid,
        "name": schedule.name,
        "queue": schedule.queue,
        "job_type": schedule.job_type,
        "due": state.due,
        "version": state.version,
        "body": encode(schedule),
        "state": encode(state),
        "expected": change.expected,
    }
    query = "create_schedule" if change.expected is None else "replace_schedule"
    try:
        return db.execute(SQL[query], row).rowcount == 1
    except sqlite3.IntegrityError:
        raise Conflict(f"another schedule has the name {schedule.name!r}") from None


def _next_due(db: sqlite3.Connection, queue: str) -> int | None:
    row = db.execute(SQL["next_due_schedule"], {"queue": queue}).fetchone()
    return int(row["due"]) if row else None


def _entry(db: sqlite3.Connection, row: sqlite3.Row) -> ScheduleEntry:
    schedule, state = decode_schedule(row["body"]), decode_schedule_state(row["state"])
    if not state.jobs:
        return ScheduleEntry(schedule, state)
    states = {job["id"]: job["state"] for job in db.execute(SQL["states_of_jobs"], {"ids": json_array(state.jobs)})}
    live = tuple(job for job in state.jobs if states.get(job) in ("delayed", "queued", "running"))
    waiting = tuple(job for job in live if states[job] != "running")
    failed = tuple(job for job in state.jobs if states.get(job) == "failed")
    return ScheduleEntry(schedule, state, live, waiting, failed)


def _tick_row(schedule: Schedule, tick: Tick, refused: set[str]) -> dict[str, object]:
    return {"schedule": schedule.uuid, "nominal": tick.nominal, "body": encode(tick_as_made(tick, refused))}


def tick_as_made(tick: Tick, refused: set[str]) -> Tick:
    """The row of a tick, once it is known whether its job could be made."""
    if tick.job is None or tick.job not in refused:
        return tick
    return Tick(
        nominal=tick.nominal, status=TickStatus.SKIPPED, decided_at=tick.decided_at, reason="unique", by=tick.by
    )
