"""A name belongs to one schedule, whoever else makes or renames one at the same time: who was told that it is done has
it, and of the others nothing is left that could fire."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count

import pytest
from msgspec import structs

from rota.errors import Conflict
from rota.model.schedules.schedule import Schedule, ScheduleState
from rota.store import Store
from rota.store.contract.schedules import ScheduleChange
from tests.conftest import OpenStore
from tests.contract.building import NOW, new_queue
from tests.contract.racing import in_threads
from tests.contract.schedules.scheduling import LEASE_MS, found, put, schedule
from tests.contract.steps import Event, Held, die, lose_answer, run_with

QUEUES = (new_queue(), new_queue(), new_queue())
NAME = "nightly"


def is_made(store: Store, one: Schedule) -> bool:
    try:
        put(store, one)
    except Conflict:
        return False
    return True


def is_new(store: Store, one: Schedule) -> bool:
    """Make one that may be there already."""
    return store.put_schedules([ScheduleChange(one, ScheduleState(cursor=NOW - 1, nominal=NOW, due=NOW), None)])[0]


def is_renamed(store: Store, one: Schedule) -> bool:
    """Give a schedule the name that others want too; in another queue, if that is said."""
    entry = store.find_schedules([one.uuid])[0]
    if entry is None:
        return False
    state = structs.replace(entry.state, version=entry.state.version + 1)
    try:
        return store.put_schedules([ScheduleChange(one, state, entry.state.version)])[0]
    except Conflict:
        return False


def is_the_only_one(store: Store, one: Schedule) -> None:
    """It is found, named and listed, and nothing else is due."""
    entry = found(store, one)
    assert store.schedule_uuid(NAME) == one.uuid
    assert store.list_schedules(limit=9).entries == [entry]
    assert due_in(store) == [one.uuid]


def due_in(store: Store) -> list[str]:
    given = [store.claim_due_schedules(queue, now=NOW + 1, lease_ms=LEASE_MS, limit=9) for queue in QUEUES]
    return [entry.schedule.uuid for one in given for entry in one.entries]


def forget_all(store: Store) -> None:
    store.delete_schedules([entry.schedule.uuid for entry in store.list_schedules(limit=99).entries])
    assert due_in(store) == []


def named(queue: str, name: str = NAME) -> Schedule:
    return schedule(queue, name)


# -- two -----------------------------------------------------------------------------------------------------------


def meetings(
    other: Store, prepare: Callable[[], object], first: Callable[[], bool], second: Callable[[], bool]
) -> Iterator[tuple[bool | None, bool]]:
    """What becomes of both if one acts before some step of the other, for each step; and once after all of them."""
    for number in count():
        prepare()
        answers: list[bool] = []
        ran = run_with(other, number, first, before=lambda answers=answers: answers.append(second()))  # type: ignore[misc]
        yield ran.answer, answers[0] if answers else second()
        if not ran.is_reached:
            return


def test_of_two_that_are_made_with_one_name_one_is_refused_at_whatever_step_they_meet(
    store: Store, open_again: OpenStore
) -> None:
    other, some = open_again(), list[Schedule]()

    def prepare() -> None:
        some[:] = [named(QUEUES[0]), named(QUEUES[1])]

    for answers in meetings(other, prepare, lambda: is_made(other, some[0]), lambda: is_made(store, some[1])):
        assert set(answers) == {False, True}
        is_the_only_one(store, some[answers.index(True)])
        forget_all(store)


def test_of_two_that_make_the_same_schedule_one_is_refused_and_it_is_there_at_whatever_step_they_meet(
    store: Store, open_again: OpenStore
) -> None:
    """As two nodes with one configuration file do."""
    other, some = open_again(), list[Schedule]()

    def prepare() -> None:
        some[:] = [named(QUEUES[0])]

    for answers in meetings(other, prepare, lambda: is_new(other, some[0]), lambda: is_new(store, some[0])):
        assert set(answers) == {False, True}
        is_the_only_one(store, some[0])
        forget_all(store)


def test_what_somebody_deletes_while_it_is_made_stays_deleted_at_whatever_step(
    store: Store, open_again: OpenStore
) -> None:
    other, some = open_again(), list[Schedule]()

    def prepare() -> None:
        some[:] = [named(QUEUES[0])]

    def delete() -> bool:
        return store.delete_schedules([some[0].uuid])[0]

    for is_made_by_it, is_deleted in meetings(other, prepare, lambda: is_made(other, some[0]), delete):
        assert is_made_by_it
        assert (store.find_schedules([some[0].uuid]) == [None]) == is_deleted
        assert due_in(store) == ([] if is_deleted else [some[0].uuid])
        forget_all(store)


@pytest.mark.parametrize("queue", QUEUES[:2], ids=["stays", "moves"])
@pytest.mark.parametrize("is_first", [True, False], ids=["met", "meets"])
def test_a_name_that_one_is_given_and_another_is_made_with_belongs_to_one_at_whatever_step_they_meet(
    store: Store, open_again: OpenStore, queue: str, is_first: bool
) -> None:
    other, some = open_again(), list[Schedule]()
    handles = (other, store) if is_first else (store, other)

    def prepare() -> None:
        some[:] = [put(store, named(QUEUES[0], "before")).schedule, named(QUEUES[2])]

    def rename() -> bool:
        return is_renamed(handles[0], structs.replace(some[0], name=NAME, queue=queue))

    def make() -> bool:
        return is_made(handles[1], some[1])

    for answers in meetings(other, prepare, *((rename, make) if is_first else (make, rename))):
        renamed = answers[0 if is_first else 1]
        assert set(answers) == {False, True}
        assert found(store, some[0]).schedule.name == (NAME if renamed else "before")
        assert store.schedule_uuid(NAME) == some[0 if renamed else 1].uuid
        assert store.schedule_uuid("before") == (None if renamed else some[0].uuid)
        names = [entry.schedule.name for entry in store.list_schedules(limit=9).entries]
        assert names == ([NAME] if renamed else ["before", NAME])
        assert len(due_in(store)) == len(names)
        forget_all(store)


# -- three ---------------------------------------------------------------------------------------------------------


@pytest.mark.stores("redis")  # where making one takes several steps
def test_who_was_told_that_it_is_made_keeps_its_name_wherever_two_others_are_held_up(
    store: Store, open_again: OpenStore
) -> None:
    """Somebody looks whether a name is in use while its schedule is being made, is held up, and goes on when it is
    made; a third one comes between any two of the steps that follow."""
    makers = open_again(), open_again()
    for made_until in count():
        for looked_until in count():
            some = [named(queue) for queue in QUEUES]
            with (
                Held(makers[0], made_until, partial(is_made, makers[0], some[0])) as first,
                Held(makers[1], looked_until, partial(is_made, makers[1], some[1])) as second,
            ):
                first_made = first.go_on()
                second.go_on_until_next_step()
                made = [first_made, is_made(store, some[2]), second.go_on()]

            assert made.count(True) == 1
            is_the_only_one(store, [some[0], some[2], some[1]][made.index(True)])
            forget_all(store)
            if not second.is_reached:
                break
        if not first.is_reached:
            break


def test_of_many_that_are_made_with_one_name_at_once_one_is_not_refused(open_again: OpenStore, store: Store) -> None:
    handles = [open_again() for _ in QUEUES]
    for _ in range(20):
        some = [named(queue) for queue in QUEUES]

        made = in_threads(partial(lambda some, n: is_made(handles[n], some[n]), some), len(some))

        assert sum(made) == 1
        is_the_only_one(store, some[made.index(True)])
        forget_all(store)


# -- who dies ------------------------------------------------------------------------------------------------------


def cut_at_each_step(store: Store, other: Store, *, before: Event | None = None, after: Event | None = None) -> None:
    """Make one, be cut at some step, and have another made with its name, for each step: one of the two is there."""
    for number in count():
        one, again = named(QUEUES[0]), named(QUEUES[1])

        ran = run_with(other, number, partial(is_made, other, one), before=before, after=after)
        is_made_again = is_made(store, again)

        assert not (ran.answer and is_made_again)
        is_the_only_one(store, again if is_made_again else one)
        forget_all(store)
        if not ran.is_reached:
            break


def test_a_name_is_free_if_whoever_was_to_use_it_died_at_whatever_step(store: Store, open_again: OpenStore) -> None:
    cut_at_each_step(store, open_again(), before=die)


@pytest.mark.stores("redis")  # SQLite has no answers to lose
def test_a_name_belongs_to_one_whatever_answer_is_lost(store: Store, open_again: OpenStore) -> None:
    cut_at_each_step(store, open_again(), after=lose_answer)
