"""Asking a node, wherever it runs, to drain: claim nothing more, let running jobs end, and stop.

The request is a setting in the store, which the node reads with its next beat.
"""

from rota.engine.access.audit.record import Change, recorded
from rota.errors import NotFound
from rota.model.node import Node
from rota.store.contract.store import Store

_SETTING = "drain:"


def request_drain(store: Store, uuid: str) -> Node:
    """Ask a node that is there."""
    for node in store.list_nodes(since=0):
        if node.uuid == uuid:
            with recorded(store, Change(action="drain", kind="node", name=f"{node.host}:{node.pid}", uuid=uuid)):
                store.put_setting(_SETTING + uuid, "1")
            return node
    raise NotFound("node", uuid)


def is_drain_requested(store: Store, uuid: str) -> bool:
    return store.get_setting(_SETTING + uuid) is not None


def forget_drain_request(store: Store, uuid: str) -> None:
    """The node is gone, and the request with it."""
    store.delete_setting(_SETTING + uuid)
