"""Node types and job types: created, replaced, listed and removed."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count

import pytest
from msgspec import structs

from rota.errors import Conflict
from rota.model.ids import new_id
from rota.model.job_type import JobType, OnNodeDeath, Unique
from rota.model.node import NodeType
from rota.model.rate import Rate, rate_key
from rota.model.runs.retry import RetryPolicy
from rota.store import Store
from tests.conftest import OpenStore
from tests.contract.building import NOW, claim, claim_one, enqueue, finish, spec, succeed
from tests.contract.events.configuring import await_ends
from tests.contract.steps import run_with


def node_type(name: str, uuid: str | None = None, *, thread_count: int = 16) -> NodeType:
    return NodeType(uuid=uuid or new_id(NOW), name=name, thread_count=thread_count)


def job_type(name: str, uuid: str | None = None, *, executor: str = "bash") -> JobType:
    return JobType(uuid=uuid or new_id(NOW), name=name, executor=executor)


def test_a_new_store_has_no_definitions(store: Store) -> None:
    assert store.list_node_types() == []
    assert store.list_job_types() == []


def test_job_types_are_put_only_upon_the_job_rules_that_were_judged(store: Store, open_again: OpenStore) -> None:
    late, seen = job_type("late"), open_again().read_job_rules()
    await_ends(store)

    assert not store.put_job_types([late], rules_version=seen.version)
    assert store.list_job_types() == []

    now = store.read_job_rules()
    assert store.put_job_types([late], rules_version=now.version)
    assert store.list_job_types() == [late]
    assert store.read_job_rules() == structs.replace(now, version=store.read_job_rules().version)
    assert not store.put_job_types([job_type("later")], rules_version=now.version), "others see a new name, too"


def test_of_two_who_judged_upon_the_same_job_rules_one_gives_names_at_whatever_step_they_meet(
    store: Store, open_again: OpenStore
) -> None:
    other = open_again()
    for number in count():
        seen = store.read_job_rules().version
        one, two = job_type(f"a{number}"), job_type(f"b{number}")

        ran = run_with(
            store,
            number,
            partial(store.put_job_types, [one], rules_version=seen),
            before=partial(other.put_job_types, [two], rules_version=seen),
        )

        if not ran.is_reached:
            break
        made = [each for each in store.list_job_types() if each in (one, two)]
        assert made == ([one] if ran.answer else [two])
    assert number > 0


def test_a_refused_job_type_is_not_reckoned_with(store: Store) -> None:
    store.put_job_types([job_type("report")])

    with pytest.raises(Conflict):
        store.put_job_types([job_type("report")], rules_version=store.read_job_rules().version)

    assert store.read_job_rules().names == frozenset()


def test_node_types_are_listed_by_name(store: Store) -> None:
    b, a, c = node_type("b"), node_type("a"), node_type("c")

    store.put_node_types([b, a])
    store.put_node_types([c])

    assert store.list_node_types() == [a, b, c]


def test_job_types_are_listed_by_name(store: Store) -> None:
    b, a, c = job_type("b"), job_type("a"), job_type("c")

    store.put_job_types([b, a])
    store.put_job_types([c])

    assert store.list_job_types() == [a, b, c]


def test_what_is_put_without_a_field_has_its_default_again(store: Store) -> None:
    node = node_type("gpu", thread_count=3)
    job = structs.replace(job_type("report"), retry=RetryPolicy(attempts=5), managed_by="file")
    store.put_node_types([structs.replace(node, managed_by="file")])
    store.put_job_types([job])

    store.put_node_types([node])
    store.put_job_types([job_type("report", job.uuid)])

    assert store.list_node_types() == [node]
    assert store.list_job_types() == [structs.replace(job_type("report", job.uuid), version=2)]


def test_a_node_type_comes_back_as_it_was_put(store: Store) -> None:
    kept = NodeType(uuid=new_id(NOW), name="gpu/large.1", thread_count=10_000, managed_by="file")

    store.put_node_types([kept])

    assert store.list_node_types() == [kept]


def test_a_job_type_comes_back_as_it_was_put(store: Store) -> None:
    kept = JobType(
        uuid=new_id(NOW),
        name="report",
        executor="bash",
        metadata={"command": ["./é.sh", ""], "empty": {}, "list": [], "none": None, "share": 0.1, "big": 2**60},
        unique=Unique.WHILE_PENDING,
        node_type="gpu",
        timeout_ms=60_000,
        retry=RetryPolicy(attempts=7, delay_ms=5, factor=1.5, max_delay_ms=99, jitter=0.25),
        on_node_death=OnNodeDeath.FAIL,
        managed_by="file",
    )

    store.put_job_types([kept])

    assert store.list_job_types() == [kept]


def test_putting_a_known_uuid_replaces_the_definition(store: Store) -> None:
    nodes, jobs = node_type("default", thread_count=1), job_type("report", executor="bash")
    store.put_node_types([nodes])
    store.put_job_types([jobs])

    more = node_type("default", nodes.uuid, thread_count=2)
    other = job_type("report", jobs.uuid, executor="http")
    store.put_node_types([more])
    store.put_job_types([other])

    assert store.list_node_types() == [more]
    assert store.list_job_types() == [structs.replace(other, version=2)]


def test_the_version_of_a_job_type_grows_with_every_change_of_it(store: Store) -> None:
    report, other = job_type("report"), job_type("other")
    store.put_job_types([report, other])

    for executor, version in (("http", 2), ("http", 2), ("log", 3), ("bash", 4)):
        store.put_job_types([job_type("report", report.uuid, executor=executor)])
        assert [one.version for one in store.list_job_types()] == [1, version]


def test_a_job_type_of_an_expected_version_takes_its_place_once(store: Store) -> None:
    first = job_type("report")
    store.put_job_types([first])

    store.put_job_types([structs.replace(first, executor="http")], same_version=True)
    with pytest.raises(Conflict, match="'report' is at version 2, not 1; read it again"):
        store.put_job_types([structs.replace(first, executor="log")], same_version=True)

    assert store.list_job_types() == [structs.replace(first, executor="http", version=2)]


def test_if_one_of_several_is_at_another_version_none_is_changed(store: Store) -> None:
    first, second = job_type("first"), job_type("second")
    store.put_job_types([first, second])
    before = store.definitions_version()

    changed = [structs.replace(first, executor="log"), structs.replace(second, version=7)]
    with pytest.raises(Conflict, match="'second' is at version 1, not 7"):
        store.put_job_types(changed, same_version=True)

    assert store.list_job_types() == [first, second]
    assert store.definitions_version() == before


def test_a_job_type_that_is_gone_has_no_expected_version(store: Store) -> None:
    gone = job_type("gone")
    store.put_job_types([gone])
    store.delete_job_types([gone.uuid])

    with pytest.raises(Conflict, match="'gone' was deleted meanwhile"):
        store.put_job_types([gone], same_version=True)

    assert store.list_job_types() == []


def test_of_many_changes_of_one_version_at_a_time_one_is_made(store: Store, open_again: OpenStore) -> None:
    first = job_type("report")
    store.put_job_types([first])
    handles = [open_again() for _ in range(8)]

    def change(number: int) -> bool:
        try:
            handles[number].put_job_types([structs.replace(first, timeout_ms=number + 1)], same_version=True)
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(len(handles)) as threads:
        made = list(threads.map(change, range(len(handles))))

    assert made.count(True) == 1
    assert store.list_job_types() == [structs.replace(first, timeout_ms=made.index(True) + 1, version=2)]


def test_a_renamed_definition_frees_its_old_name(store: Store) -> None:
    nodes, jobs = node_type("old"), job_type("old")
    store.put_node_types([nodes])
    store.put_job_types([jobs])

    store.put_node_types([node_type("new", nodes.uuid)])
    store.put_job_types([job_type("new", jobs.uuid)])
    store.put_node_types([node_type("old")])
    store.put_job_types([job_type("old")])

    assert [each.name for each in store.list_node_types()] == ["new", "old"]
    assert [each.name for each in store.list_job_types()] == ["new", "old"]


def test_a_name_belongs_to_one_node_type(store: Store) -> None:
    first = node_type("default")
    store.put_node_types([first])

    with pytest.raises(Conflict, match="default"):
        store.put_node_types([node_type("fresh"), node_type("default")])

    assert store.list_node_types() == [first]


def test_a_name_belongs_to_one_job_type(store: Store) -> None:
    first = job_type("report")
    store.put_job_types([first])

    with pytest.raises(Conflict, match="report"):
        store.put_job_types([job_type("fresh"), job_type("report")])

    assert store.list_job_types() == [first]


def test_a_name_belongs_to_one_definition_of_a_batch(store: Store) -> None:
    with pytest.raises(Conflict):
        store.put_node_types([node_type("same"), node_type("same")])
    with pytest.raises(Conflict):
        store.put_job_types([job_type("same"), job_type("same")])

    assert store.list_node_types() == []
    assert store.list_job_types() == []


def test_a_node_type_and_a_job_type_may_share_a_name(store: Store) -> None:
    store.put_node_types([node_type("mail")])
    store.put_job_types([job_type("mail")])

    assert [each.name for each in store.list_node_types()] == ["mail"]
    assert [each.name for each in store.list_job_types()] == ["mail"]


def test_deleting_says_how_many_there_were(store: Store) -> None:
    nodes = [node_type("a"), node_type("b"), node_type("c")]
    jobs = [job_type("a"), job_type("b"), job_type("c")]
    store.put_node_types(nodes)
    store.put_job_types(jobs)

    removed_nodes = store.delete_node_types([nodes[0].uuid, nodes[2].uuid, new_id(NOW)])
    removed_jobs = store.delete_job_types([jobs[0].uuid, jobs[2].uuid, new_id(NOW)])

    assert (removed_nodes, removed_jobs) == (2, 2)
    assert store.list_node_types() == [nodes[1]]
    assert store.list_job_types() == [jobs[1]]


def test_a_deleted_definition_frees_its_name(store: Store) -> None:
    nodes, jobs = node_type("default"), job_type("report")
    store.put_node_types([nodes])
    store.put_job_types([jobs])
    store.delete_node_types([nodes.uuid])
    store.delete_job_types([jobs.uuid])

    again = node_type("default"), job_type("report")
    store.put_node_types([again[0]])
    store.put_job_types([again[1]])

    assert store.list_node_types() == [again[0]]
    assert store.list_job_types() == [again[1]]


def test_a_node_type_with_live_jobs_is_not_deleted(store: Store) -> None:
    kept, empty = node_type("kept"), node_type("empty")
    store.put_node_types([kept, empty])
    enqueue(store, spec(kept.uuid))

    with pytest.raises(Conflict):
        store.delete_node_types([empty.uuid, kept.uuid])

    assert store.list_node_types() == [empty, kept]


def test_every_live_state_keeps_a_node_type(store: Store) -> None:
    delayed, running, waiting = node_type("delayed"), node_type("running"), node_type("waiting")
    store.put_node_types([delayed, running, waiting])
    enqueue(store, spec(delayed.uuid, run_at=NOW + 60_000))
    enqueue(store, spec(running.uuid))
    claim_one(store, running.uuid)
    enqueue(store, spec(waiting.uuid, lock_key="lock"))

    for each in (delayed, running, waiting):
        with pytest.raises(Conflict):
            store.delete_node_types([each.uuid])

    assert len(store.list_node_types()) == 3


def test_jobs_that_wait_for_a_rate_or_for_a_lock_keep_a_node_type(store: Store) -> None:
    limited, blocked = node_type("limited"), node_type("blocked")
    store.put_node_types([limited, blocked])
    enqueue(store, *(spec(limited.uuid, rate_key=rate_key(Rate(1, 60_000), "k", {})) for _ in range(2)))
    finish(store, succeed(claim_one(store, limited.uuid)))
    assert claim(store, limited.uuid) == []
    enqueue(store, *(spec(blocked.uuid, lock_key="lock") for _ in range(2)))
    assert len(claim(store, blocked.uuid)) == 1

    for each in (limited, blocked):
        with pytest.raises(Conflict):
            store.delete_node_types([each.uuid])

    assert len(store.list_node_types()) == 2


def test_a_node_type_whose_jobs_have_ended_is_deleted(store: Store) -> None:
    only = node_type("default")
    store.put_node_types([only])
    enqueue(store, spec(only.uuid))
    finish(store, succeed(claim_one(store, only.uuid)))

    assert store.delete_node_types([only.uuid]) == 1

    assert store.list_node_types() == []


def test_a_job_type_with_queued_jobs_is_deleted_and_they_stay(store: Store) -> None:
    nodes, jobs = node_type("default"), job_type("report")
    store.put_node_types([nodes])
    store.put_job_types([jobs])
    (job_id,) = enqueue(store, spec(nodes.uuid, job_type=jobs.uuid))

    assert store.delete_job_types([jobs.uuid]) == 1

    assert claim_one(store, nodes.uuid).spec.id == job_id


def test_every_change_gives_a_version_that_was_not_there_before(store: Store) -> None:
    nodes, jobs = node_type("default"), job_type("report")
    versions = [store.definitions_version()]

    for change in (
        lambda: store.put_node_types([nodes]),
        lambda: store.put_job_types([jobs]),
        lambda: store.put_node_types([node_type("default", nodes.uuid, thread_count=3)]),
        lambda: store.put_job_types([job_type("report", jobs.uuid, executor="http")]),
        lambda: store.delete_job_types([jobs.uuid]),
        lambda: store.delete_node_types([nodes.uuid]),
    ):
        change()
        versions.append(store.definitions_version())

    assert len(set(versions)) == len(versions)


def test_the_version_stays_while_definitions_stay(store: Store) -> None:
    nodes = node_type("default")
    store.put_node_types([nodes])
    before = store.definitions_version()

    store.list_node_types()
    enqueue(store, spec(nodes.uuid))
    finish(store, succeed(claim_one(store, nodes.uuid)))

    assert store.definitions_version() == before


def test_a_refused_change_leaves_the_version(store: Store) -> None:
    store.put_node_types([node_type("default")])
    before = store.definitions_version()

    with pytest.raises(Conflict):
        store.put_node_types([node_type("default")])

    assert store.definitions_version() == before


def test_definitions_are_seen_through_every_handle(store: Store, open_again: OpenStore) -> None:
    other = open_again()
    before = other.definitions_version()
    nodes, jobs = node_type("default"), job_type("report")

    store.put_node_types([nodes])
    store.put_job_types([jobs])

    assert other.list_node_types() == [nodes]
    assert other.list_job_types() == [jobs]
    assert other.definitions_version() != before


def test_empty_batches_of_definitions_change_nothing(store: Store) -> None:
    store.put_node_types([])
    store.put_job_types([])

    assert store.delete_node_types([]) == 0
    assert store.delete_job_types([]) == 0
