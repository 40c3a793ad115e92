"""What events do to configurations: written in one step, by version, and kept within bounds."""

from collections.abc import Callable

from msgspec import structs

from rota.model.events.evaluation import evaluate
from rota.model.events.event import ref_of
from rota.model.ids import new_id
from rota.model.job import JobState
from rota.store import Store
from rota.store.contract.events import (
    MAX_EVALUATIONS,
    ConfigurationEntry,
    Validation,
    Verdicts,
)
from tests.contract.building import (
    NOW,
    counts,
    enqueue,
    given,
    new_queue,
    spec,
)
from tests.contract.events.configuring import configuration, dependency, event, found, put, verdicts
from tests.contract.racing import in_threads


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


def test_a_waiting_job_that_has_expired_gives_its_unique_key_to_that_of_a_configuration(store: Store) -> None:
    queue = new_queue()
    entry, new = put(store, configuration(queue)), spec(queue, unique_key="k")
    enqueue(store, structs.replace(spec(queue, unique_key="k"), expires_at=NOW), now=NOW - 1)

    (answer,) = store.apply_verdicts(queue, [verdicts(entry, event(), new)], now=NOW)

    assert (answer.done, answer.survivors) == (True, {})
    assert counts(store, queue) == {JobState.QUEUED: 1, JobState.CANCELLED: 1}


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
    for limit in (0, 1, 3):
        assert store.list_evaluations(one.uuid, limit=limit) == evaluations[:limit]
        assert store.list_validations(one.uuid, limit=limit) == validations[:limit]


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


def test_a_configuration_knows_nothing_of_one_that_was_deleted_before_it(store: Store) -> None:
    queue = new_queue()
    gone = put(store, configuration(queue, name="c"))
    assert [one.done for one in store.apply_verdicts(queue, [verdicts(gone, event(own_id="e"))], now=NOW)] == [True]
    store.delete_configurations([gone.configuration.uuid])

    made = put(store, configuration(queue, name="c")).configuration

    (entry,) = store.load_configurations(queue, [made.uuid], event_ids=["e"])
    assert entry is not None
    assert set(entry.known_events) == set()
    for uuid in (made.uuid, gone.configuration.uuid):
        assert store.list_validations(uuid, limit=9) == []
        assert store.list_evaluations(uuid, limit=9) == []
