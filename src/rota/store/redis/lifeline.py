"""A node's own line to Redis."""

from collections.abc import Sequence
from typing import Any

from redis.exceptions import ConnectionError as RedisConnectionError

from rota.model.ids import new_pulse
from rota.model.node import Node
from rota.store.claims import Renewal
from rota.store.records.codec import encode
from rota.store.redis.connection import Address, translated_errors
from rota.store.redis.keys import NODES, PINGS, QueueKeys
from rota.store.redis.scripts import SCRIPTS, Value


class RedisLifeline:
    """See `rota.store.claims.Lifeline`. Has a client of its own, made at the first call."""

    def __init__(self, address: Address, timeout_s: float) -> None:
        self._address = address
        self._timeout_s = timeout_s
        self._client: Any = None

    def renew_claims(self, queue: str, node: str, held: dict[str, str]) -> Renewal:
        keys = QueueKeys(queue)
        args: list[Value] = [node, new_pulse(), *(part for pair in held.items() for part in pair)]
        cancelled, lost = self._run("renew_claims", [keys.running, keys.cancelling, keys.pulses], args)
        return Renewal([raw.decode() for raw in cancelled], [raw.decode() for raw in lost])

    def beat(self, node: Node) -> None:
        self._run("beat", [NODES, PINGS], [node.uuid, node.last_ping, encode(node)])

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def _run(self, name: str, keys: Sequence[str], args: Sequence[Value]) -> Any:
        """Call a script; once more if the connection broke since it was last used."""
        with translated_errors(self._address.shown):
            if self._client is None:
                self._client = self._address.connect(answer_timeout_s=self._timeout_s)
            try:
                return SCRIPTS[name].call(self._client, keys, args)
            except RedisConnectionError:
                return SCRIPTS[name].call(self._client, keys, args)
