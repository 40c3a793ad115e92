"""Configurations and events: versions, the index, verdicts in one step, and the outbox."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
from msgspec import structs

from rota.errors import Conflict
from rota.model.events.configuration import Configuration, Dependency, Match, first_state
from rota.model.events.evaluation import Evaluation, Verdict, evaluate
from rota.model.events.event import Event, ref_of
from rota.model.ids import new_id
from rota.model.job import JobSpec, JobState
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.settlement import MOST_DEATHS
from rota.store import Store
from rota.store.events import (
    MAX_EVALUATIONS,
    ConfigurationChange,
    ConfigurationEntry,
    Place,
    Validation,
    Verdicts,
)
from rota.store.redis.keys import NODE_TYPES
from tests.contract.building import (
    NOW,
    claim,
    claim_one,
    counts,
    die,
    enqueue,
    fail,
    fail_and_retry,
    finish,
    given,
    new_node,
    new_queue,
    reclaim,
    spec,
    succeed,
    token_of,
)
from tests.contract.racing import in_threads
from tests.servers import RedisServer, wait_until

JOB_TYPE = "0190b0c0-0000-7000-8000-000000000001"


def dependency(resource: str, type: str = "FILE", life_s: int = 60, **changes: object) -> Dependency:
    fields: dict[str, object] = {"type": type, "resource": resource, "life_s": life_s}
    return Dependency(**fields | changes)  # type: ignore[arg-type]


def configuration(queue: str, *dependencies: Dependency, name: str | None = None, **changes: object) -> Configuration:
    uuid = new_id(NOW)
    fields: dict[str, object] = {
        "uuid": uuid,
        "name": name or uuid,
        "queue": queue,
        "job_type": JOB_TYPE,
        "dependencies": dependencies or (dependency("a"),),
    }
    return Configuration(**fields | changes)  # type: ignore[arg-type]


def put(store: Store, one: Configuration) -> ConfigurationEntry:
    state = first_state(one)
    assert store.put_configurations([ConfigurationChange(one, state, None)]) == [True]
    return ConfigurationEntry(one, state)


def event(resource: str = "a", type: str = "FILE", *, at: int = NOW, own_id: str | None = None) -> Event:
    return Event(
        id=own_id or new_id(NOW),
        type=type,
        resource=resource,
        time=at * 1_000,
        received_at=at,
        has_own_id=own_id is not None,
    )


def verdicts(entry: ConfigurationEntry, one: Event, *specs: JobSpec) -> Verdicts:
    """What one event means, with these jobs."""
    judgement = evaluate(entry.configuration, entry.state, one)
    told: list[Evaluation] = [judgement.evaluation]
    if specs:
        told = [structs.replace(judgement.evaluation, verdict=Verdict.TRIGGERED, job=each.id) for each in specs]
    state = structs.replace(judgement.state, evaluated=entry.state.evaluated + len(told))
    valid = tuple(Validation(ref_of(one), n, one.has_own_id) for n in judgement.hits)
    return Verdicts(entry.configuration, entry.state.version, state, tuple(told), valid, specs)


def found(store: Store, one: Configuration) -> ConfigurationEntry:
    entry = store.find_configurations([one.uuid])[0]
    assert entry is not None
    return entry


def matched(store: Store, *events: Event) -> list[set[str]]:
    return [{place.uuid for place in places} for places in store.match_events(events)]


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
    assert found(store, moved).state.version == 2


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
    for name in ("/in/y/", "/inn/", "d", "data", "zz", "été", "/in/a"):
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


def test_verdicts_are_written_in_one_step_with_their_jobs(store: Store) -> None:
    queue = new_queue()
    entry = put(store, configuration(queue))
    happened, job = event(), spec(queue)
    one = verdicts(entry, happened, job)

    (answer,) = store.apply_verdicts(queue, [one], now=NOW)

    assert (answer.done, answer.survivors) == (True, {})
    assert found(store, entry.configuration).state == one.state
    assert store.list_evaluations(entry.configuration.uuid, limit=9) == list(one.evaluations)
    assert store.list_validations(entry.configuration.uuid, limit=9) == [Validation(ref_of(happened), 0)]
    assert given(store, queue) == [job.id]


def test_verdicts_upon_another_version_change_nothing(store: Store) -> None:
    queue = new_queue()
    entry = put(store, configuration(queue))
    store.apply_verdicts(queue, [verdicts(entry, event())], now=NOW)

    (answer,) = store.apply_verdicts(queue, [verdicts(entry, event(), spec(queue))], now=NOW)

    assert not answer.done
    assert counts(store, queue) == {}
    assert len(store.list_evaluations(entry.configuration.uuid, limit=9)) == 1
    assert len(store.list_validations(entry.configuration.uuid, limit=9)) == 1


def test_verdicts_upon_a_deleted_configuration_change_nothing(store: Store) -> None:
    queue = new_queue()
    entry = put(store, configuration(queue))
    store.delete_configurations([entry.configuration.uuid])

    (answer,) = store.apply_verdicts(queue, [verdicts(entry, event(), spec(queue))], now=NOW)

    assert not answer.done
    assert counts(store, queue) == {}
    assert store.find_configurations([entry.configuration.uuid]) == [None]


def test_verdicts_of_several_configurations_stand_or_fall_each_by_itself(store: Store) -> None:
    queue = new_queue()
    entries = [put(store, configuration(queue)) for _ in range(3)]
    store.apply_verdicts(queue, [verdicts(entries[1], event())], now=NOW)

    answers = store.apply_verdicts(queue, [verdicts(entry, event(), spec(queue)) for entry in entries], now=NOW)

    assert [answer.done for answer in answers] == [True, False, True]
    assert counts(store, queue) == {JobState.QUEUED: 2}


def test_a_job_whose_unique_key_is_taken_is_not_made_and_the_evaluation_says_so(store: Store) -> None:
    queue = new_queue()
    entry = put(store, configuration(queue))
    there, refused, made = spec(queue, unique_key="k"), spec(queue, unique_key="k"), spec(queue, unique_key="other")
    enqueue(store, there)

    (answer,) = store.apply_verdicts(queue, [verdicts(entry, event(), refused, made)], now=NOW)

    assert answer.survivors == {refused.id: there.id}
    latest = store.list_evaluations(entry.configuration.uuid, limit=9)
    assert [(one.verdict, one.job) for one in latest] == [("triggered", made.id), ("unique", None)]
    assert counts(store, queue) == {JobState.QUEUED: 2}


def test_of_many_that_judged_the_same_version_one_wins(store: Store, open_again: Callable[[], Store]) -> None:
    queue = new_queue()
    entry = put(store, configuration(queue))
    handles = [open_again() for _ in range(8)]

    def act(number: int) -> bool:
        one = verdicts(entry, event(), spec(queue))
        return handles[number].apply_verdicts(queue, [one], now=NOW)[0].done

    assert sorted(in_threads(act, 8)) == [False] * 7 + [True]
    assert counts(store, queue) == {JobState.QUEUED: 1}


def test_evaluations_and_validations_are_listed_latest_first_and_kept_within_bounds(store: Store) -> None:
    queue = new_queue()
    one = put(store, configuration(queue)).configuration
    for n in range(MAX_EVALUATIONS + 150):
        now = NOW + n
        each = structs.replace(verdicts(found(store, one), event(at=now)), forget_before=now - 120)
        assert store.apply_verdicts(queue, [each], now=now)[0].done

    evaluations = store.list_evaluations(one.uuid, limit=1_000)
    validations = store.list_validations(one.uuid, limit=1_000)

    assert MAX_EVALUATIONS <= len(evaluations) <= MAX_EVALUATIONS + 100
    assert evaluations[0].event.received_at == NOW + MAX_EVALUATIONS + 149
    times = [each.event.received_at for each in validations]
    assert times == sorted(times, reverse=True)
    assert 120 <= len(times) <= 221
    assert store.list_validations(one.uuid, limit=3) == validations[:3]


def many_verdicts(entry: ConfigurationEntry, count: int, *, forget_before: int = 0) -> Verdicts:
    """So many events with ids of their own, one per millisecond, all in one step."""
    events = [event(at=NOW + n, own_id=f"event-{n}") for n in range(count)]
    told = tuple(evaluate(entry.configuration, entry.state, one).evaluation for one in events)
    state = structs.replace(entry.state, version=entry.state.version + count, evaluated=entry.state.evaluated + count)
    valid = tuple(Validation(ref_of(one), 0, one.has_own_id) for one in events)
    return Verdicts(entry.configuration, entry.state.version, state, told, valid, forget_before=forget_before)


def test_of_very_many_events_the_latest_ten_thousand_validations_and_two_hundred_evaluations_are_kept(
    store: Store,
) -> None:
    queue = new_queue()
    entry = put(store, configuration(queue))

    assert store.apply_verdicts(queue, [many_verdicts(entry, 10_100)], now=NOW)[0].done

    uuid = entry.configuration.uuid
    ids = [one.event.id for one in store.list_validations(uuid, limit=20_000)]
    assert ids[:10_000] == [f"event-{n}" for n in range(10_099, 99, -1)]
    assert len(ids) <= 10_001
    told = [one.event.id for one in store.list_evaluations(uuid, limit=20_000)]
    assert told == [f"event-{n}" for n in range(10_099, 9_899, -1)]
    asked = ["event-0", "event-90", "event-100", "event-10099"]
    (again,) = store.load_configurations(queue, [uuid], event_ids=asked)
    assert again is not None
    assert again.known_events == {"event-100", "event-10099"}


def test_what_was_received_before_an_instant_is_forgotten_and_what_at_it_is_not(store: Store) -> None:
    queue = new_queue()
    entry, other = put(store, configuration(queue)), put(store, configuration(queue))
    store.apply_verdicts(queue, [many_verdicts(other, 5)], now=NOW)

    store.apply_verdicts(queue, [many_verdicts(entry, 100, forget_before=NOW + 60)], now=NOW)

    uuid = entry.configuration.uuid
    times = [one.event.received_at for one in store.list_validations(uuid, limit=1_000)]
    assert times == list(range(NOW + 99, NOW + 59, -1))
    (again,) = store.load_configurations(queue, [uuid], event_ids=["event-59", "event-60"])
    assert again is not None
    assert again.known_events == {"event-60"}
    assert len(store.list_validations(other.configuration.uuid, limit=1_000)) == 5, "each has its own history"


def test_what_is_over_a_limit_is_forgotten_with_every_hundredth_version(store: Store) -> None:
    queue = new_queue()
    entry = put(store, configuration(queue))

    store.apply_verdicts(queue, [many_verdicts(entry, 98, forget_before=NOW + 1_000)], now=NOW)
    assert len(store.list_validations(entry.configuration.uuid, limit=1_000)) == 98
    store.apply_verdicts(
        queue, [many_verdicts(found(store, entry.configuration), 1, forget_before=NOW + 1_000)], now=NOW
    )

    assert store.list_validations(entry.configuration.uuid, limit=1_000) == []


def test_an_event_that_validates_two_dependencies_is_listed_with_both(store: Store) -> None:
    queue = new_queue()
    entry = put(store, configuration(queue, dependency("a"), dependency("a", life_s=5)))

    store.apply_verdicts(queue, [verdicts(entry, event(own_id="mine"))], now=NOW)

    listed = store.list_validations(entry.configuration.uuid, limit=9)
    assert sorted(one.dependency for one in listed) == [0, 1]


def test_jobs_that_events_make_are_counted_once_and_those_that_are_not_made_are_not(store: Store) -> None:
    queue = new_queue()
    entry = put(store, configuration(queue))
    stale = put(store, configuration(queue))
    store.apply_verdicts(queue, [verdicts(stale, event())], now=NOW)
    jobs = [spec(queue, unique_key="k"), spec(queue, unique_key="k"), spec(queue)]

    store.apply_verdicts(queue, [verdicts(entry, event(), *jobs), verdicts(stale, event(), spec(queue))], now=NOW)

    assert store.read_totals(queue).enqueued == 2


def test_an_event_with_an_id_of_its_own_is_known_to_the_configurations_that_it_validated(store: Store) -> None:
    queue = new_queue()
    hit, other = put(store, configuration(queue)), put(store, configuration(queue))
    store.apply_verdicts(queue, [verdicts(hit, event(own_id="mine")), verdicts(other, event())], now=NOW)

    uuids = [hit.configuration.uuid, other.configuration.uuid, new_id(NOW)]
    entries = store.load_configurations(queue, uuids, event_ids=["mine", "yours"])

    assert [entry.known_events if entry else None for entry in entries] == [frozenset({"mine"}), frozenset(), None]


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


# -- ends of jobs ----------------------------------------------------------------------------------------------------


def make_queue(store: Store) -> str:
    """A queue as a node type has one, and the job type `load`, of which all jobs of these tests are."""
    queue = new_queue()
    store.put_node_types([NodeType(uuid=queue, name=queue)])
    store.put_job_types([JobType(uuid=JOB_TYPE, name="load", executor="log", node_type=queue)])
    return queue


def await_ends(store: Store, name: str = "load") -> Configuration:
    """A configuration, in a queue of its own, that waits for jobs of a type."""
    return put(store, configuration(new_queue(), dependency(name, "JOB"))).configuration


def outcomes(store: Store, queue: str) -> list[str | None]:
    return [event.outcome for event in store.read_outbox(queue, limit=10)]


def test_the_end_of_a_job_that_is_waited_for_is_in_the_outbox_until_it_is_taken(store: Store) -> None:
    queue = make_queue(store)
    await_ends(store)
    enqueue(store, spec(queue), spec(queue, job_type=new_id(NOW)))
    told, plain = succeed(claim_one(store, queue), NOW + 5), succeed(claim_one(store, queue))

    assert finish(store, plain, told) == frozenset()

    (event,) = store.read_outbox(queue, limit=10)
    assert (event.type, event.resource, event.outcome, event.received_at) == ("JOB", "load", "succeeded", NOW + 5)
    store.clear_outbox(queue, [event])
    store.clear_outbox(queue, [event])
    assert store.read_outbox(queue, limit=10) == []


def test_every_queue_has_an_outbox_of_its_own_in_the_order_of_the_ends(store: Store) -> None:
    await_ends(store)
    queues = [make_queue(store) for _ in range(2)]
    ids: dict[str, list[str]] = {queue: [] for queue in queues}
    for n in range(6):
        queue = queues[n % 2]
        enqueue(store, spec(queue))
        one = claim_one(store, queue)
        finish(store, succeed(one, NOW + n), now=NOW + n)
        ids[queue].append(f"{one.spec.id}/{one.token}")

    for queue in queues:
        assert [each.id for each in store.read_outbox(queue, limit=10)] == ids[queue]
        assert [each.id for each in store.read_outbox(queue, limit=2)] == ids[queue][:2]
    store.clear_outbox(queues[0], store.read_outbox(queues[0], limit=2))

    assert [each.id for each in store.read_outbox(queues[0], limit=10)] == ids[queues[0]][2:]
    assert [each.id for each in store.read_outbox(queues[1], limit=10)] == ids[queues[1]]


def test_a_settlement_that_is_refused_or_repeated_tells_nothing_more(store: Store) -> None:
    queue = make_queue(store)
    await_ends(store)
    enqueue(store, spec(queue))
    claim = claim_one(store, queue)

    assert finish(store, succeed(structs.replace(claim, token="x/1"))) == {claim.spec.id}
    assert outcomes(store, queue) == []
    finish(store, fail(claim))
    finish(store, fail(claim))
    assert outcomes(store, queue) == ["failed"]


def test_a_job_that_returns_has_not_ended(store: Store) -> None:
    queue = make_queue(store)
    await_ends(store)
    enqueue(store, spec(queue))

    finish(store, fail_and_retry(claim_one(store, queue)))

    assert outcomes(store, queue) == []


def test_ends_that_the_watchdog_settles_are_events_too(store: Store) -> None:
    queue = make_queue(store)
    await_ends(store)
    enqueue(store, spec(queue))
    claim = structs.replace(claim_one(store, queue), deaths=MOST_DEATHS - 1)

    assert reclaim(store, die(claim), now=NOW + 1) == frozenset()

    assert outcomes(store, queue) == ["failed"]


def test_whoever_settled_jobs_before_tells_every_end_after_a_configuration_waits_for_it(
    store: Store, open_again: Callable[[], Store]
) -> None:
    queue, other = make_queue(store), open_again()
    enqueue(store, *(spec(queue) for _ in range(5)))
    finish(other, succeed(claim_one(other, queue)))  # now it knows that nobody waits
    claims = [claim_one(other, queue) for _ in range(3)]

    await_ends(store)

    finish(other, succeed(claims[0]))
    assert len(outcomes(store, queue)) == 1
    one = await_ends(store)
    claimed = other.finish_and_claim_jobs(queue, [fail(claims[1])], token=token_of(new_node()), limit=1, now=NOW)
    assert len(claimed.claims) == 1
    assert sorted(map(str, outcomes(store, queue))) == ["failed", "succeeded"]
    store.delete_configurations([one.uuid])
    finish(other, succeed(claims[2]))
    assert len(outcomes(store, queue)) == 3, "another configuration still waits"


def test_whoever_settled_jobs_before_tells_no_end_after_nobody_waits_for_it(
    store: Store, open_again: Callable[[], Store]
) -> None:
    queue, other = make_queue(store), open_again()
    one = await_ends(store)
    enqueue(store, spec(queue), spec(queue))
    finish(other, succeed(claim_one(other, queue)))

    store.delete_configurations([one.uuid])
    finish(other, succeed(claim_one(other, queue)))

    assert len(outcomes(store, queue)) == 1


def test_an_end_is_told_by_the_name_that_its_job_type_has_then(store: Store, open_again: Callable[[], Store]) -> None:
    queue, other = make_queue(store), open_again()
    await_ends(store, "unload")
    enqueue(store, spec(queue), spec(queue))
    finish(other, succeed(claim_one(other, queue)))
    assert outcomes(store, queue) == []

    store.put_job_types([JobType(uuid=JOB_TYPE, name="unload", executor="log", node_type=queue)])
    finish(other, succeed(claim_one(other, queue)))

    assert [event.resource for event in store.read_outbox(queue, limit=10)] == ["unload"]


@pytest.mark.stores("redis")  # only there do definitions and queues live apart
def test_ends_are_settled_and_told_although_a_fail_over_took_the_definitions_back_to_an_older_version(
    store: Store, open_again: Callable[[], Store], redis_server: RedisServer
) -> None:
    queue = make_queue(store)
    await_ends(store)
    enqueue(store, spec(queue), spec(queue))
    with redis.Redis.from_url(redis_server.url) as client:
        client.decr(NODE_TYPES.version)
    other = open_again()

    for _ in range(2):
        finish(other, succeed(claim_one(other, queue)))

    assert len(outcomes(store, queue)) == 2


def test_no_end_is_lost_while_others_define_what_waits_for_it(store: Store, open_again: Callable[[], Store]) -> None:
    queue, jobs = make_queue(store), 60
    enqueue(store, *(spec(queue) for _ in range(jobs)))
    nodes = [open_again() for _ in range(3)]
    is_acknowledged = threading.Event()

    def end_jobs(number: int) -> int:
        """Ends jobs; returns how many of them after it could know that somebody waits."""
        told = 0
        while found := claim(nodes[number], queue, limit=1):
            told += is_acknowledged.is_set()
            finish(nodes[number], succeed(found[0]))
        return told

    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(end_jobs, number) for number in range(3)]
        wait_until(lambda: counts(store, queue).get(JobState.SUCCEEDED, 0) > 5, "some jobs have ended")
        await_ends(store)
        is_acknowledged.set()
        told = sum(one.result(timeout=60) for one in running)

    assert len(store.read_outbox(queue, limit=jobs)) >= told
