"""The node types and job types of the SQLite store, and the version that changes with them."""

import sqlite3
from collections.abc import Iterable, Sequence

from rota.errors import Conflict
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.store.records.codec import decode_job_type, decode_node_type, encode_over
from rota.store.records.unreadable import (
    UNREADABLE_ERRORS,
    UnreadableRecords,
    unreadable_job_type,
    unreadable_node_type,
)
from rota.store.records.versions import encode_next_version, refuse_other_version
from rota.store.sqlite.database.noun import SqliteNoun
from rota.store.sqlite.database.queries import SQL
from rota.store.sqlite.nouns.queues.lookup import has_live_jobs


class SqliteDefinitions(SqliteNoun):
    """See `rota.store.contract.definitions.DefinitionStore` for what each method promises."""

    def put_node_types(self, node_types: Sequence[NodeType]) -> None:
        with self._database.write() as db:
            for one in node_types:
                body = encode_over(one, _body(db, SQL["body_of_node_type"], one))
                _put(db, one, "node type", SQL["put_node_types"], body)
            raise_version(db)

    def put_job_types(
        self, job_types: Sequence[JobType], *, same_version: bool = False, rules_version: int | None = None
    ) -> bool:
        with self._database.write() as db:
            if rules_version is not None and rules_version != version_in(db):
                return False
            for one in job_types:
                old = _body(db, SQL["body_of_job_type"], one)
                if same_version:
                    refuse_other_version(one, old)
                _put(db, one, "job type", SQL["put_job_types"], encode_next_version(one, old))
            raise_version(db)
            return True

    def list_node_types(self) -> list[NodeType]:
        with self._database.read() as db:
            return [_node_type(row, self._unreadable) for row in db.execute(SQL["list_node_types"])]

    def list_job_types(self) -> list[JobType]:
        with self._database.read() as db:
            return job_types_in(db, self._unreadable)

    def delete_node_types(self, uuids: Iterable[str]) -> int:
        with self._database.write() as db:
            deleted = 0
            for uuid in uuids:
                if has_live_jobs(db, uuid):
                    raise Conflict(f"node type {uuid} still has live jobs; cancel them or let them end first")
                deleted += db.execute(SQL["delete_node_types"], {"uuid": uuid}).rowcount
            raise_version(db)
            return deleted

    def delete_job_types(self, uuids: Iterable[str]) -> int:
        with self._database.write() as db:
            deleted = sum(db.execute(SQL["delete_job_types"], {"uuid": uuid}).rowcount for uuid in uuids)
            raise_version(db)
            return deleted

    def definitions_version(self) -> int:
        with self._database.read() as db:
            return version_in(db)


def version_in(db: sqlite3.Connection) -> int:
    """The number that changes with every definition."""
    row = db.execute(SQL["definitions_version"]).fetchone()
    return int(row[0]) if row else 0


def raise_version(db: sqlite3.Connection) -> None:
    """Called in the transaction of every change of a definition."""
    db.execute(SQL["raise_definitions_version"])


def job_types_in(db: sqlite3.Connection, unreadable: UnreadableRecords) -> list[JobType]:
    """All job types, by name."""
    return [_job_type(row, unreadable) for row in db.execute(SQL["list_job_types"])]


def _body(db: sqlite3.Connection, query: str, one: NodeType | JobType) -> bytes | None:
    """The record that it replaces, if there is one."""
    row = db.execute(query, {"uuid": one.uuid}).fetchone()
    return row["body"] if row else None


def _put(db: sqlite3.Connection, one: NodeType | JobType, kind: str, query: str, body: bytes) -> None:
    try:
        db.execute(query, {"uuid": one.uuid, "name": one.name, "body": body})
    except sqlite3.IntegrityError:
        raise Conflict(f"another {kind} has the name {one.name!r}") from None


def _node_type(row: sqlite3.Row, unreadable: UnreadableRecords) -> NodeType:
    try:
        return decode_node_type(row["body"])
    except UNREADABLE_ERRORS as error:
        unreadable.note("node type", row["name"], error)
        return unreadable_node_type(row["uuid"], row["name"])


def _job_type(row: sqlite3.Row, unreadable: UnreadableRecords) -> JobType:
    try:
        return decode_job_type(row["body"])
    except UNREADABLE_ERRORS as error:
        reason = unreadable.note("job type", row["name"], error)
        return unreadable_job_type(row["uuid"], row["name"], reason)
