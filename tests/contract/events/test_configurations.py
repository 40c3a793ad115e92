"""Configurations: versions, names, lists, moves, the index, and which of them wait for jobs."""

from collections.abc import Callable

import pytest
from msgspec import structs

from rota.errors import Conflict
from rota.model.events.configuration import Dependency, Match, first_state
from rota.model.ids import new_id
from rota.store import Store
from rota.store.contract.events import (
    ConfigurationChange,
    Place,
)
from tests.contract.building import (
    NOW,
    given,
    new_queue,
    spec,
)
from tests.contract.events.configuring import configuration, dependency, event, found, matched, put, verdicts
from tests.contract.racing import in_threads
from tests.contract.raw_records import records_with


def test_a_configuration_is_found_as_it_was_put(store: Store) -> None:
    entry = put(store, configuration(new_queue(), dependency("a"), dependency("b", life_s=0), name="report"))

    assert store.find_configurations([entry.configuration.uuid, new_id(NOW)]) == [entry, None]
    assert store.configuration_uuid("report") == entry.configuration.uuid
    assert store.configuration_uuid("other") is None


def test_configurations_are_listed_by_name_page_by_page(store: Store) -> None:
    queues = [new_queue(), new_queue()]
    for n in range(5):
        put(store, configuration(queues[n % 2], name=f"c{n}"))

    first = store.list_configurations(limit=3)
    second = store.list_configurations(limit=3, cursor=first.cursor)

    assert [one.configuration.name for one in first.entries + second.entries] == [f"c{n}" for n in range(5)]
    assert second.cursor is None


def test_a_name_belongs_to_one_configuration(store: Store) -> None:
    queue = new_queue()
    put(store, configuration(queue, name="report"))
    other = configuration(queue, dependency("x"), name="report")
    fine = configuration(queue, name="fine")
    changes = [ConfigurationChange(one, first_state(one), None) for one in (fine, other)]

    with pytest.raises(Conflict, match="report"):
        store.put_configurations(changes)

    assert store.find_configurations([other.uuid]) == [None]
    assert store.configuration_uuid("fine") is None
    assert matched(store, event("x")) == [set()]


def test_two_configurations_of_one_call_cannot_have_the_same_name(store: Store) -> None:
    twins = [configuration(new_queue(), name="twin") for _ in range(2)]

    with pytest.raises(Conflict, match="twin"):
        store.put_configurations([ConfigurationChange(one, first_state(one), None) for one in twins])

    assert store.find_configurations([one.uuid for one in twins]) == [None, None]
    assert store.configuration_uuid("twin") is None


def test_a_change_of_another_version_is_refused(store: Store) -> None:
    entry = put(store, configuration(new_queue(), name="a"))
    changed = structs.replace(entry.configuration, dependencies=(dependency("b"),))
    newer = first_state(changed, version=2)

    assert store.put_configurations([ConfigurationChange(changed, newer, 7)]) == [False]
    assert store.put_configurations([ConfigurationChange(changed, newer, None)]) == [False]
    assert matched(store, event("a"), event("b")) == [{changed.uuid}, set()]
    assert store.put_configurations([ConfigurationChange(changed, newer, 1)]) == [True]
    assert matched(store, event("a"), event("b")) == [set(), {changed.uuid}]


@pytest.mark.parametrize("expected", [None, 7])
def test_a_change_that_is_refused_takes_no_name_and_moves_nothing(store: Store, expected: int | None) -> None:
    entry = put(store, configuration(new_queue(), name="old"))
    moved = structs.replace(entry.configuration, queue=new_queue(), name="new", dependencies=(dependency("b"),))

    assert store.put_configurations([ConfigurationChange(moved, first_state(moved, version=2), expected)]) == [False]

    assert store.find_configurations([moved.uuid]) == [entry]
    assert (store.configuration_uuid("old"), store.configuration_uuid("new")) == (moved.uuid, None)
    assert store.match_events([event("a"), event("b")]) == [[Place(entry.configuration.queue, moved.uuid)], []]
    assert [one.configuration.name for one in store.list_configurations(limit=9).entries] == ["old"]


def test_a_change_of_what_is_gone_takes_no_name(store: Store) -> None:
    entry = put(store, configuration(new_queue(), name="old"))
    store.delete_configurations([entry.configuration.uuid])

    assert store.put_configurations([ConfigurationChange(entry.configuration, entry.state, 1)]) == [False]

    assert store.configuration_uuid("old") is None
    assert store.list_configurations(limit=9).entries == []
    put(store, configuration(new_queue(), name="old"))


