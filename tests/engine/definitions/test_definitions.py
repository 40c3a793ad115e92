"""Definitions: node types and job types as one process sees and changes them."""

from collections.abc import Iterator

import pytest
from msgspec import structs

from rota.engine.definitions.definitions import Definitions
from rota.engine.definitions.file_types import FileTypes
from rota.engine.definitions.ownership import MANAGED_BY_FILE
from rota.engine.executors.registry import ExecutorRegistry
from rota.errors import Conflict, InvalidInput, NotFound
from rota.model.ids import new_id
from rota.model.job_type import MAX_TIMEOUT_MS, JobType
from rota.model.node import MAX_THREADS, NodeType
from rota.model.runs.retry import RetryPolicy
from rota.store import Store, open_store
from tests.conftest import OpenStore
from tests.contract.building import NOW, claim_one, enqueue, finish, spec, succeed

BAD_NAMES: list[object] = ["", " ", "a ", "-a", "/a", "a\u200bb", "x" * 129, "a\n", None, 7]


@pytest.fixture
def store() -> Iterator[Store]:
    opened = open_store("sqlite://:memory:")
    yield opened
    opened.close()


@pytest.fixture
def definitions(store: Store) -> Definitions:
    made = Definitions(store, ExecutorRegistry())
    made.define_node_type(node_type("default"))
    return made


def node_type(name: str, **fields: object) -> NodeType:
    return NodeType(**({"uuid": new_id(NOW), "name": name} | fields))  # type: ignore[arg-type]


def job_type(name: str, **fields: object) -> JobType:
    return JobType(**({"uuid": new_id(NOW), "name": name, "executor": "log"} | fields))  # type: ignore[arg-type]


def names(found: list[NodeType] | list[JobType]) -> list[str]:
    return [one.name for one in found]


def test_a_definition_is_found_by_name_and_by_uuid(definitions: Definitions) -> None:
    report = job_type("report")

    definitions.define_job_type(report)

    assert definitions.job_type("report") == report
    assert definitions.job_type(report.uuid) == report
    assert definitions.node_type("default").name == "default"


def test_an_unknown_name_is_not_found_and_the_nearest_is_proposed(definitions: Definitions) -> None:
    definitions.define_job_type(job_type("report"))

    with pytest.raises(NotFound, match="no job type 'reprot'; did you mean 'report'"):
        definitions.job_type("reprot")
    with pytest.raises(NotFound, match="no node type 'defualt'; did you mean 'default'"):
        definitions.node_type("defualt")


def test_an_unknown_name_where_nothing_is_defined_is_told_so(definitions: Definitions) -> None:
    with pytest.raises(NotFound, match="none is defined yet"):
        definitions.job_type("report")


def test_a_definition_with_the_same_uuid_replaces_the_old_one(definitions: Definitions) -> None:
    old = job_type("report")
    definitions.define_job_type(old)

    definitions.define_job_type(structs.replace(old, name="summary"))

    assert names(definitions.job_types()) == ["summary"]
    with pytest.raises(NotFound):
        definitions.job_type("report")


def test_a_name_belongs_to_one_definition(definitions: Definitions) -> None:
    definitions.define_job_type(job_type("report"))

    with pytest.raises(Conflict, match="report"):
        definitions.define_job_type(job_type("report"))
    with pytest.raises(Conflict, match="default"):
        definitions.define_node_type(node_type("default"))


def test_another_process_sees_a_new_name_at_once_and_a_change_after_its_refresh(definitions: Definitions) -> None:
    old = job_type("report")
    other = Definitions(definitions._store, ExecutorRegistry())

    definitions.define_job_type(old)
    assert other.job_type("report") == old

    definitions.define_job_type(structs.replace(old, timeout_ms=5))
    assert other.job_type("report") == old
    other.refresh()
    assert other.job_type("report").timeout_ms == 5

    definitions.delete_job_type("report")
    other.refresh()
    with pytest.raises(NotFound):
        other.job_type("report")


