"""What a queue is like now."""

from rota.engine.definitions.definitions import Definitions
from rota.model.job import JobState
from rota.model.node import DEAD_AFTER_MS, Node
from rota.model.why.queue import QueueFacts
from rota.store.contract.store import Store


def live_nodes(store: Store, now: int) -> list[Node]:
    return [node for node in store.list_nodes(since=now - DEAD_AFTER_MS) if node.is_alive(now)]


def queue_facts(store: Store, definitions: Definitions, queue: str, nodes: list[Node], now: int) -> QueueFacts:
    """`nodes` are all that live."""
    return QueueFacts(
        now=now,
        queue=queue,
        node_type=next((one for one in definitions.node_types() if one.uuid == queue), None),
        is_paused=queue in store.paused_queues(),
        nodes=tuple(node for node in nodes if node.node_type == queue),
        running=store.count_jobs(queue).get(JobState.RUNNING, 0),
    )
