"""Redis moves, makes and deletes a configuration in several steps. Wherever a process dies between them, whatever
answer is lost, and whoever comes between: one configuration counts, or none, and the next can do anything with it."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count

import pytest
from msgspec import structs

from rota.errors import Conflict
from rota.model.events.configuration import Configuration, first_state
from rota.store import Store, open_store
from rota.store.contract.events import ConfigurationChange, ConfigurationEntry, Place
from rota.store.redis.keys import CONFIGURATION_QUEUES, QueueKeys
from rota.store.redis.link.scripts import ScriptCall
from rota.store.redis.nouns.events.entries import histories_of
from rota.store.redis.store import RedisStore
from tests.conftest import OpenStore
from tests.contract.building import NOW, claim_one, enqueue, finish, new_queue, spec, succeed
from tests.contract.events.configuring import (
    configuration,
    dependency,
    event,
    found,
    make_queue,
    matched,
    outcomes,
    put,
    verdicts,
)
from tests.contract.racing import in_threads
from tests.contract.steps import Dies, Event, die, lose_answer, run_with
from tests.engine.events.installation import EventsInstallation, needs

# SQLite does each of this in one transaction.
pytestmark = pytest.mark.stores("redis", "redis-cluster")
Act = Callable[[Store], object]
Way = Callable[[Store, int, Act], bool]


def dies(store: Store, number: int, act: Act) -> bool:
    """Whoever acts dies before the step of this number. False if there is none: it is done."""
    return run_with(store, number, partial(act, store), before=die).is_reached


def does_not_hear(store: Store, number: int, act: Act) -> bool:
    """Whoever acts loses the answer to the step of this number. False if there is none."""
    return run_with(store, number, partial(act, store), after=lose_answer).is_reached


def meets(store: Store, number: int, act: Act, meanwhile: Event) -> bool:
    """Something else happens before the step of this number. False if there is none."""
    return run_with(store, number, partial(act, store), before=meanwhile).is_reached


WAYS: dict[str, Way] = {"dies": dies, "does not hear": does_not_hear}
THIRD = new_queue()
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())


def named_c(queue: str) -> Configuration:
    return configuration(queue, dependency("a"), dependency("load", "JOB"), name="c")


def move(store: Store, one: Configuration, queue: str, **changes: object) -> bool:
    entry = store.find_configurations([one.uuid])[0]
    if entry is None:
        return False
    moved = structs.replace(entry.configuration, queue=queue, **changes)
    state = structs.replace(entry.state, version=entry.state.version + 1)
    return store.put_configurations([ConfigurationChange(moved, state, entry.state.version)])[0]


def is_moved(store: Store, one: Configuration, queue: str) -> None:
    assert move(store, one, queue)


def delete(store: Store, one: Configuration) -> bool:
    return store.delete_configurations([one.uuid])[0]


def is_made(store: Store, one: Configuration) -> bool:
    try:
        put(store, one)
    except Conflict:
        return False
    return True


def reached(store: Store, resource: str = "a") -> list[ConfigurationEntry]:
    """The configurations that an event comes to."""
    for _ in range(3):
        places = store.match_events([event(resource)])[0]
        entries = [store.load_configurations(place.queue, [place.uuid])[0] for place in places]
        if None not in entries:
            break
    return [entry for entry in entries if entry]


def take_event(store: Store) -> None:
    """Judge one, again if somebody was faster."""
    is_done = False
    while not is_done:
        (entry,) = reached(store)
        queue = entry.configuration.queue
        is_done = store.apply_verdicts(queue, [verdicts(entry, event(), spec(queue))], now=NOW)[0].done


def is_counted_once(store: Store, one: Configuration) -> ConfigurationEntry:
    """An event comes to it once, and it is found, named and listed as it is there, with all that events did."""
    (entry,) = reached(store)
    assert entry == found(store, one)
    assert len(store.list_evaluations(one.uuid, limit=99)) == entry.state.evaluated
    assert store.configuration_uuid(one.name) == one.uuid
    assert store.list_configurations(limit=9).entries == [entry]
    assert one.uuid in {each.uuid for each in store.listening_configurations()}
    return entry


def is_gone(store: Store, one: Configuration) -> None:
    assert reached(store) == []
    assert store.find_configurations([one.uuid]) == [None]
    assert store.list_configurations(limit=9).entries == []
    assert store.configuration_uuid(one.name) is None
    put(store, configuration(one.queue, dependency("other"), name=one.name))


def forget_all(store: Store) -> None:
    store.delete_configurations([entry.configuration.uuid for entry in store.list_configurations(limit=99).entries])


def records(store: Store, *queues: str) -> int:
    """How much the queues have of configurations."""
    assert isinstance(store, RedisStore)
    keys = [QueueKeys(queue) for queue in queues]
    stored = sum(len(store._redis.hgetall(key)) for k in keys for key in (k.configurations, k.configuration_states))
    return stored + sum(store._redis.zcard(k.dependency_index) for k in keys)


# -- a move --------------------------------------------------------------------------------------------------------


def takes_an_event(store: Store, one: Configuration) -> None:
    take_event(store)

    assert is_counted_once(store, one).state.evaluated == 1


def moves_on(store: Store, one: Configuration) -> None:
    assert move(store, one, THIRD)

    assert is_counted_once(store, one).configuration.queue == THIRD


def moves_there(store: Store, one: Configuration) -> None:
    assert move(store, one, one.queue)

    assert is_counted_once(store, one).configuration.queue == one.queue


def is_changed(store: Store, one: Configuration) -> None:
    entry = found(store, one)
    changed = structs.replace(entry.configuration, dependencies=(dependency("b"),))
    change = ConfigurationChange(changed, first_state(changed, version=entry.state.version + 1), entry.state.version)

    assert store.put_configurations([change]) == [True]

    assert matched(store, event("a"), event("b")) == [set(), {one.uuid}]


def is_deleted(store: Store, one: Configuration) -> None:
    assert delete(store, one)

    is_gone(store, one)


Then = Callable[[Store, Configuration], None]
THEN: list[Then] = [takes_an_event, moves_on, moves_there, is_changed, is_deleted]


@ways
@pytest.mark.parametrize("then", THEN, ids=lambda then: then.__name__)
def test_one_configuration_counts_at_whatever_step_of_its_move_a_process(
    open_again: OpenStore, store: Store, way: Way, then: Then
) -> None:
    old, new = new_queue(), new_queue()
    for number in count():
        one = put(store, named_c(old)).configuration

        is_cut = way(open_again(), number, partial(is_moved, one=one, queue=new))

        queue = is_counted_once(store, one).configuration.queue
        assert queue == new or (way is dies and queue == old)
        then(store, structs.replace(one, queue=new))
        forget_all(store)
        assert records(store, old, new) == 0, "nothing is left over"
        if not is_cut:
            break


@ways
def test_a_move_that_changes_what_is_waited_for_is_made_or_not_at_whatever_step_a_process(
    open_again: OpenStore, store: Store, way: Way
) -> None:
    old, new = new_queue(), new_queue()
    for number in count():
        one = put(store, named_c(old)).configuration

        wanted = (dependency("b"), dependency("load", "JOB"))
        is_cut = way(open_again(), number, partial(move, one=one, queue=new, dependencies=wanted))

        queues = [[entry.configuration.queue for entry in reached(store, name)] for name in ("a", "b")]
        assert queues in ([[old], []], [[], [new]])
        forget_all(store)
        assert records(store, old, new) == 0
        if not is_cut:
            break


def test_an_event_counts_once_at_whatever_step_of_a_move_it_comes(open_again: OpenStore, store: Store) -> None:
    old, new = new_queue(), new_queue()
    for number in count():
        one = put(store, named_c(old)).configuration
        answers: list[bool] = []

        def note(mover: Store, act: Callable[[Store], bool], answers: list[bool]) -> None:
            answers.append(act(mover))

        act = partial(note, act=partial(move, one=one, queue=new), answers=answers)
        is_met = meets(open_again(), number, act, partial(take_event, store))

        entry = is_counted_once(store, one)
        assert entry.configuration.queue == (new if answers[0] else old)
        assert entry.state.evaluated == int(is_met)
        forget_all(store)
        assert records(store, old, new) == 0
        if not is_met:
            break


@pytest.mark.stores("redis")  # a cluster takes the same steps, and a minute and a half for them
def test_an_event_reaches_it_at_whatever_step_it_meets_who_finishes_a_move(open_again: OpenStore, store: Store) -> None:
    """Both find the move as it was cut short, and the one is through while the other has only looked."""
    old, new = new_queue(), new_queue()
    other, number, step = open_again(), 0, 0
    is_cut = True
    while is_cut:
        one = put(store, named_c(old)).configuration
        is_cut = dies(open_again(), step, partial(move, one=one, queue=new))

        is_met = meets(other, number, reached, partial(reached, store))

        is_counted_once(store, one)
        forget_all(store)
        assert records(store, old, new) == 0
        number, step = (number + 1, step) if is_met else (0, step + 1)


def test_a_copy_of_the_queues_has_it_once_at_whatever_step_of_its_move_a_process_dies(
    open_again: OpenStore, store: Store
) -> None:
    old, new = new_queue(), new_queue()
    for number in count():
        one = put(store, named_c(old)).configuration
        is_cut = dies(open_again(), number, partial(move, one=one, queue=new))

        copied = [entry for queue in (old, new) for entry in store.copy_queue(queue).configurations]

        assert is_counted_once(store, one) in copied
        assert all(entry == copied[0] for entry in copied)
        take_event(store)
        assert [entry for queue in (old, new) for entry in store.copy_queue(queue).configurations] == [
            found(store, one)
        ]
        forget_all(store)
        if not is_cut:
            break


def test_a_copy_has_nothing_of_what_has_come_to_another_queue_or_is_gone(store: Store) -> None:
    assert isinstance(store, RedisStore)
    old, new = new_queue(), new_queue()
    one = put(store, named_c(old)).configuration
    (before,) = store.copy_queue(old).configurations
    assert move(store, one, new)
    take_event(store)
    moving = ConfigurationChange(structs.replace(one, queue=new), structs.replace(before.state, version=2), None)
    store._put_configurations_in(old, [(moving, None)])

    assert store.copy_queue(old).configurations == []
    store._redis.hdel(CONFIGURATION_QUEUES, one.uuid)
    assert store.copy_queue(new).configurations == []


def test_whoever_finishes_a_move_too_late_changes_nothing(open_again: OpenStore, store: Store) -> None:
    """It stood still while others finished the move, and then moved the configuration back or deleted it."""
    late, seen = open_again(), 0
    assert isinstance(late, RedisStore)
    old, new = new_queue(), new_queue()
    for number in count():
        one = put(store, named_c(old)).configuration
        is_cut = dies(open_again(), number, partial(move, one=one, queue=new))
        moving = late._read_configurations_in(old, [one.uuid])[0]
        if moving and moving.configuration.queue == new:
            seen += 1
            assert move(store, one, old)

            late._finish_move(old, moving)

            assert is_counted_once(store, one).configuration.queue == old
            assert delete(store, one)
            late._finish_move(old, moving)
            is_gone(store, one)
        forget_all(store)
        assert records(store, old, new) == 0
        if not is_cut:
            break
    assert seen > 0


@ways
def test_wherever_a_move_is_cut_short_what_events_did_moves_along(
    open_again: OpenStore, store: Store, way: Way
) -> None:
    assert isinstance(store, RedisStore)
    old, new = new_queue(), new_queue()
    for number in count():
        one = put(store, named_c(old)).configuration
        take_event(store)
        told = (store.list_evaluations(one.uuid, limit=9), store.list_validations(one.uuid, limit=9))

        is_cut = way(open_again(), number, partial(move, one=one, queue=new))

        assert is_counted_once(store, one)  # whoever comes across it brings it to its end
        assert (store.list_evaluations(one.uuid, limit=9), store.list_validations(one.uuid, limit=9)) == told
        assert (len(told[0]), len(told[1])) == (1, 1)
        forget_all(store)
        assert records(store, old, new) == 0
        assert not any(
            store._redis.exists(key) for queue in (old, new) for key in histories_of(QueueKeys(queue), one.uuid)
        )
        if not is_cut:
            break


def test_what_was_left_in_another_queue_does_not_count_and_is_forgotten(store: Store) -> None:
    assert isinstance(store, RedisStore)
    old, new = new_queue(), new_queue()
    left = put(store, named_c(old)).configuration
    moved = structs.replace(left, queue=new, dependencies=(dependency("a"),))
    store._put_configurations_in(new, [(ConfigurationChange(moved, first_state(moved, version=2), None), None)])
    store._redis.hset(CONFIGURATION_QUEUES, left.uuid, new)

    assert store.match_events([event()]) == [[Place(new, left.uuid)]]
    assert (records(store, old), records(store, new)) == (0, 3)
    store._redis.hdel(CONFIGURATION_QUEUES, left.uuid)
    assert store.listening_configurations() == []
    assert store.match_events([event()]) == [[]]
    assert records(store, new) == 0


def test_a_configuration_that_moves_while_the_queues_are_asked_is_found(open_again: OpenStore, store: Store) -> None:
    """It comes to a queue that was asked already, out of one that is asked afterwards."""
    assert isinstance(store, RedisStore)
    mover = open_again()
    new, old = sorted(new_queue() for _ in range(2))
    put(store, configuration(new, dependency("other")))
    one = put(store, named_c(old)).configuration
    assert store.match_events([event()]) == [[Place(old, one.uuid)]]
    ask = store._link.run_each

    def ask_slowly(calls: list[ScriptCall]) -> list[object]:
        store._link.run_each = ask  # type: ignore[method-assign]
        first = ask(calls[:1])
        assert move(mover, one, new)
        return first + ask(calls[1:])

    store._link.run_each = ask_slowly  # type: ignore[method-assign, assignment]

    assert store.match_events([event()]) == [[Place(new, one.uuid)]]


# -- a deletion ----------------------------------------------------------------------------------------------------


def test_a_configuration_is_there_or_gone_at_whatever_step_of_its_deletion_a_process_dies(
    open_again: OpenStore, store: Store
) -> None:
    queue = new_queue()
    for number in count():
        one = put(store, named_c(queue)).configuration

        is_cut = dies(open_again(), number, partial(delete, one=one))

        if store.find_configurations([one.uuid]) != [None]:
            is_counted_once(store, one)
            assert delete(store, one)
        is_gone(store, one)
        forget_all(store)
        assert records(store, queue) == 0
        if not is_cut:
            break


def test_a_deletion_tells_what_it_did_at_whatever_step_a_process_does_not_hear(
    open_again: OpenStore, store: Store
) -> None:
    queue = new_queue()
    for number in count():
        one = put(store, named_c(queue)).configuration

        is_cut = does_not_hear(open_again(), number, partial(is_deleted, one=one))

        assert store.find_configurations([one.uuid]) == [None]
        forget_all(store)
        if not is_cut:
            break


@pytest.mark.parametrize("is_moved_first", [True, False])
def test_a_configuration_that_is_deleted_is_gone_at_whatever_step_of_its_move_or_deletion(
    open_again: OpenStore, store: Store, is_moved_first: bool
) -> None:
    old, new = new_queue(), new_queue()
    for number in count():
        one = put(store, named_c(old)).configuration
        moves, deletes = partial(move, one=one, queue=new), partial(delete, one=one)
        first, second = (moves, deletes) if is_moved_first else (deletes, moves)

        is_met = meets(open_again(), number, first, partial(second, store))

        if not is_met:
            second(store)
        is_gone(store, one)
        forget_all(store)
        assert records(store, old, new) == 0
        if not is_met:
            break


# -- a new one -----------------------------------------------------------------------------------------------------


@ways
def test_a_configuration_hears_of_every_end_or_can_be_made_again_at_whatever_step_of_its_making_a_process(
    fresh_store: OpenStore, store_url: str, way: Way
) -> None:
    for number in count():
        store, maker = fresh_store(), open_store(store_url)
        queue, worker = make_queue(store), open_store(store_url)
        enqueue(store, spec(queue), spec(queue))
        finish(worker, succeed(claim_one(worker, queue)))
        assert outcomes(store, queue) == [], "the worker knows that nobody waits"
        one = named_c(new_queue())

        is_cut = way(maker, number, partial(put, one=one))

        if store.find_configurations([one.uuid]) == [None]:
            assert way is dies
            assert reached(store) == []
            one = put(store, named_c(new_queue())).configuration
        is_counted_once(store, one)
        finish(worker, succeed(claim_one(worker, queue)))
        assert outcomes(store, queue) == ["succeeded"]
        for handle in (store, maker, worker):
            handle.close()
        if not is_cut:
            break


def test_an_end_is_told_to_whoever_looks_at_whatever_step_of_the_making_before_it_is_there(
    fresh_store: OpenStore, store_url: str
) -> None:
    """A worker looks what is waited for in the middle of it, and never again: the process that makes it dies then."""
    for number in count():
        store, maker, worker = fresh_store(), open_store(store_url), open_store(store_url)
        queue = make_queue(store)
        enqueue(store, spec(queue), spec(queue))
        one = named_c(new_queue())

        def look_and_go_on(worker: Store, queue: str) -> None:
            finish(worker, succeed(claim_one(worker, queue)))

        is_met = meets(maker, number, partial(die_after_put, one=one), partial(look_and_go_on, worker, queue))

        store.clear_outbox(queue, store.read_outbox(queue, limit=9))
        if is_met and store.find_configurations([one.uuid]) != [None]:
            finish(worker, succeed(claim_one(worker, queue)))
            assert outcomes(store, queue) == ["succeeded"]
        for handle in (store, maker, worker):
            handle.close()
        if not is_met:
            break


def die_after_put(store: Store, one: Configuration) -> None:
    """Make one, and die as soon as it is there."""
    assert isinstance(store, RedisStore)

    def die_here(changes: Sequence[ConfigurationChange]) -> None:
        raise Dies

    store._confirm_new_configurations = die_here  # type: ignore[method-assign]
    with pytest.raises(Dies):
        put(store, one)


def test_a_configuration_that_was_not_made_can_be_defined_again_at_whatever_step_a_process_dies(
    fresh_store: OpenStore, store_url: str
) -> None:
    wanted = needs("FILE", "a", 0)
    for number in count():
        store, maker = fresh_store(), open_store(store_url)
        installation = EventsInstallation(store)

        is_cut = dies(maker, number, lambda store: EventsInstallation(store).define_configuration("c", wanted))

        if not installation.triggers("FILE", "a", 1):
            installation.define_configuration("c", wanted)
        assert len(installation.post("FILE", "a", 2).triggered) == 1
        assert isinstance(store, RedisStore)
        assert len(store._redis.hgetall(CONFIGURATION_QUEUES)) == 1, "nothing is kept of the one that never came"
        for handle in (store, maker):
            handle.close()
        if not is_cut:
            break


def test_of_two_that_are_made_with_one_name_one_is_refused_at_whatever_step_they_meet(
    open_again: OpenStore, store: Store
) -> None:
    queues = new_queue(), new_queue()
    for number in count():
        one, other = map(named_c, queues)
        made: list[Configuration] = []

        def make(maker: Store, wanted: Configuration, made: list[Configuration]) -> None:
            if is_made(maker, wanted):
                made.append(wanted)

        meanwhile = partial(make, store, other, made)
        is_met = meets(open_again(), number, partial(make, wanted=one, made=made), meanwhile)

        is_counted_once(store, *made)
        forget_all(store)
        assert records(store, *queues) == 0
        if not is_met:
            break


def test_of_many_that_are_made_with_one_name_at_once_one_is_not_refused(open_again: OpenStore, store: Store) -> None:
    handles, queues = [open_again() for _ in range(3)], [new_queue() for _ in range(3)]
    for _ in range(20):
        some = [named_c(queue) for queue in queues]

        made = in_threads(partial(lambda some, n: is_made(handles[n], some[n]), some), len(some))

        assert sum(made) == 1
        is_counted_once(store, some[made.index(True)])
        forget_all(store)


def test_what_somebody_deletes_while_it_is_made_stays_deleted_at_whatever_step(
    open_again: OpenStore, store: Store
) -> None:
    maker, queue = open_again(), new_queue()  # the same one each time: each queue is a step
    for number in count():
        one, answers = named_c(queue), list[bool]()

        ran = run_with(maker, number, partial(put, maker, one), before=partial(append_answer, answers, store, one))

        is_deleted = any(answers)
        assert (store.find_configurations([one.uuid]) == [None]) == is_deleted
        assert reached(store) == [] if is_deleted else is_counted_once(store, one)
        forget_all(store)
        if not ran.is_reached:
            break


def append_answer(answers: list[bool], store: Store, one: Configuration) -> None:
    answers.append(delete(store, one))


def test_a_name_whose_configuration_was_lost_is_free(store: Store) -> None:
    """A server of a cluster may come back without what it had acknowledged, and another one has the name."""
    assert isinstance(store, RedisStore)
    lost = named_c(new_queue())
    put(store, lost)
    store._forget_configurations_in(lost.queue, [lost])

    again = named_c(new_queue())
    put(store, again)

    is_counted_once(store, again)
