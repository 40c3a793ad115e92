"""The nodes of the Redis store. They write their own records over their lifelines, see `claims/lifeline.py`."""

from rota.model.node import Node
from rota.store.records.codec import decode_node
from rota.store.records.unreadable import unreadable_node
from rota.store.redis.keys import NODES, PINGS
from rota.store.redis.link.part import RedisPart


class RedisNodes(RedisPart):
    """See `rota.store.contract.nodes.NodeStore` for what each method promises."""

    def list_nodes(self, *, since: int) -> list[Node]:
        pings = sorted(self._redis.zrangebyscore(PINGS, since, "+inf", withscores=True))
        bodies = self._redis.hmget(NODES, [uuid for uuid, _ in pings]) if pings else []
        pairs = zip(pings, bodies, strict=True)
        return [
            self._node(uuid.decode(), int(last_ping), body) for (uuid, last_ping), body in pairs if body is not None
        ]

    def _node(self, uuid: str, last_ping: int, body: bytes) -> Node:
        found = self._unreadable.read("node", uuid, lambda: decode_node(body))
        return found or unreadable_node(uuid, last_ping)

    def remove_nodes(self, *, uuid: str | None = None, silent_since: int | None = None) -> int:
        removed = int(self._link.run("remove_nodes", [NODES, PINGS], [uuid, ""])) if uuid else 0
        if silent_since is not None:
            removed += int(self._link.run("remove_nodes", [NODES, PINGS], ["", silent_since]))
        return removed
