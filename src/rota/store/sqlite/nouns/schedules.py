"""The schedules of the SQLite store."""

import sqlite3
from collections.abc import Collection, Sequence

from rota.errors import Conflict
from rota.model.job import JobSpec
from rota.model.schedules.schedule import Schedule, ScheduleState, Tick
from rota.store.contract.schedules import (
    MAX_TICKS,
    MOST_LOOKED_UP,
    DueSchedules,
    Firing,
    ScheduleChange,
    ScheduleEntry,
    SchedulePage,
    in_steps,
)
from rota.store.records.codec import decode_schedule, decode_schedule_state, decode_tick, encode, encode_over
from rota.store.sqlite.database.inserts import insert_rows
from rota.store.sqlite.database.queries import SQL, json_array
from rota.store.sqlite.nouns.events.awaited import SqliteAwaited
from rota.store.sqlite.nouns.jobs.admission import AwaitedEnds, admit, insert_jobs
from rota.store.sqlite.nouns.jobs.changes import cancel_job
from rota.store.sqlite.nouns.jobs.lookup import states_of_jobs
from rota.store.sqlite.nouns.jobs.rows import new_row
from rota.store.sqlite.nouns.queues.stats import count_up

_TRIM_SLACK = 100
"""Ticks are trimmed at every version that is a multiple of this, not one by one; also at one without ticks of its own:
where a schedule is looked at between its ticks, none of these may ever have such a version."""


class SqliteSchedules(SqliteAwaited):
    """See `rota.store.contract.schedules.ScheduleStore` for what each method promises."""

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
            return [self._schedule(db, row) if row else None for row in rows]

    def _schedule(self, db: sqlite3.Connection, row: sqlite3.Row) -> ScheduleEntry | None:
        return self._unreadable.read("schedule", row["uuid"], lambda: _entry(db, row))

    def _look_up(self, db: sqlite3.Connection, rows: Sequence[sqlite3.Row]) -> tuple[list[ScheduleEntry], int]:
        """The schedules of these rows, up to the one with which too many of their jobs were looked up, and how many
        rows that are; one that cannot be read is passed over."""
        entries: list[ScheduleEntry] = []
        looked_up = 0
        for number, row in enumerate(rows, 1):
            if entry := self._schedule(db, row):
                entries.append(entry)
                looked_up += len(entry.state.jobs)
            if looked_up >= MOST_LOOKED_UP:
                return entries, number
        return entries, len(rows)

    def schedule_uuid(self, name: str) -> str | None:
        with self._database.read() as db:
            row = db.execute(SQL["schedule_uuid"], {"name": name}).fetchone()
            return str(row["uuid"]) if row else None

    def list_schedules(self, *, limit: int, cursor: str | None = None, job_type: str | None = None) -> SchedulePage:
        conditions = {"after": cursor or "", "limit": limit, "job_type": job_type}
        query = "list_schedules" if job_type is None else "list_schedules_of_job_type"
        with self._database.read() as db:
            rows = db.execute(SQL[query], conditions).fetchall()
            entries = [entry for row in rows if (entry := self._schedule(db, row))]
        return SchedulePage(entries, rows[-1]["name"] if len(rows) == limit else None)

    def next_schedules(self, queue: str, *, limit: int) -> list[ScheduleEntry]:
        with self._database.read() as db:
            rows = db.execute(SQL["next_schedules"], {"queue": queue, "limit": limit}).fetchall()
            return [entry for row in rows if (entry := self._schedule(db, row))]

    def claim_due_schedules(self, queue: str, *, now: int, lease_ms: int, limit: int) -> DueSchedules:
        with self._database.read() as db:
            # Schedulers look often; with nothing due there is no need to write.
            due = _next_due(db, queue)
            if due is None or due > now:
                return DueSchedules([], due, now)
        with self._database.write() as db:
            rows = db.execute(SQL["due_schedules"], {"queue": queue, "now": now, "limit": limit}).fetchall()
            entries, given = self._look_up(db, rows)
            seqs = json_array([row["seq"] for row in rows[:given]])
            db.execute(SQL["claim_due_schedules"], {"seqs": seqs, "until": now + lease_ms})
            return DueSchedules(entries, _next_due(db, queue), now)

    def fire_schedules(self, queue: str, firings: Sequence[Firing], *, now: int) -> list[bool]:
        return [done for some in in_steps(firings) for done in self._fire(queue, some, now)]

    def _fire(self, queue: str, firings: Sequence[Firing], now: int) -> list[bool]:
        with self._database.write() as db:
            answers = [_move_on(db, one.schedule.uuid, one.expected, one.state) for one in firings]
            fired = [firing for firing, done in zip(firings, answers, strict=True) if done]
            for job_id in (job_id for firing in fired for job_id in firing.cancels):
                cancel_job(db, job_id, self._awaited_ends(db), now)
            specs = [spec for firing in fired for spec in firing.specs]
            refused = _make_jobs(db, specs, now, self._awaited_ends)
            rows = [_tick_row(one.schedule, tick, refused) for one in fired for tick in one.ticks]
            insert_rows(db, SQL["put_tick"], rows)
            for firing in fired:
                if firing.otherwise and any(spec.id in refused for spec in firing.specs):
                    _move_on(db, firing.schedule.uuid, firing.state.version, firing.otherwise)
                _trim_ticks(db, firing)
            count_up(db, queue, "enqueued", len(specs) - len(refused), now)
        self._changes.announce()
        return answers

    def list_ticks(self, uuid: str, *, limit: int, before: int | None = None) -> list[Tick]:
        conditions = {"schedule": uuid, "limit": limit, "before": 1 << 62 if before is None else before}
        with self._database.read() as db:
            rows = db.execute(SQL["list_ticks"], conditions).fetchall()
        return self._unreadable.read_all("tick of schedule", uuid, decode_tick, [row["body"] for row in rows])


