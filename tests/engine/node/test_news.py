"""What a node hears of its store: each thing is asked for whatever becomes of the others. On a cluster they are on
several servers, of which one may be away."""

import asyncio

import pytest

from rota.clock import NodeClock
from rota.engine.engine import Engine
from rota.engine.liveness.draining import request_drain
from rota.engine.node.duty import Round
from rota.engine.node.health import Health
from rota.engine.node.news import News
from rota.engine.node.node import Node
from rota.engine.node.options import NodeOptions
from rota.engine.observation.happenings import ClockFollowed, StoreReplaced
from rota.errors import StoreUnavailable
from rota.model.node import Node as NodeRecord
from rota.store import Store
from rota.testing import Faults
from rota.testing.faults import away
from tests.contract.building import NOW, beat, new_node
from tests.engine.observation.hearing import Heard
from tests.engine.working import is_listed, until, working
from tests.installation import Installation
from tests.patience import DEADLINE_S

pytestmark = pytest.mark.stores("sqlite-memory", "redis")

SHORT_LEASE_MS = 2_000
EVERYTHING = {"troubles", "clock", "definitions", "epoch", "drain"}


class Eventful(Faults):
    """A store with a trouble, and a clock that is an hour ahead of the machine's."""

    def troubles(self) -> list[str]:
        self._prepare("troubles")
        return ["it is nearly full"]

    def now(self) -> int:
        self._prepare("now")
        return self.real.now() + 3_600_000


class Listener:
    """The news of a node to which everything has happened of which it could hear."""

    def __init__(self, store: Store) -> None:
        self.faults, self.node, self._told = Eventful(store), new_node(), Heard()
        clock = NodeClock(self.faults.now)
        self._health = Health(self._told.observers)
        self._engine = Engine(self.faults.store, clock, observers=self._told.observers)
        self._news = News(self._engine, clock, node=self.node, health=self._health)
        self._news.begin()
        Installation(store).define("report")
        ask_to_drain(store, self.node)
        store.put_setting("epoch", "another")

    def hear(self, round: Round) -> set[str]:
        """What was heard."""
        found = {
            "drain": self._news.hear(round),
            "troubles": self._health.trouble is not None,
            "clock": bool(self._told.of(ClockFollowed)),
            "definitions": self._engine.definitions.known_job_type("report") is not None,
            "epoch": bool(self._told.of(StoreReplaced)),
        }
        return {name for name, is_heard in found.items() if is_heard}


def ask_to_drain(store: Store, node: str) -> None:
    beat(store, NodeRecord(uuid=node, node_type=new_node(), last_ping=NOW))
    request_drain(store, node)


def test_a_node_hears_everything_that_happened_at_once(store: Store) -> None:
    round = Round()

    assert Listener(store).hear(round) == EVERYTHING
    round.end()


@pytest.mark.parametrize(
    ("call", "missed"),
    [("troubles", "troubles"), ("now", "clock"), ("definitions_version", "definitions"), ("get_setting", "epoch")],
)
def test_what_cannot_be_heard_keeps_nothing_else_from_being_heard(store: Store, call: str, missed: str) -> None:
    listener, round = Listener(store), Round()

    listener.faults.before(call, away)
    assert listener.hear(round) == EVERYTHING - {missed}
    with pytest.raises(StoreUnavailable):
        round.end()


def test_a_node_drains_although_a_server_of_its_store_is_away(store: Store) -> None:
    async def scene() -> None:
        faults = Faults(store)
        faults.before("troubles", *[away] * 100_000)
        node = Node.open(faults.store, NodeOptions(dead_after_ms=SHORT_LEASE_MS))
        task = asyncio.create_task(node.run())
        await until(lambda: is_listed(store, node), "the node's first beat")

        request_drain(store, node.uuid)
        try:
            await asyncio.wait_for(asyncio.shield(task), DEADLINE_S)
        finally:
            node.request_stop(at_once=True)
            await asyncio.wait_for(task, DEADLINE_S)

    asyncio.run(scene())


def test_a_node_says_what_it_could_not_hear_and_is_well_again_when_it_can(store: Store) -> None:
    async def scene() -> None:
        faults = Faults(store)
        async with working(faults.store, dead_after_ms=SHORT_LEASE_MS) as node:
            faults.before("troubles", away)
            await until(lambda: "store unavailable" in str(node.health()), "the node to say so")
            await until(lambda: node.health() is None, "the node to be well again")

    asyncio.run(scene())
