"""The topics that a SQLite store keeps."""

import sqlite3
from collections.abc import Iterable, Sequence

import msgspec

from rota.model.topics.topic import TopicRecord
from rota.store.contract.topics import MAX_PAGE_BYTES, MAX_TOPICS, TopicEntry, TopicPage, TopicRow, too_many_topics
from rota.store.sqlite.database.noun import SqliteNoun
from rota.store.sqlite.database.queries import SQL

_decode = msgspec.json.Decoder(TopicRecord).decode
_encode = msgspec.json.Encoder().encode


class SqliteTopics(SqliteNoun):
    """See `rota.store.contract.topics.TopicStore` for what each method promises."""

    def append_topic(self, topic: str, records: Sequence[TopicRecord]) -> list[int]:
        with self._database.write() as db:
            found = _find(db, topic) or _make(db, topic)
            number, end = int(found["number"]), int(found["next_offset"])
            places: list[int] = []
            for record in records:
                place = _place_of(db, number, record.id)
                if place is None:
                    place, end = end, end + 1
                    _insert(db, number, place, record)
                places.append(place)
            db.execute(SQL["end_topic_at"], {"topic": number, "place": end})
        return places

    def read_topic(self, topic: str, *, offset: int, limit: int) -> TopicPage | None:
        with self._database.read() as db:
            found = _find(db, topic)
            if found is None:
                return None
            wanted = {"topic": found["number"], "offset": offset, "limit": limit}
            raw = _up_to_a_page(db.execute(SQL["read_topic"], wanted))
        entry = _entry(found)
        following = raw[-1]["place"] + 1 if raw else min(max(offset, entry.first), entry.end)
        rows = self._unreadable.read_all("records of topic", topic, _row, raw)
        return TopicPage(entry, rows, following)

    def list_topics(self, *, limit: int, after: str = "") -> list[TopicEntry]:
        with self._database.read() as db:
            return [_entry(row) for row in db.execute(SQL["list_topics"], {"after": after, "limit": limit})]

    def trim_topics(self, topics: Sequence[str], *, older_than: int, keep: int, limit: int) -> int:
        return sum(self._trim(topic, older_than=older_than, keep=keep, limit=limit) for topic in topics)

    def _trim(self, topic: str, *, older_than: int, keep: int, limit: int) -> int:
        with self._database.write() as db:
            found = _find(db, topic)
            if found is None:
                return 0
            bounds = {"older_than": older_than, "kept_from": found["next_offset"] - keep, "limit": limit}
            return db.execute(SQL["trim_topics"], {"topic": found["number"], **bounds}).rowcount

    def restore_topic(self, topic: TopicEntry, rows: Sequence[TopicRow]) -> None:
        with self._database.write() as db:
            number = int((_find(db, topic.name) or _make(db, topic.name))["number"])
            for row in rows:
                if _place_of(db, number, row.record.id) is None:
                    _insert(db, number, row.offset, row.record)
            db.execute(SQL["end_topic_at"], {"topic": number, "place": topic.end})


def _up_to_a_page(rows: Iterable[sqlite3.Row]) -> list[sqlite3.Row]:
    found: list[sqlite3.Row] = []
    size = 0
    for row in rows:
        found.append(row)
        size += len(row["record"])
        if size >= MAX_PAGE_BYTES:
            break
    return found


def _find(db: sqlite3.Connection, topic: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = db.execute(SQL["find_topic"], {"name": topic}).fetchone()
    return row


def _make(db: sqlite3.Connection, topic: str) -> sqlite3.Row:
    db.execute(SQL["make_topic"], {"name": topic, "most": MAX_TOPICS})
    found = _find(db, topic)
    if found is None:
        raise too_many_topics(topic)
    return found


def _place_of(db: sqlite3.Connection, topic: int, id: str) -> int | None:
    row = db.execute(SQL["place_of_topic_record"], {"topic": topic, "id": id}).fetchone()
    return None if row is None else int(row["place"])


def _insert(db: sqlite3.Connection, topic: int, place: int, record: TopicRecord) -> None:
    values = {"topic": topic, "place": place, "id": record.id, "published": record.time, "record": _encode(record)}
    db.execute(SQL["append_topic"], values)


def _entry(row: sqlite3.Row) -> TopicEntry:
    return TopicEntry(row["name"], int(row["first"]), int(row["next_offset"]))


def _row(row: sqlite3.Row) -> TopicRow:
    return TopicRow(int(row["place"]), _decode(row["record"]))
