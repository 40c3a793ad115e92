"""The configurations of the SQLite store, and what events did to them."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import msgspec

from rota.errors import Conflict
from rota.model.events.configuration import Configuration
from rota.model.events.evaluation import Evaluation
from rota.model.events.event import JOB, Event
from rota.model.job import JobSpec
from rota.model.job_type import JobType
from rota.store.events import (
    BEGINNING,
    EXACT,
    MAX_EVALUATIONS,
    MAX_VALIDATIONS,
    Applied,
    Awaited,
    ConfigurationChange,
    ConfigurationEntry,
    ConfigurationPage,
    IndexKey,
    JobRules,
    Place,
    Validation,
    Verdicts,
    awaited_ends,
    index_keys,
    is_time_to_trim,
    not_made,
    waits_for_jobs,
)
from rota.store.records.codec import (
    decode_configuration,
    decode_configuration_state,
    decode_evaluation,
    decode_event,
    encode,
    encode_over,
)
from rota.store.records.unreadable import SET_ASIDE_EVENT, UNREADABLE_ERRORS, UnreadableRecords, set_aside_text
from rota.store.sqlite import stats
from rota.store.sqlite.database import Database
from rota.store.sqlite.queries import SQL
from rota.store.sqlite.rows import json_array, new_row
from rota.store.sqlite.waker import Changes

_decode_validation = msgspec.json.Decoder(Validation).decode


class SqliteEvents:
    """See `rota.store.events.EventStore` for what each method promises."""

    _database: Database
    _changes: Changes
    _awaited = Awaited(-1)
    _unreadable: UnreadableRecords
    _job_types_in: Callable[[sqlite3.Connection], list[JobType]]

    def put_configurations(
        self, changes: Sequence[ConfigurationChange], *, rules_version: int | None = None
    ) -> list[bool]:
        with self._database.write() as db:
            if rules_version is not None and rules_version != _definitions_version(db):
                return [False] * len(changes)
            return [_put(db, change) for change in changes]

    def delete_configurations(self, uuids: Sequence[str]) -> list[bool]:
        with self._database.write() as db:
            return [_delete(db, uuid) for uuid in uuids]

    def find_configurations(self, uuids: Sequence[str]) -> list[ConfigurationEntry | None]:
        with self._database.read() as db:
            rows = [db.execute(SQL["find_configuration"], {"uuid": uuid}).fetchone() for uuid in uuids]
        return [self._configuration(row) if row else None for row in rows]

    def _configuration(self, row: sqlite3.Row, known: frozenset[str] = frozenset()) -> ConfigurationEntry | None:
        return self._unreadable.read("configuration", row["uuid"], lambda: _entry(row, known))

    def configuration_uuid(self, name: str) -> str | None:
        with self._database.read() as db:
            row = db.execute(SQL["configuration_uuid"], {"name": name}).fetchone()
            return str(row["uuid"]) if row else None

    def list_configurations(self, *, limit: int, cursor: str | None = None) -> ConfigurationPage:
        with self._database.read() as db:
            rows = db.execute(SQL["list_configurations"], {"after": cursor or "", "limit": limit}).fetchall()
        entries = [entry for row in rows if (entry := self._configuration(row))]
        return ConfigurationPage(entries, rows[-1]["name"] if len(rows) == limit else None)

    def listening_configurations(self) -> list[Configuration]:
        with self._database.read() as db:
            return self._listening(db)

    def read_job_rules(self) -> JobRules:
        with self._database.read() as db:
            return JobRules(_definitions_version(db), self._listening(db))

    def _listening(self, db: sqlite3.Connection) -> list[Configuration]:
        rows = db.execute(SQL["listening_configurations"], {"type": JOB}).fetchall()
        read = self._unreadable.read
        found = [read("configuration", row["uuid"], partial(decode_configuration, row["body"])) for row in rows]
        return [one for one in found if one]

    def _awaited_in(self, db: sqlite3.Connection) -> Awaited:
        """Which ends are to be told, within the step that ends jobs: read anew if anything was defined since."""
        version = _definitions_version(db)
        if version != self._awaited.version:
            self._awaited = awaited_ends(version, self._listening(db), self._job_types_in(db))
        return self._awaited

    def match_events(self, events: Sequence[Event]) -> list[list[Place]]:
        found: dict[tuple[str, str], list[Place]] = {}
        with self._database.read() as db:
            for event in events:
                kind = (event.type, event.resource)
                if kind not in found:
                    found[kind] = _match(db, event)
        return [found[event.type, event.resource] for event in events]

    def load_configurations(
        self, queue: str, uuids: Sequence[str], *, event_ids: Sequence[str] = ()
    ) -> list[ConfigurationEntry | None]:
        ids = json_array(event_ids)
        with self._database.read() as db:
            rows = [db.execute(SQL["find_configuration"], {"uuid": uuid}).fetchone() for uuid in uuids]
            known = [_known_events(db, row, ids) if row and event_ids else frozenset() for row in rows]
        return [self._configuration(row, ids) if row else None for row, ids in zip(rows, known, strict=True)]

    def apply_verdicts(self, queue: str, verdicts: Sequence[Verdicts], *, now: int) -> list[Applied]:
        with self._database.write() as db:
            answers = [_apply(db, one, now) for one in verdicts]
            done = zip(verdicts, answers, strict=True)
            made = sum(len(one.specs) - len(answer.survivors) for one, answer in done if answer.done)
            stats.count_up(db, queue, "enqueued", made, now)
        if any(one.specs for one in verdicts):
            self._changes.announce()
        return answers

    def list_evaluations(self, uuid: str, *, limit: int) -> list[Evaluation]:
        with self._database.read() as db:
            rows = db.execute(SQL["list_evaluations"], {"uuid": uuid, "limit": limit}).fetchall()
        return self._unreadable.read_all(
            "evaluation of configuration", uuid, decode_evaluation, [row["body"] for row in rows]
        )

    def list_validations(self, uuid: str, *, limit: int) -> list[Validation]:
        with self._database.read() as db:
            rows = db.execute(SQL["list_validations"], {"uuid": uuid, "limit": limit}).fetchall()
        return self._unreadable.read_all(
            "validation of configuration", uuid, _decode_validation, [row["body"] for row in rows]
        )

    def read_outbox(self, queue: str, *, limit: int) -> list[Event]:
        with self._database.read() as db:
            rows = db.execute(SQL["read_outbox"], {"queue": queue, "limit": limit}).fetchall()
        try:
            return [decode_event(row["body"]) for row in rows]
        except UNREADABLE_ERRORS:
            return self._without_unreadable(queue, rows)

    def _without_unreadable(self, queue: str, rows: list[sqlite3.Row]) -> list[Event]:
        """The events among some rows. What is none is set aside, or it would be in the way for ever."""
        events: list[Event] = []
        for row in rows:
            event = self._unreadable.read("event", row["event"], partial(decode_event, row["body"]))
            if event:
                events.append(event)
            else:
                with self._database.write() as db:
                    db.execute(
                        SQL["put_setting"],
                        {"name": SET_ASIDE_EVENT + row["event"], "value": set_aside_text(row["body"])},
                    )
                    db.execute(SQL["clear_outbox"], {"events": json_array([row["event"]])})
        return events

    def clear_outbox(self, queue: str, events: Sequence[Event]) -> None:
        with self._database.write() as db:
            db.execute(SQL["clear_outbox"], {"events": json_array([event.id for event in events])})


def put_outbox(db: sqlite3.Connection, queue: str, event: Event) -> None:
    """Within the step that ends a job."""
    db.execute(SQL["put_outbox"], {"queue": queue, "event": event.id, "body": encode(event)})


def _definitions_version(db: sqlite3.Connection) -> int:
    row = db.execute(SQL["definitions_version"]).fetchone()
    return int(row[0]) if row else 0


def _put(db: sqlite3.Connection, change: ConfigurationChange) -> bool:
    one, state = change.configuration, change.state
    old = db.execute(SQL["find_configuration"], {"uuid": one.uuid}).fetchone()
    row: dict[str, object] = {
        "uuid": one.uuid,
        "name": one.name,
        "queue": one.queue,
        "version": state.version,
        "body": encode_over(one, old["body"] if old else None),
        "state": encode(state),
        "expected": change.expected,
    }
    query = "create_configuration" if change.expected is None else "replace_configuration"
    try:
        is_done = db.execute(SQL[query], row).rowcount == 1
    except sqlite3.IntegrityError:
        raise Conflict(f"another configuration has the name {one.name!r}") from None
    if is_done:
        before = decode_configuration(old["body"]) if old else None
        seq = old["seq"] if old else db.execute(SQL["find_configuration"], {"uuid": one.uuid}).fetchone()["seq"]
        _index(db, seq, before, one)
    return is_done


def _index(db: sqlite3.Connection, seq: int, before: Configuration | None, after: Configuration | None) -> None:
    """Move a configuration from its old keys to its new ones."""
    old, new = (index_keys(one) if one else set() for one in (before, after))
    db.executemany(SQL["unindex_dependency"], [{**key._asdict(), "seq": seq} for key in old - new])
    db.executemany(SQL["index_dependency"], [{**key._asdict(), "seq": seq} for key in new - old])
    if any(one and waits_for_jobs(one) for one in (before, after)):
        db.execute(SQL["raise_definitions_version"])


def _delete(db: sqlite3.Connection, uuid: str) -> bool:
    row = db.execute(SQL["find_configuration"], {"uuid": uuid}).fetchone()
    if row is None:
        return False
    _unindex(db, row)
    for query in ("delete_configuration", "delete_validations", "delete_evaluations"):
        db.execute(SQL[query], {"seq": row["seq"]})
    return True


def _unindex(db: sqlite3.Connection, row: sqlite3.Row) -> None:
    try:
        _index(db, row["seq"], decode_configuration(row["body"]), None)
    except UNREADABLE_ERRORS:
        # Looks at the whole index, since nobody can tell under which keys it is.
        db.execute(SQL["unindex_configuration"], {"seq": row["seq"]})
        db.execute(SQL["raise_definitions_version"])


def _entry(row: sqlite3.Row, known_events: frozenset[str] = frozenset()) -> ConfigurationEntry:
    return ConfigurationEntry(decode_configuration(row["body"]), decode_configuration_state(row["state"]), known_events)


def _known_events(db: sqlite3.Connection, row: sqlite3.Row, ids: str) -> frozenset[str]:
    found = db.execute(SQL["known_events"], {"seq": row["seq"], "ids": ids})
    return frozenset(str(one["own_id"]) for one in found)


def _match(db: sqlite3.Connection, event: Event) -> list[Place]:
    keys = [IndexKey(event.type, EXACT, event.resource)]
    keys += [IndexKey(event.type, BEGINNING, start) for start in _beginnings(db, event)]
    rows = [row for key in keys for row in db.execute(SQL["match_dependencies"], key._asdict())]
    return list(dict.fromkeys(Place(row["queue"], row["uuid"]) for row in rows))


def _beginnings(db: sqlite3.Connection, event: Event) -> Iterator[str]:
    """Stored beginnings of a resource, the longest first.

    The greatest key up to the resource either is a beginning of it, or shares some characters with it, and no longer
    beginning is stored: so each look shortens what is left, and few are needed.
    """
    bound: str | None = event.resource
    while bound is not None:
        row = db.execute(SQL["last_beginning"], {"type": event.type, "bound": bound}).fetchone()
        if row is None:
            return
        start = str(row["start"])
        if bound.startswith(start):
            yield start
            bound = start[:-1] if start else None
        else:
            bound = _common_beginning(start, bound)


def _common_beginning(one: str, other: str) -> str:
    length = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:length]


def _apply(db: sqlite3.Connection, one: Verdicts, now: int) -> Applied:
    moved = {
        "uuid": one.configuration.uuid,
        "expected": one.expected,
        "version": one.state.version,
        "state": encode(one.state),
    }
    row = db.execute(SQL["apply_verdicts"], moved).fetchone()
    if row is None:
        return Applied(False)
    seq = int(row["seq"])
    survivors = dict(pair for spec in one.specs if (pair := _refused(db, spec, now)))
    first = one.state.evaluated - len(one.evaluations) + 1
    told = [not_made(each) if each.job in survivors else each for each in one.evaluations]
    rows = [{"seq": seq, "number": number, "body": encode(each)} for number, each in enumerate(told, first)]
    db.executemany(SQL["put_evaluation"], rows)
    db.executemany(SQL["put_validation"], [_validation_row(seq, each) for each in one.validations])
    if is_time_to_trim(one):
        db.execute(SQL["trim_evaluations"], {"seq": seq, "keep": MAX_EVALUATIONS})
        db.execute(SQL["trim_validations"], {"seq": seq, "keep": MAX_VALIDATIONS, "before": one.forget_before})
    return Applied(True, survivors)


def _validation_row(seq: int, one: Validation) -> dict[str, object]:
    return {
        "seq": seq,
        "received_at": one.event.received_at,
        "event": one.event.id,
        "dependency": one.dependency,
        "own_id": one.event.id if one.has_own_id else None,
        "body": encode(one),
    }


def _refused(db: sqlite3.Connection, spec: JobSpec, now: int) -> tuple[str, str] | None:
    """A job that was not made, and the one that is there instead."""
    if db.execute(SQL["enqueue_jobs"], new_row(spec, now)).rowcount:
        return None
    holder = db.execute(SQL["holder_of_unique_key"], {"queue": spec.queue, "unique_key": spec.unique_key}).fetchone()
    return spec.id, str(holder["id"]) if holder else spec.id
