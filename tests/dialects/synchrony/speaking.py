"""A store with the dialect beside it, driven by hand."""

from collections.abc import Mapping
from typing import Any

import msgspec

from rota.clock import ManualClock
from rota.dialects.synchrony.adoption import Adoption
from rota.dialects.synchrony.exchange import Exchange
from rota.engine.engine import Engine
from rota.engine.node.dialect import DialectContext
from rota.model.ids import new_id
from rota.store import Store
from rota.store.redis.link.access import RedisAccess
from rota.store.redis.store import RedisStore


class Speaker:
    """What one node has, without the node."""

    def __init__(
        self,
        store: Store,
        *,
        seen: Store | None = None,
        access: RedisAccess | None = None,
        node_type: str = "default",
        roles: frozenset[str] = frozenset({"worker", "scheduler"}),
    ) -> None:
        """`seen` and `access` are the store and the access to its server as the node has them, perhaps with faults."""
        assert isinstance(store, RedisStore)
        self.store = store
        self.clock = ManualClock(store.now())
        self.access = store.access()
        used, reached = seen or store, access or self.access
        self.engine = Engine(used, self.clock)
        self.definitions = self.engine.definitions
        self.schedules = self.engine.schedules
        self.context = DialectContext(
            engine=self.engine, node=new_id(self.clock.now()), node_type=node_type, roles=roles
        )
        self.exchange = Exchange(reached, self.context)
        self.adoption = Adoption(reached, self.engine, self.exchange.learn)

    def round(self) -> None:
        """One round of the exchange, a second later."""
        self.exchange.run_once(self.clock.advance(1_000))

    def write(self, key: str, field: str, record: object) -> None:
        """What another program does."""
        text = record if isinstance(record, str) else msgspec.json.encode(record)
        self.access.ask("hset", key, field, text)

    def erase(self, key: str, field: str) -> None:
        self.access.ask("hdel", key, field)

    def shown(self, key: str) -> dict[str, Any]:
        """What another program sees."""
        raw: Mapping[bytes, bytes] = self.access.ask("hgetall", key)
        return {field.decode(): msgspec.json.decode(text) for field, text in raw.items()}
