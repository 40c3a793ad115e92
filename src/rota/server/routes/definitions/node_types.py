"""Node types: the queues, and how many jobs a node of each runs at a time."""

from msgspec import Struct

from rota.engine.access.keys.access import Scope
from rota.errors import InvalidInput, NotFound
from rota.model.ids import is_id, new_id
from rota.model.node import NodeType
from rota.server.answers import Done, DoneTo
from rota.server.api import Api
from rota.server.bodies.decoding import check_path_uuid
from rota.server.operations import Call, Routes
from rota.shapes import fields
from rota.shapes.definitions import NodeTypeShape, node_type_shape

routes = Routes("node types")


class NodeTypeBody(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A node type. Its uuid is the one in the path; where that has a name, it may be left out. So may the name of one
    that is there: a slip in the path must not make another one."""

    uuid: fields.Uuid | None = None
    name: fields.Name | None = None
    thread_count: fields.Threads
    managed_by: str | None = None
    """Ignored: who owns a node type is not for the client to say."""


class NodeTypeList(Struct, frozen=True):
    """All node types, by name."""

    node_types: list[NodeTypeShape]


@routes.get("/api/node_types", needs=Scope.TYPES_READ, answer=NodeTypeList)
def list_node_types(api: Api, call: Call[None, None]) -> NodeTypeList:
    """All node types."""
    return NodeTypeList([node_type_shape(one) for one in api.engine.definitions.node_types()])


@routes.get("/api/node_types/{node_type}", needs=Scope.TYPES_READ, answer=NodeTypeShape, errors=(404,))
def show_node_type(api: Api, call: Call[None, None]) -> NodeTypeShape:
    """One node type."""
    return node_type_shape(api.engine.definitions.current_node_type(call.path["node_type"]))


@routes.post("/api/node_types/{node_type}", needs=Scope.TYPES_WRITE, body=NodeTypeBody, answer=Done, errors=(404, 409))
def put_node_type(api: Api, call: Call[NodeTypeBody, None]) -> Done:
    """Create a node type, or change the one of this uuid or name. Nodes follow a new thread_count at once."""
    body, uuid = call.body, _uuid_of(api, call)
    if body.uuid is not None:
        check_path_uuid(body.uuid, uuid)
    name = body.name or _name_of(api, uuid)
    api.engine.definitions.put_node_type(NodeType(uuid=uuid, name=name, thread_count=body.thread_count))
    return Done()


def _name_of(api: Api, uuid: str) -> str:
    found = api.engine.definitions.known_node_type(uuid)
    if found is None:
        raise InvalidInput("name", "is missing")
    return found.name


def _uuid_of(api: Api, call: Call[NodeTypeBody, None]) -> str:
    """What the path names: a uuid, new or not, the name of a node type, or the name of a new one."""
    name, body = call.path["node_type"], call.body
    if is_id(name):
        return name
    try:
        return api.engine.definitions.current_node_type(name).uuid
    except NotFound:
        if body.name != name:
            raise
    return body.uuid.lower() if body.uuid else new_id(api.engine.clock.now())


@routes.delete("/api/node_types/{node_type}", needs=Scope.TYPES_WRITE, answer=DoneTo, errors=(404, 409))
def delete_node_type(api: Api, call: Call[None, None]) -> DoneTo:
    """Remove a node type that no job type uses and whose queue holds no live jobs."""
    found = api.engine.definitions.current_node_type(call.path["node_type"])
    api.engine.definitions.delete_node_type(found.uuid)
    return DoneTo(uuid=found.uuid)


@routes.post("/api/node_types/{node_type}/pause", needs=Scope.QUEUES_WRITE, answer=DoneTo, errors=(404,))
def pause_queue(api: Api, call: Call[None, None]) -> DoneTo:
    """Give out no jobs of this queue. Running ones go on, new ones are accepted."""
    found = api.engine.definitions.current_node_type(call.path["node_type"])
    return DoneTo(uuid=api.engine.queues.pause(found.uuid).uuid)


@routes.post("/api/node_types/{node_type}/resume", needs=Scope.QUEUES_WRITE, answer=DoneTo, errors=(404,))
def resume_queue(api: Api, call: Call[None, None]) -> DoneTo:
    """Give out jobs again."""
    found = api.engine.definitions.current_node_type(call.path["node_type"])
    return DoneTo(uuid=api.engine.queues.resume(found.uuid).uuid)