def _put(db: sqlite3.Connection, change: ScheduleChange) -> bool:
    schedule, state = change.schedule, change.state
    old = db.execute(SQL["find_schedule"], {"uuid": schedule.uuid}).fetchone()
    row = {
        "uuid": schedule.uuid,
        "name": schedule.name,
        "queue": schedule.queue,
        "job_type": schedule.job_type,
        "due": state.due,
        "version": state.version,
        "body": encode_over(schedule, old["body"] if old else None),
        "state": encode(state),
        "expected": change.expected,
    }
    query = "create_schedule" if change.expected is None else "replace_schedule"
    try:
        is_put = db.execute(SQL[query], row).rowcount == 1
    except sqlite3.IntegrityError:
        raise Conflict(f"another schedule has the name {schedule.name!r}") from None
    if is_put and change.left_out:
        insert_rows(db, SQL["put_tick"], [_tick_row(schedule, change.left_out)])
    return is_put


def _next_due(db: sqlite3.Connection, queue: str) -> int | None:
    row = db.execute(SQL["next_due_schedule"], {"queue": queue}).fetchone()
    return int(row["due"]) if row else None


def _entry(db: sqlite3.Connection, row: sqlite3.Row) -> ScheduleEntry:
    schedule, state = decode_schedule(row["body"]), decode_schedule_state(row["state"])
    if not state.jobs:
        return ScheduleEntry(schedule, state)
    states = states_of_jobs(db, state.jobs)
    live = tuple(job for job in state.jobs if states.get(job) in ("delayed", "queued", "running"))
    waiting = tuple(job for job in live if states[job] != "running")
    failed = tuple(job for job in state.jobs if states.get(job) == "failed")
    return ScheduleEntry(schedule, state, live, waiting, failed)


def _move_on(db: sqlite3.Connection, uuid: str, expected: int, state: ScheduleState) -> bool:
    """Write the new state; False if it is no longer the expected version."""
    moved = {
        "uuid": uuid,
        "expected": expected,
        "version": state.version,
        "due": state.due,
        "state": encode(state),
    }
    return db.execute(SQL["fire_schedule"], moved).rowcount == 1


def _make_jobs(db: sqlite3.Connection, specs: Sequence[JobSpec], now: int, awaited_ends: AwaitedEnds) -> set[str]:
    """Accept jobs; returns the ids of those whose unique key is taken. The others, nearly all, go in together."""
    plain = [spec for spec in specs if spec.unique_key is None]
    insert_jobs(db, plain, [new_row(spec, now) for spec in plain])
    others = [spec for spec in specs if spec.unique_key is not None]
    return {spec.id for spec in others if not admit(db, spec, new_row(spec, now), now, awaited_ends).is_new}


def _trim_ticks(db: sqlite3.Connection, firing: Firing) -> None:
    if firing.state.version % _TRIM_SLACK == 0:
        db.execute(SQL["trim_ticks"], {"schedule": firing.schedule.uuid, "keep": MAX_TICKS})


def _tick_row(schedule: Schedule, tick: Tick, refused: Collection[str] = ()) -> dict[str, object]:
    body = encode(tick.without_job() if tick.job in refused else tick)
    return {"schedule": schedule.uuid, "nominal": tick.nominal, "body": body}
