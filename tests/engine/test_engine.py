"""The engine as a whole: what making one costs, and whose clock it goes by."""

from rota.clock import ManualClock, NodeClock
from rota.engine.engine import Engine
from rota.engine.liveness.presence import Presence
from rota.engine.node.node import Node
from rota.engine.node.options import NodeOptions
from rota.store import Store
from rota.testing import Faults


def test_making_an_engine_and_a_node_asks_the_store_nothing(store: Store) -> None:
    faults = Faults(store)
    clock = NodeClock()

    engine = Engine(faults.store, clock)
    Node(engine, clock, NodeOptions(), dialects=(), presence=Presence(None))

    assert faults.calls == []


def test_an_engine_that_was_opened_goes_by_the_stores_clock(store: Store) -> None:
    faults = Faults(store)
    ahead = ManualClock(store.now() + 3_600_000)
    faults.__dict__["now"] = ahead.now

    engine = Engine.open(faults.store)

    assert 0 <= engine.clock.now() - ahead.now() < 60_000
