"""What keeps a queue from giving out jobs, whichever they are."""

from msgspec import Struct

from rota.model.node import Node, NodeType
from rota.model.why.answer import Answer, Code, Reason, answer
from rota.model.why.words import count_of


class QueueFacts(Struct, frozen=True, kw_only=True):
    """What is known of a queue at an instant."""

    now: int
    queue: str
    node_type: NodeType | None
    """None: it is gone."""
    is_paused: bool = False
    nodes: tuple[Node, ...] = ()
    """Those of its node type that live."""
    running: int = 0
    """Jobs of the queue that run."""

    @property
    def name(self) -> str:
        return self.node_type.name if self.node_type else self.queue

    @property
    def workers(self) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.takes_jobs)

    @property
    def slots(self) -> int:
        return sum(node.slots for node in self.workers)


def why_queue(facts: QueueFacts) -> Answer:
    """Why nothing of a queue begins."""
    return answer([*why_closed(facts), *why_full(facts)], _open(facts))


def _open(facts: QueueFacts) -> Reason:
    taken = f"{facts.running} of {count_of(facts.slots, 'slot', 'slots')} taken"
    way = f"Nothing is in the way of the queue {facts.name!r}"
    sentence = f"{way}: with {taken}, a node takes what is due within moments."
    return Reason(code=Code.STARTING, sentence=sentence, running=facts.running, slots=facts.slots, node_type=facts.name)


def why_closed(facts: QueueFacts) -> list[Reason]:
    """Why the queue gives out nothing at all; empty if it does."""
    found = []
    if facts.node_type is None:
        found.append(_node_type_missing(facts))
    if facts.is_paused:
        found.append(_paused(facts))
    if not facts.workers:
        found.append(_no_live_node(facts))
    return found


def _node_type_missing(facts: QueueFacts) -> Reason:
    sentence = (
        f"Its node type {facts.queue} is gone, so no node can serve its queue; define it again, or cancel the job."
    )
    return Reason(code=Code.DEFINITION_MISSING, sentence=sentence, node_type=facts.queue)


def _paused(facts: QueueFacts) -> Reason:
    sentence = f"The queue {facts.name!r} is paused; `rota queues resume {facts.name}` lets its jobs run."
    return Reason(code=Code.PAUSED, sentence=sentence, node_type=facts.name)


def _no_live_node(facts: QueueFacts) -> Reason:
    draining = tuple(node.uuid for node in facts.nodes if node.draining)
    sentence = f"No live node runs jobs of the node type {facts.name!r}"
    if draining:
        sentence += f": {count_of(len(draining), 'is', 'are')} draining, and claims nothing more"
    sentence += f"; start one with `rota worker --node-type {facts.name}`, or `rota up`."
    return Reason(code=Code.NO_LIVE_NODE, sentence=sentence, node_type=facts.name, nodes=draining)


def why_full(facts: QueueFacts) -> list[Reason]:
    """Why no slot is free; empty if one is."""
    if not facts.workers or facts.running < facts.slots:
        return []
    where = count_of(len(facts.workers), "node", "nodes")
    sentence = f"All {facts.slots} slots of the node type {facts.name!r} are taken, on {where}."
    return [
        Reason(
            code=Code.AT_CAPACITY,
            sentence=sentence,
            running=facts.running,
            slots=facts.slots,
            node_type=facts.name,
            nodes=tuple(node.uuid for node in facts.workers),
        )
    ]
