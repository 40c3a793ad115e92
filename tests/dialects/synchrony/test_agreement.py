"""Whoever changes what, in whichever order, both sides are the same in the end and stay so."""

from typing import Literal, cast
from uuid import NAMESPACE_DNS, uuid5

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rota.errors import RotaError
from rota.model.node import NodeType
from rota.store import Store
from rota.store.redis.link.access import RedisAccess
from rota.testing import Faults
from tests.conftest import OpenStore
from tests.dialects.synchrony.speaking import Speaker

pytestmark = pytest.mark.stores("redis")

Step = tuple[Literal["write", "erase", "define", "delete", "round"], str, int]
steps = st.lists(
    st.tuples(
        st.sampled_from(["write", "erase", "define", "delete", "round"]), st.sampled_from("abc"), st.integers(1, 9)
    ),
    max_size=25,
)


def uuid_of(name: str) -> str:
    return str(uuid5(NAMESPACE_DNS, name))


def take(speaker: Speaker, step: Step) -> None:
    verb, name, count = step
    if verb == "round":
        speaker.round()
    elif verb == "write":
        speaker.write("node_types", name, {"name": name, "uuid": uuid_of(name), "thread_count": count})
    elif verb == "erase":
        speaker.erase("node_types", name)
    elif verb == "define":
        speaker.definitions.define_node_type(NodeType(uuid=uuid_of(name), name=name, thread_count=count))
    else:
        try:
            speaker.definitions.delete_node_type(name)
        except RotaError:
            return


def here(store: Store) -> dict[str, int]:
    return {one.name: one.thread_count for one in store.list_node_types()}


def there(speaker: Speaker) -> dict[str, int]:
    return {field: record["thread_count"] for field, record in speaker.shown("node_types").items()}


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(story=steps)
def test_both_sides_are_the_same_in_the_end_and_stay_so(fresh_store: OpenStore, story: list[Step]) -> None:
    store = fresh_store()
    speaker = Speaker(store)
    for step in story:
        take(speaker, step)

    speaker.round()
    speaker.round()
    settled = here(store)
    version = store.definitions_version()
    speaker.round()
    Speaker(store).exchange.learn()

    assert here(store) == there(speaker) == settled
    assert store.definitions_version() == version
    store.close()


@pytest.mark.parametrize("owner", ["", "synchrony"])
def test_a_removal_there_counts_for_what_belongs_there(store: Store, owner: str) -> None:
    speaker = Speaker(store)
    speaker.definitions.define_node_type(NodeType(uuid=uuid_of("a"), name="a", managed_by=owner))
    speaker.round()

    speaker.erase("node_types", "a")
    speaker.round()

    assert list(here(store)) == list(there(speaker)) == ([] if owner else ["a"])


def test_what_another_node_takes_between_two_steps_of_this_one_stays(store: Store) -> None:
    """It was written there, and taken by the other one, when this one had looked there already."""
    other = Speaker(store)
    faults = Faults(other.access)
    slow = Speaker(store, access=cast(RedisAccess, faults))

    def come() -> None:
        if "a" not in here(store):
            other.write("node_types", "a", {"name": "a", "uuid": uuid_of("a"), "thread_count": 3})
            other.exchange.learn()

    for step in ("ask", "run"):
        faults.after(step, come)
    slow.exchange.learn()
    for speaker in (slow, other):
        speaker.round()

    assert here(store) == there(other) == {"a": 3}


def test_what_another_node_writes_there_between_two_steps_of_this_one_is_not_undone(store: Store) -> None:
    """A definition is changed here, and the other node writes it there, when this one had looked there already."""
    other = Speaker(store)
    other.definitions.define_node_type(NodeType(uuid=uuid_of("a"), name="a", thread_count=1))
    other.round()
    faults = Faults(other.access)
    slow = Speaker(store, access=cast(RedisAccess, faults))

    changes = iter([2])

    def change() -> None:
        for count in changes:
            other.definitions.define_node_type(NodeType(uuid=uuid_of("a"), name="a", thread_count=count))
            other.exchange.learn()

    for step in ("ask", "run"):
        faults.after(step, change)
    slow.exchange.learn()
    for speaker in (slow, other):
        speaker.round()

    assert here(store) == there(other) == {"a": 2}
