"""Asking a node, wherever it runs, to drain: claim nothing more, let running jobs end, and stop.

The wish is a setting in the store, which the node reads with its next beat.
"""

from rota.errors import NotFound
from rota.model.node import Node
from rota.store.store import Store

_SETTING = "drain:"


def ask_to_drain(store: Store, uuid: str) -> Node:
    """Leave word for a node that is there."""
    for node in store.list_nodes(since=0):
        if node.uuid == uuid:
            store.put_setting(_SETTING + uuid, "1")
            return node
    raise NotFound("node", uuid)


def is_to_drain(store: Store, uuid: str) -> bool:
    return store.get_setting(_SETTING + uuid) is not None


def forget_drain(store: Store, uuid: str) -> None:
    """The node is gone, and the wish with it."""
    store.delete_setting(_SETTING + uuid)
