"""The native JSON of nodes, and of queues with what waits there: Synchrony's keys, and ours beside them."""

from collections.abc import Mapping

from msgspec import Struct

from rota.model.job import JobState
from rota.model.node import Node, NodeType
from rota.shapes.codec import As, Codec, as_list


class QueueShape(Struct, frozen=True, kw_only=True):
    """A queue with its jobs by state."""

    uuid: str
    name: str
    thread_count: int
    paused: bool
    workers: int
    jobs: dict[str, int]


class NodeShape(Struct, frozen=True, kw_only=True):
    """One process."""

    uuid: str
    node_type_uuid: str
    node_type: str | None
    last_ping: int
    started_at: int
    host: str
    pid: int
    version: str
    roles: list[str]
    slots: int
    running: int
    alive: bool
    draining: bool
    trouble: str | None
    """What is wrong with it, in its own words; null when all is well."""


_NODE = Codec(Node, NodeShape, node_type_uuid=As("node_type"), roles=as_list("roles"))


def node_shape(node: Node, queue_names: Mapping[str, str], now: int) -> NodeShape:
    return _NODE.shape(node, node_type=queue_names.get(node.node_type), alive=node.is_alive(now))


node_of = _NODE.value


def queue_shape(
    node_type: NodeType, counts: Mapping[JobState, int], nodes: list[Node], *, is_paused: bool
) -> QueueShape:
    """`nodes` are those that live."""
    return QueueShape(
        uuid=node_type.uuid,
        name=node_type.name,
        thread_count=node_type.thread_count,
        paused=is_paused,
        workers=sum(node.node_type == node_type.uuid and node.slots > 0 for node in nodes),
        jobs={state.value: count for state, count in counts.items()},
    )
