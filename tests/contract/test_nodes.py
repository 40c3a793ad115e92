"""Nodes: they say that they live, and are forgotten when they do not."""

import pytest
import redis

from rota.model.node import Node
from rota.store import Store
from tests.conftest import OpenStore
from tests.contract.building import NOW, beat, new_node, new_queue
from tests.servers import RedisServer


def node(last_ping: int = NOW, uuid: str | None = None, *, running: int = 0) -> Node:
    return Node(uuid=uuid or new_node(), node_type=new_queue(), last_ping=last_ping, running=running)


def uuids(store: Store, since: int = 0) -> set[str]:
    return {each.uuid for each in store.list_nodes(since=since)}


def test_a_new_store_has_no_nodes(store: Store) -> None:
    assert store.list_nodes(since=0) == []


def test_a_node_comes_back_as_it_was_written(store: Store) -> None:
    written = Node(
        uuid=new_node(),
        node_type=new_queue(),
        last_ping=NOW,
        started_at=NOW - 1_000,
        host="höst",
        pid=4_242,
        version="1.2.3",
        roles=("worker", "scheduler"),
        slots=16,
        running=3,
        draining=True,
    )

    beat(store, written)

    assert store.list_nodes(since=NOW) == [written]


def test_a_beat_replaces_the_record_before_it(store: Store) -> None:
    first = node(NOW, running=1)
    second = node(NOW + 5_000, first.uuid, running=2)

    beat(store, first)
    beat(store, second)

    assert store.list_nodes(since=0) == [second]


def test_nodes_are_listed_from_an_instant_on(store: Store) -> None:
    old, edge, new = node(NOW - 1), node(NOW), node(NOW + 1)
    for each in (new, old, edge):
        beat(store, each)

    assert uuids(store, NOW) == {edge.uuid, new.uuid}
    assert uuids(store) == {old.uuid, edge.uuid, new.uuid}
    assert uuids(store, NOW + 2) == set()


def test_one_node_is_forgotten_by_its_uuid(store: Store) -> None:
    gone, kept = node(), node()
    beat(store, gone)
    beat(store, kept)

    removed = [store.remove_nodes(uuid=gone.uuid), store.remove_nodes(uuid=gone.uuid)]

    assert removed == [1, 0]
    assert uuids(store) == {kept.uuid}


def test_silent_nodes_are_forgotten_together(store: Store) -> None:
    nodes = [node(NOW - 2), node(NOW - 1), node(NOW), node(NOW + 1)]
    for each in nodes:
        beat(store, each)

    removed = store.remove_nodes(silent_since=NOW)

    assert removed == 2
    assert uuids(store) == {nodes[2].uuid, nodes[3].uuid}


def test_a_node_that_beats_again_is_not_silent(store: Store) -> None:
    first = node(NOW - 10)
    beat(store, first)
    beat(store, node(NOW + 10, first.uuid))

    assert store.remove_nodes(silent_since=NOW) == 0

    assert uuids(store) == {first.uuid}


def test_a_forgotten_node_may_come_back(store: Store) -> None:
    back = node()
    beat(store, back)
    store.remove_nodes(uuid=back.uuid)

    beat(store, back)

    assert store.list_nodes(since=0) == [back]


@pytest.mark.stores("redis")  # it keeps records and beats apart
def test_nothing_of_forgotten_nodes_is_left_in_redis(store: Store, redis_server: RedisServer) -> None:
    gone, silent = node(), node(NOW - 1)
    beat(store, gone, silent)

    assert [store.remove_nodes(uuid=gone.uuid), store.remove_nodes(silent_since=NOW)] == [1, 1]

    with redis.Redis.from_url(redis_server.url) as client:
        assert client.keys("*node*") == client.keys("*ping*") == []


def test_nodes_are_seen_through_every_handle(store: Store, open_again: OpenStore) -> None:
    seen = node()

    beat(store, seen)

    assert open_again().list_nodes(since=0) == [seen]
