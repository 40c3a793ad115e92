"""The configurations of the SQLite store, and what events did to them."""

import sqlite3
from collections.abc import Sequence

import msgspec

from rota.errors import Conflict
from rota.model.events.configuration import Configuration
from rota.model.events.evaluation import Evaluation
from rota.model.events.event import Event
from rota.store.contract.events import (
    Applied,
    ConfigurationChange,
    ConfigurationEntry,
    ConfigurationPage,
    JobRules,
    Place,
    Validation,
    Verdicts,
)
from rota.store.records.codec import (
    decode_configuration,
    decode_configuration_state,
    decode_evaluation,
    encode,
    encode_over,
)
from rota.store.sqlite.database.queries import SQL, json_array
from rota.store.sqlite.nouns.definitions import version_in
from rota.store.sqlite.nouns.events.awaited import SqliteAwaited, listening_in
from rota.store.sqlite.nouns.events.index import index_configuration, match_event, unindex_configuration
from rota.store.sqlite.nouns.events.outbox import SqliteOutbox
from rota.store.sqlite.nouns.events.records import SqliteEventRecords
from rota.store.sqlite.nouns.events.verdicts import apply_verdicts
from rota.store.sqlite.nouns.queues.stats import count_up

_decode_validation = msgspec.json.Decoder(Validation).decode


class SqliteEvents(SqliteOutbox, SqliteEventRecords, SqliteAwaited):
    """See `rota.store.contract.events.EventStore` for what each method promises."""

    def put_configurations(
        self, changes: Sequence[ConfigurationChange], *, rules_version: int | None = None
    ) -> list[bool]:
        with self._database.write() as db:
            if rules_version is not None and rules_version != version_in(db):
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
            return listening_in(db, self._unreadable)

    def read_job_rules(self) -> JobRules:
        with self._database.read() as db:
            return JobRules(version_in(db), listening_in(db, self._unreadable))

    def match_events(self, events: Sequence[Event]) -> list[list[Place]]:
        found: dict[tuple[str, str], list[Place]] = {}
        with self._database.read() as db:
            for event in events:
                kind = (event.type, event.resource)
                if kind not in found:
                    found[kind] = match_event(db, event)
        return [found[event.type, event.resource] for event in events]

    def load_configurations(
        self, queue: str, uuids: Sequence[str], *, event_ids: Sequence[str] = ()
    ) -> list[ConfigurationEntry | None]:
        ids = json_array(event_ids)
        with self._database.read() as db:
            rows = [db.execute(SQL["find_configuration"], {"uuid": uuid}).fetchone() for uuid in uuids]
            known = [_known_events(db, row, ids) if row and event_ids else frozenset() for row in rows]
        entries = [self._configuration(row, ids) if row else None for row, ids in zip(rows, known, strict=True)]
        return [entry if entry and entry.configuration.queue == queue else None for entry in entries]

    def apply_verdicts(self, queue: str, verdicts: Sequence[Verdicts], *, now: int) -> list[Applied]:
        with self._database.write() as db:
            answers = [apply_verdicts(db, one, now, self._awaited_ends) for one in verdicts]
            done = zip(verdicts, answers, strict=True)
            made = sum(len(one.specs) - len(answer.survivors) for one, answer in done if answer.done)
            count_up(db, queue, "enqueued", made, now)
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
        index_configuration(db, seq, before=before, after=one)
    return is_done


def _delete(db: sqlite3.Connection, uuid: str) -> bool:
    row = db.execute(SQL["find_configuration"], {"uuid": uuid}).fetchone()
    if row is None:
        return False
    unindex_configuration(db, row)
    for query in ("delete_configuration", "delete_validations", "delete_evaluations"):
        db.execute(SQL[query], {"seq": row["seq"]})
    return True


def _entry(row: sqlite3.Row, known_events: frozenset[str] = frozenset()) -> ConfigurationEntry:
    return ConfigurationEntry(decode_configuration(row["body"]), decode_configuration_state(row["state"]), known_events)


def _known_events(db: sqlite3.Connection, row: sqlite3.Row, ids: str) -> frozenset[str]:
    found = db.execute(SQL["known_events"], {"seq": row["seq"], "ids": ids})
    return frozenset(str(one["own_id"]) for one in found)
