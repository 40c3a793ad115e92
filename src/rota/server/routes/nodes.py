"""Nodes: the processes that serve."""

from msgspec import Struct

from rota.engine.access.keys.access import Scope
from rota.engine.liveness.draining import request_drain
from rota.errors import NotFound
from rota.model.node import DEAD_AFTER_MS
from rota.server.answers import DoneTo
from rota.server.api import Api
from rota.server.operations import Call, Routes
from rota.shapes.nodes import NodeShape, node_shape

routes = Routes("nodes")


class NodeList(Struct, frozen=True):
    """Nodes that were active in the last 20 seconds."""

    nodes: list[NodeShape]


@routes.get("/api/nodes", needs=Scope.NODES_READ, answer=NodeList)
def list_nodes(api: Api, call: Call[None, None]) -> NodeList:
    """Nodes that were active in the last 20 seconds."""
    return NodeList(_shapes(api, api.engine.clock.now() - DEAD_AFTER_MS + 1))


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
