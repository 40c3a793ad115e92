"""A node runs as many jobs at a time as its node type says, also when that changes while it works."""

import asyncio

import pytest
from msgspec import structs

from rota.engine.node.node import Node
from rota.model.node import Node as NodeRecord
from rota.store import Store
from tests.engine.job_functions import new_stage
from tests.engine.working import until, working
from tests.installation import Installation

pytestmark = pytest.mark.stores("sqlite-file", "redis")
OFTEN = 8_000
"""With this dead time a node tells of itself every two seconds."""


def set_thread_count(installation: Installation, count: int) -> None:
    node_type = installation.definitions.node_type(installation.queue)
    installation.definitions.define_node_type(structs.replace(node_type, thread_count=count))


def shown(store: Store, node: Node) -> NodeRecord:
    (record,) = [one for one in store.list_nodes(since=0) if one.uuid == node.uuid]
    return record


def shown_slots(store: Store) -> list[int]:
    return [node.slots for node in store.list_nodes(since=0)]


def test_a_node_follows_the_thread_count_up_and_down(store: Store) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation = Installation(store, threads=1)
        installation.define_python("pass_gate")
        installation.define_python("take_a_moment")
        async with working(store):
            first = [installation.enqueue("pass_gate") for _ in range(3)]
            await until(lambda: stage.inside == 1, "one slot to be in use")

            set_thread_count(installation, 3)
            await until(lambda: stage.inside == 3, "three slots to be in use")
            await until(lambda: shown_slots(store) == [3], "the node to say so")

            set_thread_count(installation, 1)
            await until(lambda: shown_slots(store) == [1], "the node to have followed")
            assert stage.inside == 3  # nothing that runs is stopped
            stage.gate.set()
            await installation.ended(*first)
            stage.most_inside = 0
            await installation.ended(*[installation.enqueue("take_a_moment", {"text": "a"}) for _ in range(200)])
            assert stage.most_inside == 1

    asyncio.run(scene())


def test_a_node_tells_of_its_new_thread_count_without_waiting_for_its_next_beat(store: Store) -> None:
    async def scene() -> None:
        installation = Installation(store, threads=1)
        async with working(store, dead_after_ms=86_400_000):  # it beats every six hours
            set_thread_count(installation, 3)
            await until(lambda: shown_slots(store) == [3], "the node to say so")

    asyncio.run(scene())


def test_a_number_that_was_given_to_the_node_itself_stays(store: Store) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation = Installation(store, threads=1)
        installation.define_python("pass_gate")
        async with working(store, threads=2, dead_after_ms=OFTEN) as node:
            set_thread_count(installation, 5)
            jobs = [installation.enqueue("pass_gate") for _ in range(5)]
            await until(lambda: stage.inside == 2, "its slots to be in use")
            stage.gate.set()
            await installation.ended(*jobs)

            assert stage.most_inside == 2
            async with working(store, dead_after_ms=OFTEN) as other:
                await until(lambda: shown(store, other).slots == 5, "another node to follow")
                at = shown(store, other).last_ping
                await until(lambda: shown(store, node).last_ping > at, "this one to tell of itself again")
            assert shown(store, node).slots == 2

    asyncio.run(scene())


def test_the_first_node_and_the_node_type_that_it_makes_are_not_of_one_uuid(store: Store) -> None:
    async def scene() -> None:
        async with working(store) as node:
            (node_type,) = store.list_node_types()

            assert node_type.uuid != node.uuid

    asyncio.run(scene())
