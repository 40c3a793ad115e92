"""Job types and node types check themselves."""

import pytest

from rota.errors import InvalidInput
from rota.model.job_type import JobType, Unique
from rota.model.node import DEAD_AFTER_MS, Node, NodeType


def job_type(**changes: object) -> JobType:
    return JobType(**{"uuid": "u", "name": "n", "executor": "bash"} | changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "a "}, "name"),
        ({"executor": ""}, "executor"),
        ({"node_type": "/x"}, "node_type"),
        ({"metadata": {"a": float("nan")}}, "metadata"),
        ({"timeout_ms": 0}, "timeout"),
        ({"timeout_ms": -1}, "timeout"),
        ({"timeout_ms": True}, "timeout"),
        ({"timeout_ms": 10**15}, "timeout"),
    ],
)
def test_a_job_type_that_cannot_be_meant_names_the_field(changes: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field}"):
        job_type(**changes).check()


def test_only_while_pending_has_a_unique_key_and_equal_arguments_share_it() -> None:
    pending = job_type(unique=Unique.WHILE_PENDING)

    assert pending.unique_key_for({"a": 1, "b": 2}) == pending.unique_key_for({"b": 2, "a": 1})
    assert pending.unique_key_for({"a": 1}) != pending.unique_key_for({"a": 2})
    assert job_type().unique_key_for({}) is None


def test_only_while_running_has_a_lock() -> None:
    assert job_type(unique=Unique.WHILE_RUNNING).lock_key == "u"
    assert job_type(unique=Unique.WHILE_PENDING).lock_key is None


@pytest.mark.parametrize("thread_count", [0, -1, 10_001, True, 1.5])
def test_a_node_type_has_a_sane_number_of_threads(thread_count: int) -> None:
    with pytest.raises(InvalidInput, match="thread_count"):
        NodeType(uuid="u", name="n", thread_count=thread_count).check()


def test_a_node_is_dead_after_twenty_silent_seconds() -> None:
    node = Node(uuid="n", node_type="t", last_ping=1_000)

    assert node.is_alive(1_000 + DEAD_AFTER_MS - 1)
    assert not node.is_alive(1_000 + DEAD_AFTER_MS)