def test_another_process_sees_a_new_node_type_at_once(definitions: Definitions) -> None:
    other = Definitions(definitions._store, ExecutorRegistry())
    assert names(other.node_types()) == ["default"]

    definitions.define_node_type(node_type("heavy"))

    assert other.node_type("heavy").name == "heavy"


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_cannot_be_one_is_refused(definitions: Definitions, name: object) -> None:
    with pytest.raises(InvalidInput) as raised:
        definitions.define_job_type(job_type(name))  # type: ignore[arg-type]
    assert raised.value.field == "name"

    with pytest.raises(InvalidInput) as raised:
        definitions.define_node_type(node_type(name))  # type: ignore[arg-type]
    assert raised.value.field == "name"
    assert definitions.job_types() == []


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("executor", {"executor": "bahs"}),
        ("executor", {"executor": ""}),
        ("node_type", {"node_type": "defualt"}),
        ("node_type", {"node_type": "no such"}),
        ("metadata", {"metadata": []}),
        ("metadata", {"metadata": {"message": "x" * 300_000}}),
        ("metadata.x", {"metadata": {"x": float("nan")}}),
        ("metadata", {"metadata": {"message": "\ud800"}}),
        ("metadata.message", {"metadata": {"message": 7}}),
        ("timeout", {"timeout_ms": 0}),
        ("timeout", {"timeout_ms": -1}),
        ("timeout", {"timeout_ms": MAX_TIMEOUT_MS + 1}),
        ("timeout", {"timeout_ms": 1.5}),
        ("retry.attempts", {"retry": RetryPolicy(attempts=0)}),
        ("retry.delay_ms", {"retry": RetryPolicy(delay_ms=-1)}),
        ("retry.factor", {"retry": RetryPolicy(factor=float("nan"))}),
        ("retry.max_delay_ms", {"retry": RetryPolicy(max_delay_ms=10**30)}),
        ("retry.jitter", {"retry": RetryPolicy(jitter=2.0)}),
    ],
)
def test_a_bad_job_type_is_refused_and_nothing_of_the_call_is_stored(
    definitions: Definitions, field: str, fields: dict[str, object]
) -> None:
    with pytest.raises(InvalidInput) as raised:
        definitions.define([node_type("gpu")], [job_type("good"), job_type("bad", **fields)])

    assert raised.value.field == field
    assert definitions.job_types() == []
    assert names(definitions.node_types()) == ["default"]


def test_an_unknown_executor_and_node_type_are_answered_with_the_nearest(definitions: Definitions) -> None:
    with pytest.raises(InvalidInput, match="did you mean 'bash'"):
        definitions.define_job_type(job_type("report", executor="bahs"))
    with pytest.raises(InvalidInput, match="did you mean 'default'"):
        definitions.define_job_type(job_type("report", node_type="defualt"))


@pytest.mark.parametrize("value", [0, -1, MAX_THREADS + 1, 1.5, "4", True, None])
def test_a_thread_count_out_of_range_is_refused(definitions: Definitions, value: object) -> None:
    with pytest.raises(InvalidInput) as raised:
        definitions.define_node_type(node_type("gpu", thread_count=value))

    assert raised.value.field == "thread_count"
    assert names(definitions.node_types()) == ["default"]


@pytest.mark.parametrize("doubled", ["with what is there", "within the call"])
def test_a_name_that_is_taken_refuses_the_whole_call(definitions: Definitions, doubled: str) -> None:
    if doubled == "with what is there":
        definitions.define_job_type(job_type("report"))
    before = definitions.job_types()

    with pytest.raises(Conflict, match="report"):
        definitions.define([node_type("gpu")], [job_type("other"), job_type("report"), job_type("report")])

    assert definitions.job_types() == before
    assert names(definitions.node_types()) == ["default"]


def test_a_job_type_may_use_a_node_type_of_the_same_call(definitions: Definitions) -> None:
    definitions.define([node_type("gpu")], [job_type("train", node_type="gpu")])

    assert definitions.job_type("train").node_type == "gpu"


def test_a_node_type_that_a_job_type_uses_cannot_be_deleted(definitions: Definitions) -> None:
    definitions.define_job_type(job_type("report"))

    with pytest.raises(Conflict, match="report"):
        definitions.delete_node_type("default")

    definitions.delete_job_type("report")
    definitions.delete_node_type("default")
    assert definitions.node_types() == []


def test_a_node_type_that_a_job_type_names_by_its_uuid_is_used_too(definitions: Definitions) -> None:
    queue = definitions.node_type("default")
    definitions.define_job_type(job_type("report", node_type=queue.uuid))

    with pytest.raises(Conflict, match="report"):
        definitions.delete_node_type("default")

    assert definitions.node_type("default") == queue


def test_a_node_type_keeps_its_name_while_a_job_type_uses_it(definitions: Definitions) -> None:
    definitions.define_job_type(job_type("report"))
    queue = definitions.node_type("default")

    with pytest.raises(Conflict, match="report"):
        definitions.put_node_type(structs.replace(queue, name="other", thread_count=3))
    definitions.put_node_type(structs.replace(queue, thread_count=4))
    definitions.delete_job_type("report")

    assert definitions.node_type("default").thread_count == 4
    definitions.put_node_type(structs.replace(queue, name="other", thread_count=5))
    assert names(definitions.node_types()) == ["other"]


