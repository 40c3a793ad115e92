"""The records of nodes in the SQLite store."""

import sqlite3

from rota.model.node import Node
from rota.store.records.codec import decode_node, encode
from rota.store.records.unreadable import unreadable_node
from rota.store.sqlite.database.noun import SqliteNoun
from rota.store.sqlite.database.queries import SQL


class SqliteNodes(SqliteNoun):
    """See `rota.store.contract.nodes.NodeStore` for what each method promises."""

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


def write_node(db: sqlite3.Connection, node: Node) -> None:
    """Write a node's record, as part of a transaction."""
    db.execute(SQL["beat"], {"uuid": node.uuid, "last_ping": node.last_ping, "body": encode(node)})