def test_a_configuration_that_moves_to_and_fro_while_events_come_is_never_lost(
    store: Store, open_again: Callable[[], Store]
) -> None:
    queues = [new_queue(), new_queue()]
    one = put(store, configuration(queues[0], name="c")).configuration
    handles = [open_again() for _ in range(3)]

    def move(handle: Store, n: int) -> bool:
        entry = handle.find_configurations([one.uuid])[0]
        if entry is None:
            return False  # it is being moved
        state = structs.replace(entry.state, version=entry.state.version + 1)
        moved = structs.replace(entry.configuration, queue=queues[n % 2], name=f"c{n}")
        return handle.put_configurations([ConfigurationChange(moved, state, entry.state.version)])[0]

    def judge(handle: Store, n: int) -> bool:
        entry = handle.find_configurations([one.uuid])[0]
        if entry is None:
            return False
        judged = verdicts(entry, event(at=NOW + n))
        return handle.apply_verdicts(entry.configuration.queue, [judged], now=NOW)[0].done

    def act(number: int) -> None:
        for n in range(100):
            (move if number == 0 else judge)(handles[number], n)

    in_threads(act, 3)

    assert [judge(store, 1_000), move(store, 1_001), judge(store, 1_002)] == [True] * 3
    entry = found(store, one)
    assert (entry.configuration.queue, entry.configuration.name) == (queues[1], "c1001")
    assert store.configuration_uuid(entry.configuration.name) == one.uuid
    assert store.match_events([event()]) == [[Place(entry.configuration.queue, one.uuid)]]
    assert len(store.list_configurations(limit=9).entries) == 1
    assert store.delete_configurations([one.uuid]) == [True]
    assert store.match_events([event()]) == [[]]


def test_a_renamed_configuration_frees_its_name(store: Store) -> None:
    entry = put(store, configuration(new_queue(), name="old"))
    renamed = structs.replace(entry.configuration, name="new")

    store.put_configurations([ConfigurationChange(renamed, first_state(renamed, version=2), 1)])

    assert store.configuration_uuid("old") is None
    assert store.configuration_uuid("new") == renamed.uuid
    assert [one.configuration.name for one in store.list_configurations(limit=9).entries] == ["new"]


def test_a_deleted_configuration_is_gone_with_all_that_is_known_of_it(store: Store) -> None:
    queue = new_queue()
    entry = put(store, configuration(queue, name="a"))
    job = spec(queue)
    store.apply_verdicts(queue, [verdicts(entry, event(), job)], now=NOW)
    uuid = entry.configuration.uuid

    assert store.delete_configurations([uuid, new_id(NOW)]) == [True, False]

    assert store.find_configurations([uuid]) == [None]
    assert store.list_evaluations(uuid, limit=9) == []
    assert store.list_validations(uuid, limit=9) == []
    assert matched(store, event()) == [set()]
    assert given(store, queue) == [job.id], "its jobs stay"
    put(store, configuration(queue, name="a"))


def test_a_configuration_that_moves_to_another_queue_is_found_there_only(store: Store) -> None:
    old, new = new_queue(), new_queue()
    entry = put(store, configuration(old))
    moved = structs.replace(entry.configuration, queue=new)

    assert store.put_configurations([ConfigurationChange(moved, first_state(moved, version=2), 1)]) == [True]

    assert store.match_events([event()]) == [[Place(new, moved.uuid)]]
    assert store.load_configurations(new, [moved.uuid])[0] == found(store, moved)
    assert store.load_configurations(old, [moved.uuid]) == [None]
    assert found(store, moved).state.version == 2


def test_a_configuration_moves_with_what_events_did_to_it(store: Store) -> None:
    first, second = new_queue(), new_queue()
    one = put(store, configuration(first)).configuration

    for number, queue in enumerate((first, second, first)):
        entry = found(store, one)
        new = event(own_id=f"event {number}", at=NOW + number)
        assert store.apply_verdicts(entry.configuration.queue, [verdicts(entry, new)], now=NOW)[0].done
        before = found(store, one)
        told = (store.list_evaluations(one.uuid, limit=9), store.list_validations(one.uuid, limit=9))
        goal = second if queue == first else first
        moved = structs.replace(before.configuration, queue=goal)
        state = structs.replace(before.state, version=before.state.version + 1)
        assert store.put_configurations([ConfigurationChange(moved, state, before.state.version)]) == [True]

        assert (store.list_evaluations(one.uuid, limit=9), store.list_validations(one.uuid, limit=9)) == told
        assert (len(told[0]), len(told[1])) == (number + 1, number + 1)
        (there,) = store.load_configurations(goal, [one.uuid], event_ids=["event 0", new.id, "another"])
        assert there is not None
        assert there.known_events == {"event 0", new.id}