def test_a_name_that_looks_like_a_uuid_hides_nothing_that_has_it(definitions: Definitions) -> None:
    odd = job_type("0190b0c0-0000-7000-8000-000000000007")
    definitions.define_job_type(odd)
    assert definitions.job_type(odd.name) == odd
    with pytest.raises(NotFound):
        definitions.current_job_type(odd.name)

    report = job_type("report", uuid=odd.name)
    definitions.define_job_type(report)

    assert definitions.job_type(odd.name) == definitions.current_job_type(odd.name) == report
    assert definitions.job_type(odd.uuid) == odd
    assert definitions.job_types() == [odd, report]


def test_a_node_type_with_live_jobs_cannot_be_deleted(definitions: Definitions, store: Store) -> None:
    queue = definitions.node_type("default").uuid
    enqueue(store, spec(queue))

    with pytest.raises(Conflict, match="live jobs"):
        definitions.delete_node_type("default")

    finish(store, succeed(claim_one(store, queue)))
    definitions.delete_node_type("default")


def test_what_is_not_there_cannot_be_deleted(definitions: Definitions) -> None:
    with pytest.raises(NotFound):
        definitions.delete_job_type("report")
    with pytest.raises(NotFound):
        definitions.delete_node_type("gpu")


def test_a_node_type_is_ensured_once(definitions: Definitions) -> None:
    first = definitions.ensure_node_type(node_type("gpu", thread_count=2))
    second = definitions.ensure_node_type(node_type("gpu", thread_count=9))

    assert first == second
    assert second.thread_count == 2


def test_the_definitions_of_a_file_follow_the_file(definitions: Definitions) -> None:
    FileTypes(definitions).apply(
        [node_type("gpu", thread_count=1)], [job_type("train", node_type="gpu"), job_type("clean")]
    )
    train = definitions.job_type("train")

    FileTypes(definitions).apply([node_type("gpu", thread_count=2)], [job_type("train", node_type="gpu", timeout_ms=7)])

    assert names(definitions.job_types()) == ["train"]
    assert definitions.job_type("train").uuid == train.uuid
    assert definitions.job_type("train").timeout_ms == 7
    assert definitions.job_type("train").managed_by == MANAGED_BY_FILE
    assert definitions.node_type("gpu").thread_count == 2

    FileTypes(definitions).apply([], [])

    assert definitions.job_types() == []
    assert names(definitions.node_types()) == ["default"]


def test_a_file_leaves_alone_what_came_by_another_way(definitions: Definitions) -> None:
    mine = job_type("mine")
    definitions.define_job_type(mine)

    FileTypes(definitions).apply([], [job_type("train")])
    FileTypes(definitions).apply([], [])

    assert definitions.job_types() == [mine]


def test_a_file_cannot_take_a_name_that_came_by_another_way(definitions: Definitions) -> None:
    mine = job_type("mine")
    definitions.define_job_type(mine)

    with pytest.raises(Conflict, match="mine"):
        FileTypes(definitions).apply([], [job_type("new"), job_type("mine", timeout_ms=7)])

    assert definitions.job_types() == [mine]


def test_a_file_may_take_over_the_default_node_type_and_leaves_it_when_it_goes(definitions: Definitions) -> None:
    queue = definitions.node_type("default").uuid

    FileTypes(definitions).apply([node_type("default", thread_count=3)], [])
    assert definitions.node_type("default").uuid == queue
    assert definitions.node_type("default").thread_count == 3

    FileTypes(definitions).apply([], [])
    assert definitions.node_type("default").uuid == queue
    assert definitions.node_type("default").managed_by == ""


def test_applying_the_same_file_again_changes_no_uuid(definitions: Definitions) -> None:
    FileTypes(definitions).apply([], [job_type("train")])
    uuid = definitions.job_type("train").uuid

    FileTypes(definitions).apply([], [job_type("train")])

    assert definitions.job_type("train").uuid == uuid


@pytest.mark.stores("sqlite-file", "redis")
def test_a_handle_of_another_process_sees_changes_after_a_refresh(open_again: OpenStore) -> None:
    here = Definitions(open_again(), ExecutorRegistry())
    there = Definitions(open_again(), ExecutorRegistry())
    here.define([node_type("default")], [job_type("report")])
    there.refresh()

    here.define_job_type(structs.replace(here.job_type("report"), timeout_ms=7))
    there.refresh()

    assert there.job_type("report").timeout_ms == 7
