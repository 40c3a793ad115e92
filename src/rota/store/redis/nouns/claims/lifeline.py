"""A node's own line to Redis."""

from rota.model.ids import new_pulse
from rota.model.node import Node
from rota.store.contract.claims import Renewal
from rota.store.records.codec import encode
from rota.store.redis.keys import NODES, PINGS, QueueKeys
from rota.store.redis.link.commands import Value
from rota.store.redis.link.connection import Address
from rota.store.redis.link.link import Link


class RedisLifeline:
    """See `rota.store.contract.claims.Lifeline`. Has a link of its own, which connects at the first call. Nothing is
    repeated: the heart tries again soon, and a call must not take twice its patience."""

    def __init__(self, address: Address, timeout_s: float) -> None:
        self._link = Link(address, answer_timeout_s=timeout_s)

    def renew_claims(self, queue: str, node: str, held: dict[str, str]) -> Renewal:
        keys = QueueKeys(queue)
        args: list[Value] = [node, new_pulse(), *(part for pair in held.items() for part in pair)]
        places = [keys.running, keys.cancelling, keys.pulses]
        cancelled, lost = self._link.run("renew_claims", places, args, repeats=False)
        return Renewal([raw.decode() for raw in cancelled], [raw.decode() for raw in lost])

    def beat(self, node: Node) -> None:
        self._link.run("beat", [NODES, PINGS], [node.uuid, node.last_ping, encode(node)], repeats=False)

    def close(self) -> None:
        self._link.close()
