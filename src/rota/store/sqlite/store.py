"""The SQLite store. Each operation is one transaction; the SQL is in `queries.sql` under the operation's name."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Self

from rota.errors import Conflict
from rota.model.events.event import Event
from rota.model.job import Claim, Job, JobSpec, JobState, node_of_token, rank_of
from rota.model.job_type import JobType
from rota.model.log import LogEntry
from rota.model.node import Node, NodeType
from rota.model.settlement import Settlement, cancelled_before_run, was_carried_out
from rota.store.claims import MAX_PROMOTED, MAX_SCANNED, Claims
from rota.store.jobs import Admission, CancelAnswer, JobPage, JobQuery
from rota.store.logs import LogBatch, LogPage
from rota.store.queues import Stats
from rota.store.records import listing
from rota.store.records.codec import (
    decode_job_type,
    decode_log_entry,
    decode_node,
    decode_node_type,
    encode,
    encode_over,
)
from rota.store.records.unreadable import (
    UNREADABLE_ERRORS,
    Unreadable,
    UnreadableRecords,
    unreadable_job_type,
    unreadable_line,
    unreadable_node,
    unreadable_node_type,
)
from rota.store.sqlite import pulses, stats
from rota.store.sqlite.database import Database, parse_url
from rota.store.sqlite.events import SqliteEvents, put_outbox
from rota.store.sqlite.history import SqliteHistory, count_ended, count_forgotten
from rota.store.sqlite.inserts import insert_rows
from rota.store.sqlite.lifeline import SqliteLifeline
from rota.store.sqlite.machine_clock import MachineClock
from rota.store.sqlite.queries import SQL
from rota.store.sqlite.rows import (
    claim_of,
    ended_row,
    job_of,
    json_array,
    new_row,
    readable_claim,
    returned_row,
    spec_of,
    token_range,
)
from rota.store.sqlite.schedules import SqliteSchedules
from rota.store.sqlite.waker import Changes, SqliteWaker

_FORGET_QUEUE = (
    "forget_stats",
    "forget_forgotten",
    "forget_pulses",
    "forget_fence",
    "forget_outbox",
    "resume_queue",
)


class SqliteStore(SqliteHistory, SqliteSchedules, SqliteEvents):
    """See `rota.store.store.Store` for what each method promises."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._clock = MachineClock(database)
        self._changes = Changes()
        self._unreadable = UnreadableRecords()

    @classmethod
    def open(cls, url: str) -> Self:
        path, synchronous = parse_url(url)
        return cls(Database(path, synchronous=synchronous))

    # -- the store itself ------------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        return "sqlite://:memory:" if self._database.in_memory else f"sqlite:///{self._database.path}"

    def now(self) -> int:
        return self._clock.now()

    def problems(self) -> list[str]:
        return ["everything is in memory and is gone when the process ends"] if self._database.in_memory else []

    def troubles(self) -> list[str]:
        return self._database.troubles()

    def unreadable_records(self) -> list[Unreadable]:
        return self._unreadable.all()

    def close(self) -> None:
        self._database.close()

    # -- definitions -----------------------------------------------------------------------------------------------

    def put_node_types(self, node_types: Sequence[NodeType]) -> None:
        self._put_definitions("node_type", node_types)

    def put_job_types(self, job_types: Sequence[JobType]) -> None:
        self._put_definitions("job_type", job_types)

    def _put_definitions(self, kind: str, definitions: Sequence[NodeType] | Sequence[JobType]) -> None:
        with self._database.write() as db:
            for one in definitions:
                old = db.execute(SQL[f"body_of_{kind}"], {"uuid": one.uuid}).fetchone()
                body = encode_over(one, old["body"] if old else None)
                try:
                    db.execute(SQL[f"put_{kind}s"], {"uuid": one.uuid, "name": one.name, "body": body})
                except sqlite3.IntegrityError:
                    raise Conflict(f"another {kind.replace('_', ' ')} has the name {one.name!r}") from None
            db.execute(SQL["raise_definitions_version"])

    def list_node_types(self) -> list[NodeType]:
        with self._database.read() as db:
            return [self._node_type(row) for row in db.execute(SQL["list_node_types"])]

    def _node_type(self, row: sqlite3.Row) -> NodeType:
        try:
            return decode_node_type(row["body"])
        except UNREADABLE_ERRORS as error:
            self._unreadable.note("node type", row["name"], error)
            return unreadable_node_type(row["uuid"], row["name"])

    def list_job_types(self) -> list[JobType]:
        with self._database.read() as db:
            return self._job_types_in(db)

    def _job_types_in(self, db: sqlite3.Connection) -> list[JobType]:
        return [self._job_type(row) for row in db.execute(SQL["list_job_types"])]

    def _job_type(self, row: sqlite3.Row) -> JobType:
        try:
            return decode_job_type(row["body"])
        except UNREADABLE_ERRORS as error:
            reason = self._unreadable.note("job type", row["name"], error)
            return unreadable_job_type(row["uuid"], row["name"], reason)

    def delete_node_types(self, uuids: Iterable[str]) -> int:
        with self._database.write() as db:
            deleted = 0
            for uuid in uuids:
                if db.execute(SQL["has_live_jobs"], {"queue": uuid}).fetchone()[0]:
                    raise Conflict(f"node type {uuid} still has live jobs; cancel them or let them end first")
                deleted += db.execute(SQL["delete_node_types"], {"uuid": uuid}).rowcount
            db.execute(SQL["raise_definitions_version"])
            return deleted

    def delete_job_types(self, uuids: Iterable[str]) -> int:
        with self._database.write() as db:
            deleted = sum(db.execute(SQL["delete_job_types"], {"uuid": uuid}).rowcount for uuid in uuids)
            db.execute(SQL["raise_definitions_version"])
            return deleted

    def definitions_version(self) -> int:
        with self._database.read() as db:
            row = db.execute(SQL["definitions_version"]).fetchone()
            return int(row[0]) if row else 0

    def get_setting(self, name: str) -> str | None:
        with self._database.read() as db:
            row = db.execute(SQL["get_setting"], {"name": name}).fetchone()
            return str(row["value"]) if row else None

    def put_setting(self, name: str, value: str, *, only_if_absent: bool = False) -> str:
        query = "put_setting_if_absent" if only_if_absent else "put_setting"
        with self._database.write() as db:
            db.execute(SQL[query], {"name": name, "value": value})
            return str(db.execute(SQL["get_setting"], {"name": name}).fetchone()["value"])

    def list_settings(self, prefix: str) -> dict[str, str]:
        with self._database.read() as db:
            return {row["name"]: row["value"] for row in db.execute(SQL["list_settings"], {"prefix": prefix})}

    def delete_setting(self, name: str) -> bool:
        with self._database.write() as db:
            return db.execute(SQL["delete_setting"], {"name": name}).rowcount == 1

    # -- a job's way -----------------------------------------------------------------------------------------------

    def enqueue_jobs(self, specs: Sequence[JobSpec], *, now: int) -> list[Admission]:
        rows = [new_row(spec, now) for spec in specs]
        with self._database.write() as db:
            if insert_rows(db, SQL["enqueue_jobs"], rows) == len(rows):
                admissions = [Admission(spec.id, True) for spec in specs]
            else:
                # Some were left out; which ones is told one by one, in a second pass over the untouched table.
                db.execute("ROLLBACK")
                db.execute("BEGIN IMMEDIATE")
                admissions = [self._admit(db, spec, row) for spec, row in zip(specs, rows, strict=True)]
            pairs = zip(specs, admissions, strict=True)
            for queue, jobs in Counter(spec.queue for spec, admission in pairs if admission.is_new).items():
                stats.count_up(db, queue, "enqueued", jobs, now)
        self._changes.announce()
        return admissions

    def _admit(self, db: sqlite3.Connection, spec: JobSpec, row: dict[str, object]) -> Admission:
        if db.execute(SQL["enqueue_jobs"], row).rowcount:
            return Admission(spec.id, True)
        if spec.unique_key is None or db.execute(SQL["find_job"], {"id": spec.id}).fetchone():
            return Admission(spec.id, False)
        holder = db.execute(
            SQL["holder_of_unique_key"], {"queue": spec.queue, "unique_key": spec.unique_key}
        ).fetchone()
        return Admission(str(holder["id"]), False)

    def claim_jobs(self, queue: str, *, token: str, limit: int, now: int) -> Claims:
        if not self._has_ready_jobs(queue, now):
            # Idle nodes ask often; without anything to take there is no need to write.
            with self._database.read() as db:
                return _none_but(self._next_due(db, queue), now)
        with self._database.write() as db:
            return self._claim(db, queue, token, limit, now)

    def _claim(self, db: sqlite3.Connection, queue: str, token: str, limit: int, now: int) -> Claims:
        due = self._next_due(db, queue)
        if due is not None and due <= now:
            db.execute(SQL["promote_due_jobs"], {"queue": queue, "now": now, "limit": MAX_PROMOTED})
            due = self._next_due(db, queue)
        if limit < 1 or db.execute(SQL["is_paused"], {"queue": queue}).fetchone()[0]:
            return _none_but(due, now)
        if pulses.is_late(db, queue, token):
            return Claims([], due)
        claims: list[Claim] = []
        scanned, locks = 0, set[str]()
        while len(claims) < limit:
            if scanned >= MAX_SCANNED:
                due = due if claims else now
                break
            wanted = min(limit - len(claims), MAX_SCANNED - scanned)
            candidates = db.execute(SQL["claim_candidates"], {"queue": queue, "limit": wanted}).fetchall()
            scanned += len(candidates)
            taken, held = self._split_by_lock(db, queue, candidates, locks)
            db.execute(
                SQL["claim_jobs"], {"token": token, "now": now, "seqs": json_array([row["seq"] for row in taken])}
            )
            claims += self._claims_of(db, queue, taken, token, now)
            if not held:
                break
            db.execute(SQL["hold_jobs"], {"seqs": json_array(held)})
        if claims:
            pulses.set_pulse(db, queue, node_of_token(token), token)
        return Claims(claims, due)

    def _claims_of(
        self, db: sqlite3.Connection, queue: str, rows: list[sqlite3.Row], token: str, now: int
    ) -> list[Claim]:
        """Claims of rows that were just handed out; those under a lock have a fencing number."""
        fences = self._fences_of(db, queue, rows, now)
        try:
            return [claim_of(row, token, fence) for row, fence in zip(rows, fences, strict=True)]
        except UNREADABLE_ERRORS:
            whole = db.execute(SQL["claimed_jobs"], {"seqs": json_array([row["seq"] for row in rows])}).fetchall()
            return [readable_claim(row, token, fence) for row, fence in zip(whole, fences, strict=True)]

    def _fences_of(self, db: sqlite3.Connection, queue: str, rows: list[sqlite3.Row], now: int) -> list[int]:
        locked = sum(row["lock_key"] is not None for row in rows)
        if not locked:
            return [0] * len(rows)
        last = db.execute(SQL["next_fence"], {"queue": queue, "now": now, "jobs": locked}).fetchone()[0]
        numbers = iter(range(last - locked + 1, last + 1))
        return [0 if row["lock_key"] is None else next(numbers) for row in rows]

    def _split_by_lock(
        self, db: sqlite3.Connection, queue: str, candidates: list[sqlite3.Row], locks: set[str]
    ) -> tuple[list[sqlite3.Row], list[int]]:
        """Candidates whose lock is free, and the numbers of those that must wait for theirs. `locks` are known to be
        taken, and become more."""
        taken, held = [], []
        for row in candidates:
            lock_key = row["lock_key"]
            if lock_key is None:
                taken.append(row)
                continue
            if lock_key in locks or self._is_locked(db, queue, lock_key):
                held.append(row["seq"])
            else:
                taken.append(row)
            locks.add(lock_key)
        return taken, held

    def _is_locked(self, db: sqlite3.Connection, queue: str, lock_key: object) -> bool:
        return bool(db.execute(SQL["is_locked"], {"queue": queue, "lock_key": lock_key}).fetchone()[0])

    def finish_jobs(self, queue: str, settlements: Sequence[Settlement], *, now: int) -> frozenset[str]:
        with self._database.write() as db:
            all_done = self._finish(db, queue, settlements, now)
        self._announce_returns(settlements)
        return frozenset() if all_done else self._refused(settlements)

    def finish_and_claim_jobs(
        self, queue: str, settlements: Sequence[Settlement], *, token: str, limit: int, now: int
    ) -> Claims:
        if not settlements:
            return self.claim_jobs(queue, token=token, limit=limit, now=now)
        with self._database.write() as db:
            all_done = self._finish(db, queue, settlements, now)
            answer = self._claim(db, queue, token, limit, now)
        self._announce_returns(settlements)
        return answer if all_done else Claims(answer.claims, answer.next_due, self._refused(settlements))

    def _finish(self, db: sqlite3.Connection, queue: str, settlements: Sequence[Settlement], now: int) -> bool:
        """Carry out what may be; tells whether that was everything."""
        awaited = self._awaited_in(db)
        told = (
            {one.claim.spec.id: event for one in settlements if (event := awaited.event_of(one))}
            if awaited.names
            else {}
        )
        ended = [
            ended_row(queue, one, one.ending) for one in settlements if one.ending and one.claim.spec.id not in told
        ]
        returned = [returned_row(queue, one, now) for one in settlements if not one.ending]
        done = self._end(db, queue, ended, now) if ended else 0
        done += self._return(db, queue, returned, now) if returned else 0
        done += self._end_and_tell(db, queue, settlements, told, now) if told else 0
        for lock_key in {one.claim.spec.lock_key for one in settlements} - {None}:
            self._free_lock(db, queue, lock_key)
        return done == len(settlements)

    def _end_and_tell(
        self, db: sqlite3.Connection, queue: str, settlements: Sequence[Settlement], told: dict[str, Event], now: int
    ) -> int:
        """End jobs whose ends are events; returns how many were ended."""
        done = 0
        for one in settlements:
            event = told.get(one.claim.spec.id)
            if one.ending and event and self._end(db, queue, [ended_row(queue, one, one.ending)], now):
                put_outbox(db, queue, event)
                done += 1
        return done

    def _end(self, db: sqlite3.Connection, queue: str, rows: list[dict[str, object]], now: int) -> int:
        """End jobs, in order, one call for each run of equal states; returns how many were ended."""
        done = 0
        for state, some in groupby(rows, key=lambda row: str(row["state"])):
            ended = db.executemany(SQL["finish_ended"], some).rowcount
            stats.count_up(db, queue, state, ended, now)
            done += ended
        return done

    def _return(self, db: sqlite3.Connection, queue: str, rows: list[dict[str, object]], now: int) -> int:
        """Give jobs back; those that were to be cancelled end now. Returns how many there were."""
        tokens = {row["id"]: (queue, row["token"]) for row in rows}
        held = db.execute(SQL["held_claims"], {"ids": json_array(list(tokens))}).fetchall()
        cancelled = sum(row["cancel_requested"] and tokens[row["id"]] == (row["queue"], row["token"]) for row in held)
        stats.count_up(db, queue, JobState.CANCELLED, cancelled, now)
        return db.executemany(SQL["finish_returned"], rows).rowcount

    def _refused(self, settlements: Sequence[Settlement]) -> frozenset[str]:
        """Those that were not carried out, now or earlier."""
        jobs = self.find_jobs([one.claim.spec.id for one in settlements])
        pairs = zip(settlements, jobs, strict=True)
        return frozenset(one.claim.spec.id for one, job in pairs if not was_carried_out(one, job))

    def _free_lock(self, db: sqlite3.Connection, queue: str, lock_key: object) -> None:
        if not self._is_locked(db, queue, lock_key):
            db.execute(SQL["free_lock"], {"queue": queue, "lock_key": lock_key})

    def _announce_returns(self, settlements: Sequence[Settlement]) -> None:
        if any(one.ending is None or one.claim.spec.lock_key is not None for one in settlements):
            self._changes.announce()

    def lifeline(self, *, timeout_s: float) -> SqliteLifeline:
        return SqliteLifeline(self._database.private_writer(timeout_s), self._clock.reading)

    def recover_claims(self, queue: str, node: str, held: dict[str, str], *, floor: int, now: int) -> int:
        with self._database.write() as db:
            recovered = self._recover(db, queue, node, held, floor, now)
        self._changes.announce()
        return recovered

    def _recover(
        self, db: sqlite3.Connection, queue: str, node: str, held: dict[str, str], floor: int, now: int
    ) -> int:
        db.execute(SQL["raise_floor"], {"queue": queue, "node": node, "floor": floor})
        rows = db.execute(SQL["claims_of_node"], {"queue": queue, **token_range(node), "limit": -1}).fetchall()
        orphans = [row for row in rows if held.get(row["id"]) != row["token"]]
        seqs = json_array([row["seq"] for row in orphans])
        db.execute(SQL["recover_claims"], {"seqs": seqs, "now": now, "ending": encode(cancelled_before_run(now))})
        stats.count_up(db, queue, JobState.CANCELLED, sum(row["cancel_requested"] for row in orphans), now)
        for lock_key in {row["lock_key"] for row in orphans} - {None}:
            self._free_lock(db, queue, lock_key)
        return len(orphans)

    def leave_queue(self, queue: str, node: str, *, floor: int, now: int) -> None:
        with self._database.write() as db:
            self._recover(db, queue, node, {}, floor, now)
            db.execute(SQL["forget_node"], {"queue": queue, "node": node})
        self._changes.announce()

    def read_pulses(self, queue: str) -> dict[str, str]:
        with self._database.read() as db:
            return {row["node"]: row["pulse"] for row in db.execute(SQL["read_pulses"], {"queue": queue})}

    def claims_of_node(self, queue: str, node: str, *, limit: int) -> list[Claim]:
        with self._database.read() as db:
            rows = db.execute(SQL["claims_of_node"], {"queue": queue, **token_range(node), "limit": limit}).fetchall()
        return [readable_claim(row, row["token"]) for row in rows]

    def reclaim_jobs(
        self, queue: str, settlements: Sequence[Settlement], *, node: str, pulse: str, now: int
    ) -> frozenset[str]:
        with self._database.write() as db:
            if not pulses.has_pulse(db, queue, node, pulse):
                return frozenset(one.claim.spec.id for one in settlements)
            all_done = self._finish(db, queue, settlements, now)
        self._announce_returns(settlements)
        return frozenset() if all_done else self._refused(settlements)

    def forget_pulse(self, queue: str, node: str, *, pulse: str) -> None:
        with self._database.write() as db:
            db.execute(SQL["forget_pulse"], {"queue": queue, "node": node, "pulse": pulse})

    def mark_orphans(self, queue: str) -> int:
        with self._database.write() as db:
            return db.execute(SQL["mark_orphans"], {"queue": queue}).rowcount

    def cancel_jobs(self, job_ids: Sequence[str], *, now: int) -> list[CancelAnswer]:
        with self._database.write() as db:
            answers = [self._cancel(db, job_id, now) for job_id in job_ids]
        self._changes.announce()
        return answers

    def _cancel(self, db: sqlite3.Connection, job_id: str, now: int) -> CancelAnswer:
        row = db.execute(SQL["find_job"], {"id": job_id}).fetchone()
        if row is None:
            return CancelAnswer.UNKNOWN
        if row["ended_at"] is not None:
            return CancelAnswer.FINAL
        if db.execute(SQL["cancel_running"], {"id": job_id}).rowcount:
            return CancelAnswer.REQUESTED
        ending = encode(cancelled_before_run(now))
        db.execute(SQL["cancel_waiting"], {"id": job_id, "now": now, "ending": ending})
        stats.count_up(db, row["queue"], JobState.CANCELLED, 1, now)
        if row["lock_key"] is not None:
            # It may have been the one that was made ready when the lock became free.
            self._free_lock(db, row["queue"], row["lock_key"])
        return CancelAnswer.CANCELLED

    def retry_jobs(self, job_ids: Sequence[str], *, now: int) -> list[bool]:
        with self._database.write() as db:
            answers = [self._retry(db, job_id, now) for job_id in job_ids]
        self._changes.announce()
        return answers

    def _retry(self, db: sqlite3.Connection, job_id: str, now: int) -> bool:
        row = db.execute(SQL["find_job"], {"id": job_id}).fetchone()
        if row is None:
            return False
        rank = rank_of(spec_of(row).priority, now)
        if db.execute(SQL["retry_job"], {"id": job_id, "rank": rank}).rowcount != 1:
            return False
        count_forgotten(db, [(row["queue"], row["state"])])
        return True

    # -- queues ----------------------------------------------------------------------------------------------------

    def pause_queue(self, queue: str) -> None:
        with self._database.write() as db:
            db.execute(SQL["pause_queue"], {"queue": queue})

    def resume_queue(self, queue: str) -> None:
        with self._database.write() as db:
            db.execute(SQL["resume_queue"], {"queue": queue})
        self._changes.announce()

    def paused_queues(self) -> frozenset[str]:
        with self._database.read() as db:
            return frozenset(row["queue"] for row in db.execute(SQL["paused_queues"]))

    def count_jobs(self, queue: str) -> dict[JobState, int]:
        with self._database.read() as db:

            def count(query: str) -> int:
                return int(db.execute(SQL[query], {"queue": queue}).fetchone()[0])

            return {
                JobState.DELAYED: count("count_delayed"),
                JobState.QUEUED: count("count_ready") + count("count_held"),
                JobState.RUNNING: count("count_running"),
                **count_ended(db, queue),
            }

    def read_stats(self, queue: str, *, since: int, until: int) -> list[Stats]:
        with self._database.read() as db:
            return stats.read_stats(db, queue, max(since, 1), until)

    def read_totals(self, queue: str) -> Stats:
        with self._database.read() as db:
            found = stats.read_stats(db, queue, 0, 1)
        return found[0] if found else Stats()

    # -- reading ---------------------------------------------------------------------------------------------------

    def find_jobs(self, job_ids: Sequence[str]) -> list[Job | None]:
        with self._database.read() as db:
            rows = [db.execute(SQL["find_job"], {"id": job_id}).fetchone() for job_id in job_ids]
        return [job_of(row) if row else None for row in rows]

    def list_jobs(self, query: JobQuery, *, limit: int, cursor: str | None = None) -> JobPage:
        return listing.list_jobs(self, query, limit, cursor)

    def list_queues(self) -> list[str]:
        with self._database.read() as db:
            return [str(row["uuid"]) for row in db.execute(SQL["list_queues"])]

    def forget_queue(self, queue: str) -> bool:
        with self._database.write() as db:
            if any(
                db.execute(SQL[query], {"queue": queue}).fetchone()[0] for query in ("is_queue_used", "has_live_jobs")
            ):
                return False
            for query in _FORGET_QUEUE:
                db.execute(SQL[query], {"queue": queue})
            return True

    def read_section(
        self, section: str, queue: str, states: Iterable[JobState], *, after: listing.Place, limit: int
    ) -> list[tuple[listing.Place, Job]]:
        place = {"queue": queue, "place": after[0], "id": after[1], "limit": limit}
        with self._database.read() as db:
            if section != "ended":
                return [((row["place"], row["id"]), job_of(row)) for row in db.execute(SQL[f"page_{section}"], place)]
            rows = [row for state in states for row in db.execute(SQL["page_ended"], {**place, "state": state})]
        rows.sort(key=lambda row: (row["place"], row["id"]), reverse=True)
        return [((row["place"], row["id"]), job_of(row)) for row in rows[:limit]]

    # -- logs ------------------------------------------------------------------------------------------------------

    def append_logs(self, batches: Sequence[LogBatch]) -> frozenset[str]:
        ids = json_array([batch.job_id for batch in batches])
        # Encoded before the transaction begins, since others wait for its end.
        encoded = [[encode(entry) for entry in batch.entries] for batch in batches]
        with self._database.write() as db:
            rows = db.execute(SQL["held_claims"], {"ids": ids})
            held = {(row["queue"], row["id"], row["token"]) for row in rows}
            for batch, entries in zip(batches, encoded, strict=True):
                if (batch.queue, batch.job_id, batch.token) in held:
                    _append_lines(db, batch.job_id, entries)
        return frozenset(one.job_id for one in batches if (one.queue, one.job_id, one.token) not in held)

    def read_logs(self, job_id: str, *, after: int = 0, limit: int = 1000) -> LogPage:
        with self._database.read() as db:
            rows = db.execute(SQL["read_logs"], {"job_id": job_id, "after": after, "limit": limit}).fetchall()
        return LogPage([_log_entry(row) for row in rows], rows[-1]["position"] + 1 if rows else after)

    # -- nodes -----------------------------------------------------------------------------------------------------

    def list_nodes(self, *, since: int) -> list[Node]:
        with self._database.read() as db:
            return [self._node(row) for row in db.execute(SQL["list_nodes"], {"since": since})]

    def _node(self, row: sqlite3.Row) -> Node:
        found = self._unreadable.read("node", row["uuid"], lambda: decode_node(row["body"]))
        return found or unreadable_node(row["uuid"], row["last_ping"])

    def remove_nodes(self, *, uuid: str | None = None, silent_since: int | None = None) -> int:
        with self._database.write() as db:
            removed = db.execute(SQL["remove_node"], {"uuid": uuid}).rowcount
            return removed + db.execute(SQL["remove_silent_nodes"], {"silent_since": silent_since}).rowcount

    # -- waiting ---------------------------------------------------------------------------------------------------

    def waker(self, queue: str, node: str) -> SqliteWaker:
        return SqliteWaker(
            self._changes,
            path=None if self._database.in_memory else self._database.path,
            connect=self._database.connect,
            ready_in_s=lambda: self._ready_in_s(queue, self.now()),
            cancelled_claims=lambda: self._cancelled_claims(queue, node),
            monotonic=self._clock.monotonic,
        )

    def _ready_in_s(self, queue: str, now: int) -> float | None:
        """How soon a claim finds something: 0 is at once, None not as far as is known."""
        if self._has_ready_jobs(queue, now):
            return 0
        with self._database.read() as db:
            due = self._next_due(db, queue)
            paused = bool(db.execute(SQL["is_paused"], {"queue": queue}).fetchone()[0])
        return None if due is None or paused else max(due - now, 1) / 1000

    def _has_ready_jobs(self, queue: str, now: int) -> bool:
        with self._database.read() as db:
            return bool(db.execute(SQL["has_ready_jobs"], {"queue": queue, "now": now}).fetchone()[0])

    def _cancelled_claims(self, queue: str, node: str) -> list[str]:
        with self._database.read() as db:
            rows = db.execute(SQL["cancelled_claims"], {"queue": queue, **token_range(node)})
            return [str(row["id"]) for row in rows]

    def _next_due(self, db: sqlite3.Connection, queue: str) -> int | None:
        row = db.execute(SQL["next_due"], {"queue": queue}).fetchone()
        return int(row["due"]) if row else None


def _append_lines(db: sqlite3.Connection, job_id: str, entries: Sequence[bytes]) -> None:
    first = db.execute(SQL["next_position"], {"job_id": job_id}).fetchone()[0]
    rows = [{"job_id": job_id, "position": place, "entry": entry} for place, entry in enumerate(entries, first)]
    insert_rows(db, SQL["append_logs"], rows)


def _log_entry(row: sqlite3.Row) -> LogEntry:
    try:
        return decode_log_entry(row["entry"])
    except UNREADABLE_ERRORS as error:
        return unreadable_line(error)


def _none_but(due: int | None, now: int) -> Claims:
    """Nothing now. What is overdue and yet not given is held back by a pause, and asking again does not help."""
    return Claims([], due if due is not None and due > now else None)
