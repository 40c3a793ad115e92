"""What must be gone from a store when all jobs have ended and all nodes have left.

What belongs to a node that was killed stays until the watchdog forgets that node, some minutes later; it counts only
once the node is no longer listed, because then nobody will ever remove it. So it is with one that was told to stop and
could not take leave, because the store was away just then.
"""

import sqlite3
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from rota.model.node import Node
from rota.store import Store
from rota.store.redis.keys import QueueKeys
from tests.servers import raw_command

LIVE_PARTS = ("ready", "delayed", "held", "running", "cancelling", "locks", "unique", "outbox")
"""Parts of a queue in Redis that live jobs have and ended ones do not."""
NODE_PARTS = ("pulses", "floors")
"""Parts of a queue in Redis, and tables of SQLite, with an entry per node; SQLite keeps both in one table."""
_SIZES = {"zset": "ZCARD", "hash": "HLEN", "list": "LLEN"}

SQLITE_LEFTOVERS = {
    "live jobs": "SELECT count(*) FROM jobs WHERE state IN ('delayed', 'queued', 'running')",
    "jobs held back by a lock": "SELECT count(*) FROM jobs WHERE held = 1",
    "cancellations": "SELECT count(*) FROM jobs WHERE cancel_requested = 1",
    "ends that nobody took as events": "SELECT count(*) FROM outbox",
    "log lines of no job": "SELECT count(*) FROM logs WHERE job_id NOT IN (SELECT id FROM jobs)",
}
LEAVE_FAILED = "could not take leave of the store"
"""What the log of such a node says."""


def still_listed(nodes: Iterable[Node], logs: Iterable[str]) -> list[str]:
    """Nodes that were told to stop, and could have taken their leave."""
    failed = [line for log in logs for line in log.splitlines() if LEAVE_FAILED in line]
    stopped = [node.uuid for node in nodes if node.draining]
    return [f"the node {node} is still listed" for node in stopped if not any(node in line for line in failed)]


def left_in_redis(ports: list[int], queues: list[str], store: Store) -> list[str]:
    """One line per thing that was left."""
    nodes = {node.uuid for node in store.list_nodes(since=0)}
    return [line for port in ports for queue in queues for line in _left_in_queue(port, QueueKeys(queue), nodes)]


def _left_in_queue(port: int, keys: QueueKeys, nodes: Collection[str]) -> Iterator[str]:
    """The part of one server. On a cluster most servers have nothing of a queue."""
    names = set(raw_command(port, "KEYS", "rota:*").splitlines())
    for part in LIVE_PARTS:
        if (name := getattr(keys, part)) in names:
            yield f"{raw_command(port, _SIZES[raw_command(port, 'TYPE', name)], name)} in {name}"
    for name in {getattr(keys, part, "") for part in NODE_PARTS} & names:
        fields = raw_command(port, "HGETALL", name).splitlines()
        # The floor of a node that has left, with the time when it did, goes an hour later.
        strangers = {node for node, said in zip(fields[::2], fields[1::2], strict=True) if " " not in said} - set(nodes)
        yield from (f"{node} in {name}" for node in sorted(strangers))
    inboxes = keys.inbox("")
    for name in sorted(names):
        if name.startswith(inboxes) and name.removeprefix(inboxes) not in nodes:
            yield f"messages to nobody in {name}"


def left_in_sqlite(path: Path) -> list[str]:
    database = sqlite3.connect(path)
    try:
        counts = {name: database.execute(query).fetchone()[0] for name, query in _queries(database).items()}
        verdict = database.execute("PRAGMA integrity_check").fetchone()[0]
    finally:
        database.close()
    found = [f"{count} {name}" for name, count in counts.items() if count]
    return found if verdict == "ok" else [*found, f"the file is damaged: {verdict}"]


def _queries(database: sqlite3.Connection) -> dict[str, str]:
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    of_nodes = {
        f"{part} of nobody": f"SELECT count(*) FROM {part} WHERE node NOT IN (SELECT uuid FROM nodes)"
        for part in NODE_PARTS
        if part in tables
    }
    return SQLITE_LEFTOVERS | of_nodes