@pytest.mark.parametrize(
    ("wanted", "hits", "misses"),
    [
        (dependency("a/b"), ["a/b"], ["a/b/", "a/bc", "a", "A/b"]),
        (dependency("/in/", match=Match.DIRECTORY), ["/in/x", "/in/", "/in/deep/er.csv"], ["/in", "/inn/x", "/i"]),
        (dependency("/in", match=Match.DIRECTORY), ["/in/x"], ["/inx", "/in"]),
        (dependency("da", match=Match.PREFIX), ["da", "data", "da/x"], ["d", "db", "Da"]),
        (dependency("", match=Match.PREFIX), ["x", "/y"], []),
        (dependency("été/", match=Match.PREFIX), ["été/日本"], ["ete/", "étá/"]),
        (dependency("/in/*.csv", match=Match.GLOB), ["/in/a.csv", "/in/.csv"], ["/out/a.csv", "/im/z"]),
        (dependency("*.csv", match=Match.GLOB), ["a.csv"], []),
    ],
)
def test_the_index_finds_a_dependency_by_its_resource(
    store: Store, wanted: Dependency, hits: list[str], misses: list[str]
) -> None:
    queue = new_queue()
    # Neighbours in the index must not hide it.
    for name in ("/in/y/", "/inn/", "d", "data", "x", "zz", "été", "/in/a"):
        put(store, configuration(queue, dependency(name, match=Match.PREFIX), dependency(name, "TABLE")))
    one = put(store, configuration(queue, wanted)).configuration

    for resource in hits:
        assert one.uuid in matched(store, event(resource))[0], resource
        assert one.hits(event(resource))
    for resource in misses:
        assert one.uuid not in matched(store, event(resource))[0], resource
    assert one.uuid not in matched(store, event(hits[0], "TABLE"))[0]


def test_every_configuration_that_waits_for_an_event_is_found_in_every_queue(store: Store) -> None:
    queues = [new_queue() for _ in range(3)]
    mine = {put(store, configuration(queue, dependency("cron", "TIME_BASED"))).configuration.uuid for queue in queues}
    store.match_events([event("cron", "TIME_BASED")])  # the queues that it knows of now are not all

    late = put(store, configuration(new_queue(), dependency("cron", "TIME_BASED"))).configuration.uuid

    assert matched(store, event("cron", "TIME_BASED"), event("x")) == [mine | {late}, set()]


def test_configurations_that_wait_for_jobs_are_known_and_change_the_version_of_definitions(store: Store) -> None:
    before = store.definitions_version()
    put(store, configuration(new_queue(), name="plain"))
    assert store.definitions_version() == before

    one = put(store, configuration(new_queue(), dependency("a"), dependency("load", "JOB"), name="chained"))

    assert [each.name for each in store.listening_configurations()] == ["chained"]
    assert store.definitions_version() != before
    before = store.definitions_version()
    store.delete_configurations([one.configuration.uuid])
    assert store.listening_configurations() == []
    assert store.definitions_version() != before


def test_job_rules_are_put_only_upon_the_version_that_was_judged(store: Store, open_again: Callable[[], Store]) -> None:
    first, late = (configuration(new_queue(), dependency("load", "JOB"), name=name) for name in ("first", "late"))
    seen = open_again().read_job_rules()

    changes = [ConfigurationChange(first, first_state(first), None)]
    assert store.put_configurations(changes, rules_version=store.read_job_rules().version) == [True]
    changes = [ConfigurationChange(late, first_state(late), None)]
    assert store.put_configurations(changes, rules_version=seen.version) == [False]

    assert store.configuration_uuid("late") is None
    assert store.find_configurations([late.uuid]) == [None]
    now = store.read_job_rules()
    assert now.configurations == [first]
    assert store.put_configurations(changes, rules_version=now.version) == [True]
    assert store.read_job_rules().version != now.version
    assert [one.name for one in store.read_job_rules().configurations] == ["first", "late"]


def test_configurations_that_wait_for_no_jobs_are_no_job_rules(store: Store) -> None:
    before = store.read_job_rules()

    put(store, configuration(new_queue()))

    assert store.read_job_rules() == before


@pytest.mark.stores("sqlite-file", "sqlite-memory", "redis")  # of which all records can be looked through
def test_nothing_of_a_configuration_is_left_once_it_is_deleted_whatever_was_done_with_it(store: Store) -> None:
    parts = (dependency("there"), dependency("dir/", match=Match.PREFIX), dependency("load", "JOB"))
    entry = put(store, configuration(new_queue(), *parts, name="first"))
    for changes in ({"name": "second"}, {"queue": new_queue()}, {"name": "third"}):
        there = found(store, entry.configuration)
        store.apply_verdicts(there.configuration.queue, [verdicts(there, event("there", own_id=new_id(NOW)))], now=NOW)
        there = found(store, entry.configuration)
        changed = structs.replace(there.configuration, **changes)
        state = structs.replace(there.state, version=there.state.version + 1)
        assert store.put_configurations([ConfigurationChange(changed, state, there.state.version)]) == [True]
    assert store.list_validations(entry.configuration.uuid, limit=9) != []

    assert store.delete_configurations([entry.configuration.uuid]) == [True]

    assert [records_with(store, one) for one in (entry.configuration.uuid, "first", "second", "third")] == [[]] * 4
    assert records_with(store, "there") == []
