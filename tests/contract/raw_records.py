"""The records of a store as they lie there, so that tests can spoil them as a crash or another version would."""

import sqlite3
from collections.abc import Callable

import msgspec

from rota.store import Store
from rota.store.redis.keys import JOB_TYPES, NODE_TYPES, NODES, QueueKeys, TopicKeys
from rota.store.redis.store import RedisStore
from rota.store.sqlite.store import SqliteStore

Change = Callable[[bytes], bytes]
FREE = frozenset({"arguments", "metadata", "results", "errors", "counts"})
"""Fields whose content is the user's, or has names of its own."""

_SQLITE = {
    "spec": ("jobs", "spec", "id"),
    "ending": ("jobs", "ending", "id"),
    "node type": ("node_types", "body", "uuid"),
    "job type": ("job_types", "body", "uuid"),
    "node": ("nodes", "body", "uuid"),
    "schedule": ("schedules", "body", "uuid"),
    "schedule state": ("schedules", "state", "uuid"),
    "tick": ("ticks", "body", "schedule"),
    "configuration": ("configurations", "body", "uuid"),
    "configuration state": ("configurations", "state", "uuid"),
    "event": ("outbox", "body", "queue"),
    "log line": ("logs", "entry", "job_id"),
}
_OF_CONFIGURATIONS = {"evaluation": "evaluations", "validation": "validations"}


def change_records(store: Store, kind: str, key: str, change: Change, *, queue: str = "") -> None:
    """Put something else in the place of the records of one kind that belong to a key. In Redis, what belongs to a
    queue is found by that."""
    if isinstance(store, SqliteStore):
        with store._database.write() as db:
            _change_rows(db, kind, key, change)
    else:
        assert isinstance(store, RedisStore)
        _change_values(store, kind, key, change, queue)


def _change_rows(db: sqlite3.Connection, kind: str, key: str, change: Change) -> None:
    if kind in _OF_CONFIGURATIONS:
        table, column = _OF_CONFIGURATIONS[kind], "body"
        where = "configuration = (SELECT seq FROM configurations WHERE uuid = ?)"
    elif kind == "topic record":
        table, column, where = "topic_records", "record", "topic = (SELECT number FROM topics WHERE name = ?)"
    else:
        table, column, name = _SQLITE[kind]
        where = f"{name} = ?"
    records = {bytes(row[0]) for row in db.execute(f"SELECT {column} FROM {table} WHERE {where}", (key,))}
    assert records, f"there is no {kind} {key}"
    for record in records:
        found = (change(record), record, key)
        db.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ? AND {where}", found)


def _change_values(store: RedisStore, kind: str, key: str, change: Change, queue: str) -> None:
    k = QueueKeys(queue)
    hashes = {
        "spec": k.jobs,
        "mark": k.marks,
        "ending": k.ended,
        "node type": NODE_TYPES.bodies,
        "job type": JOB_TYPES.bodies,
        "node": NODES,
        "schedule": k.schedules,
        "configuration": k.configurations,
    }
    states = {"schedule state": k.schedule_states, "configuration state": k.configuration_states}
    sorted_sets = {"tick": k.ticks(key), "validation": k.validations(key), "event": k.outbox}
    if kind in hashes:
        store.access().ask("hset", hashes[kind], key, change(store.access().ask("hget", hashes[kind], key)))
    elif kind in states:
        version, _, state = store.access().ask("hget", states[kind], key).partition(b" ")
        store.access().ask("hset", states[kind], key, version + b" " + change(state))
    elif kind in sorted_sets:
        for member, score in store.access().ask("zrange", sorted_sets[kind], 0, -1, withscores=True):
            store.access().ask("zrem", sorted_sets[kind], member)
            store.access().ask("zadd", sorted_sets[kind], {change(member): score})
    elif kind == "topic record":
        for place, record in store.access().ask("hgetall", TopicKeys(key).records).items():
            head, _, body = record.partition(b"\n")
            store.access().ask("hset", TopicKeys(key).records, place, head + b"\n" + change(body))
    else:
        name = {"evaluation": k.evaluations(key), "log line": k.log(key)}[kind]
        for n, record in enumerate(store.access().ask("lrange", name, 0, -1)):
            store.access().ask("lset", name, n, change(record))


def records_with(store: Store, text: str) -> list[str]:
    """The tables of SQLite, or the keys of one server of Redis, in which something is said of a thing."""
    if isinstance(store, SqliteStore):
        with store._database.read() as db:
            names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            contents = {name: [tuple(row) for row in db.execute(f"SELECT * FROM {name}")] for name in names}
        return [name for name, rows in contents.items() if text in repr(rows)]
    assert isinstance(store, RedisStore)
    ask = store.access().ask
    return [key.decode() for key in ask("keys", "*") if text.encode() in key or text in repr(_content(ask, key))]


def _content(ask: Callable[..., object], key: bytes) -> object:
    read: dict[object, tuple[object, ...]] = {
        b"hash": ("hgetall", key),
        b"zset": ("zrange", key, 0, -1),
        b"set": ("smembers", key),
        b"list": ("lrange", key, 0, -1),
        b"string": ("get", key),
    }
    return ask(*read[ask("type", key)])


def with_unknown_fields(record: bytes) -> bytes:
    """The record as a newer version would write it: every object in it has fields that nobody knows yet."""
    return msgspec.json.encode(_grown(msgspec.json.decode(record)))


def _grown(value: object) -> object:
    if isinstance(value, list):
        return [_grown(one) for one in value]
    if not isinstance(value, dict):
        return value
    known = {name: one if name in FREE else _grown(one) for name, one in value.items()}
    return {**known, "from_the_future": {"deep": [1, None, {"er": "x"}]}, "also": "new"}
