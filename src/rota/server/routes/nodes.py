"""Nodes: the processes that serve."""

from msgspec import Struct

from rota.engine.access.keys.access import Scope
from rota.engine.liveness.draining import request_drain
from rota.errors import NotFound
from rota.model.node import DEAD_AFTER_MS
from rota.server.answers import DoneTo
from rota.server.api import Api
from rota.server.operations import Call, Routes
from rota.shapes import fields
from rota.shapes.nodes import NodeShape, node_shape

routes = Routes("nodes")


class NodeQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which nodes; those that live, unless told."""

    since: fields.Instant | None = None
    """Those that were active at this instant or later, also if they died since: 0 has all that are known."""


class NodeList(Struct, frozen=True):
    """Nodes that were active in the last 20 seconds, or since an instant."""

    nodes: list[NodeShape]


@routes.get("/api/nodes", needs=Scope.NODES_READ, query=NodeQuery, answer=NodeList)
def list_nodes(api: Api, call: Call[None, NodeQuery]) -> NodeList:
    """Nodes that were active in the last 20 seconds.

    With `since`, those that were active then or later. Those that died are known for a while.
    """
    since = call.query.since
    return NodeList(_shapes(api, api.engine.clock.now() - DEAD_AFTER_MS + 1 if since is None else since))


@routes.get("/api/nodes/{uuid}", needs=Scope.NODES_READ, answer=NodeShape, errors=(404,))
def show_node(api: Api, call: Call[None, None]) -> NodeShape:
    """One node. Those that died are shown for a while."""
    for node in _shapes(api, 0):
        if node.uuid == call.path["uuid"]:
            return node
    raise NotFound("node", call.path["uuid"])


@routes.post("/api/nodes/{uuid}/drain", needs=Scope.NODES_WRITE, answer=DoneTo, errors=(404,))
def drain_node(api: Api, call: Call[None, None]) -> DoneTo:
    """Ask a node to claim nothing more, let its running jobs end, and stop. It hears of it within 5 seconds."""
    return DoneTo(uuid=request_drain(api.engine.store, call.path["uuid"]).uuid)


def _shapes(api: Api, since: int) -> list[NodeShape]:
    now = api.engine.clock.now()
    names = {one.uuid: one.name for one in api.engine.definitions.node_types()}
    return [node_shape(node, names, now) for node in api.engine.store.list_nodes(since=since)]
