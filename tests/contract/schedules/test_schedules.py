"""Schedules: versions, names, lists, moves."""

from functools import partial
from itertools import count

import pytest
from msgspec import structs

from rota.errors import Conflict
from rota.model.ids import new_id
from rota.model.schedules.schedule import ScheduleState, TickStatus
from rota.store import Store
from rota.store.contract.schedules import ScheduleChange
from rota.store.redis.store import RedisStore
from tests.conftest import OpenStore
from tests.contract.building import NOW, new_queue, spec
from tests.contract.raw_records import records_with
from tests.contract.schedules.scheduling import LEASE_MS, MINUTE, firing, found, put, schedule, tick
from tests.contract.steps import run_with


def test_a_schedule_is_found_as_it_was_put(store: Store) -> None:
    entry = put(store, schedule(new_queue(), "nightly", arguments={"a": [1]}, max_runs=3))

    assert store.find_schedules([entry.schedule.uuid, new_id(NOW)]) == [entry, None]
    assert store.schedule_uuid("nightly") == entry.schedule.uuid
    assert store.schedule_uuid("other") is None


def test_a_name_belongs_to_one_schedule(store: Store) -> None:
    queue = new_queue()
    put(store, schedule(queue, "nightly"))
    other = schedule(queue, "nightly")

    with pytest.raises(Conflict, match="nightly"):
        store.put_schedules(
            [
                ScheduleChange(schedule(queue, "fine"), ScheduleState(), None),
                ScheduleChange(other, ScheduleState(), None),
            ]
        )

    assert store.find_schedules([other.uuid]) == [None]
    assert store.schedule_uuid("fine") is None


def test_two_schedules_of_one_call_cannot_have_the_same_name(store: Store) -> None:
    twins = [schedule(new_queue(), "twin") for _ in range(2)]

    with pytest.raises(Conflict, match="twin"):
        store.put_schedules([ScheduleChange(one, ScheduleState(), None) for one in twins])

    assert store.find_schedules([one.uuid for one in twins]) == [None, None]
    assert store.schedule_uuid("twin") is None
    assert store.list_schedules(limit=10).entries == []


def test_a_renamed_schedule_frees_its_name(store: Store) -> None:
    entry = put(store, schedule(new_queue(), "old"))
    renamed = structs.replace(entry.schedule, name="new")

    store.put_schedules([ScheduleChange(renamed, structs.replace(entry.state, version=2), 1)])

    assert store.schedule_uuid("old") is None
    assert store.schedule_uuid("new") == entry.schedule.uuid
    assert [one.schedule.name for one in store.list_schedules(limit=10).entries] == ["new"]


def test_the_schedules_whose_time_comes_next_are_listed_soonest_first(store: Store) -> None:
    queue, elsewhere = new_queue(), new_queue()
    for name, due in (("later", 3), ("soon", 1), ("never", None), ("between", 2)):
        put(store, schedule(queue, name), due=None if due is None else NOW + due * MINUTE)
    put(store, schedule(elsewhere, "elsewhere"), due=NOW)

    assert [one.schedule.name for one in store.next_schedules(queue, limit=2)] == ["soon", "between"]
    assert [one.schedule.name for one in store.next_schedules(queue, limit=9)] == ["soon", "between", "later"]
    assert store.next_schedules(new_queue(), limit=9) == []


def test_a_change_of_another_version_is_refused(store: Store) -> None:
    entry = put(store, schedule(new_queue(), "a"))
    changed = structs.replace(entry.schedule, priority=5)
    newer = structs.replace(entry.state, version=2)

    assert store.put_schedules([ScheduleChange(changed, newer, 7)]) == [False]
    assert store.put_schedules([ScheduleChange(changed, newer, None)]) == [False]
    assert found(store, changed).schedule.priority == 0
    assert store.put_schedules([ScheduleChange(changed, newer, 1)]) == [True]
    assert found(store, changed).schedule.priority == 5


def test_version_one_is_not_taken_for_version_ten(store: Store) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue, "a"))
    tenth = ScheduleChange(entry.schedule, structs.replace(entry.state, version=10), 1)
    assert store.put_schedules([tenth]) == [True]

    assert store.put_schedules([ScheduleChange(entry.schedule, structs.replace(entry.state, version=2), 1)]) == [False]
    assert store.fire_schedules(queue, [firing(entry, spec(queue))], now=NOW) == [False]

    assert found(store, entry.schedule).state.version == 10
    late = structs.replace(firing(entry, spec(queue)), expected=100)
    assert store.fire_schedules(queue, [late], now=NOW) == [False]


def test_version_one_is_not_taken_for_a_version_ten_that_comes_before_any_of_its_steps(
    store: Store, open_again: OpenStore
) -> None:
    queue, other = new_queue(), open_again()
    for number in count():
        entry = put(store, schedule(queue, f"a{number}"))
        tenth = ScheduleChange(entry.schedule, structs.replace(entry.state, version=10), 1)
        second = ScheduleChange(entry.schedule, structs.replace(entry.state, version=2), 1)

        ran = run_with(
            other, number, partial(other.put_schedules, [second]), before=partial(store.put_schedules, [tenth])
        )

        if not ran.is_reached:
            break
        assert ran.answer == [False]
        assert found(store, entry.schedule).state.version == 10
    assert number > 0


def test_a_deleted_schedule_is_gone_with_its_ticks_and_its_name(store: Store) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue, "a"))
    store.fire_schedules(queue, [firing(entry, spec(queue))], now=NOW)

    assert store.delete_schedules([entry.schedule.uuid, new_id(NOW)]) == [True, False]

    assert store.find_schedules([entry.schedule.uuid]) == [None]
    assert store.list_ticks(entry.schedule.uuid, limit=10) == []
    assert store.claim_due_schedules(queue, now=NOW + 10 * MINUTE, lease_ms=LEASE_MS, limit=10).entries == []
    put(store, schedule(queue, "a"))


def test_schedules_are_listed_by_name_page_by_page(store: Store) -> None:
    queues = [new_queue(), new_queue()]
    for number in range(25):
        put(store, schedule(queues[number % 2], f"s{number:03}"))

    names, cursor = [], None
    while True:
        page = store.list_schedules(limit=10, cursor=cursor)
        names += [entry.schedule.name for entry in page.entries]
        cursor = page.cursor
        if cursor is None:
            break

    assert names == [f"s{number:03}" for number in range(25)]


def test_human_names_are_found_and_listed_page_by_page(store: Store) -> None:
    names = ["Nightly", "Nightly report (EU)", "[x] {y} 'z'", "Übersicht", "日報"]
    queue, job_type = new_queue(), new_id(NOW)
    made = {name: put(store, schedule(queue, name, job_type=job_type)).schedule.uuid for name in names}

    for of_type in (None, job_type):
        listed: list[str] = []
        cursor = None
        while len(listed) < len(names):
            page = store.list_schedules(limit=2, cursor=cursor, job_type=of_type)
            listed += [entry.schedule.name for entry in page.entries]
            cursor = page.cursor
        assert listed == names
    assert {name: store.schedule_uuid(name) for name in names} == made


def test_a_schedule_that_moves_to_another_queue_is_due_there_only(store: Store) -> None:
    old, new = new_queue(), new_queue()
    entry = put(store, schedule(old))
    moved = structs.replace(entry.schedule, queue=new)

    assert store.put_schedules([ScheduleChange(moved, structs.replace(entry.state, version=2), 1)]) == [True]

    assert store.claim_due_schedules(old, now=NOW, lease_ms=LEASE_MS, limit=10).entries == []
    assert len(store.claim_due_schedules(new, now=NOW, lease_ms=LEASE_MS, limit=10).entries) == 1


def test_schedules_are_listed_by_job_type(store: Store) -> None:
    queue, one, other = new_queue(), new_id(NOW), new_id(NOW)
    for number in range(5):
        put(store, schedule(queue, f"s{number}", job_type=one if number % 2 else other))

    first = store.list_schedules(limit=2, job_type=other)
    rest = store.list_schedules(limit=2, cursor=first.cursor, job_type=other)

    assert [entry.schedule.name for entry in (*first.entries, *rest.entries)] == ["s0", "s2", "s4"]
    assert store.list_schedules(limit=2, job_type=new_id(NOW)).entries == []


def test_a_schedule_of_another_job_type_is_no_longer_listed_under_the_old_one(store: Store) -> None:
    old, new = new_id(NOW), new_id(NOW)
    entry = put(store, schedule(new_queue(), "a", job_type=old))
    changed = structs.replace(entry.schedule, name="b", job_type=new)

    store.put_schedules([ScheduleChange(changed, structs.replace(entry.state, version=2), 1)])

    assert store.list_schedules(limit=10, job_type=old).entries == []
    assert [one.schedule.name for one in store.list_schedules(limit=10, job_type=new).entries] == ["b"]


def test_a_schedule_takes_its_ticks_to_another_queue_and_is_fired_there_only(store: Store) -> None:
    old, new = new_queue(), new_queue()
    entry = put(store, schedule(old, "a"))
    store.fire_schedules(old, [firing(entry, spec(old))], now=NOW)
    held = found(store, entry.schedule)
    moved = structs.replace(held.schedule, queue=new)
    state = structs.replace(held.state, version=held.state.version + 1)

    assert store.put_schedules([ScheduleChange(moved, state, held.state.version)]) == [True]

    assert len(store.list_ticks(moved.uuid, limit=10)) == 1
    assert store.fire_schedules(old, [firing(held, spec(old), nominal=NOW + MINUTE)], now=NOW) == [False]
    there = store.claim_due_schedules(old, now=NOW + 1_000 * MINUTE, lease_ms=LEASE_MS, limit=10)
    assert (there.entries, there.next_due) == ([], None), "nothing of it is left, not even for later"
    due = store.claim_due_schedules(new, now=NOW + MINUTE, lease_ms=LEASE_MS, limit=10).entries
    assert [one.schedule for one in due] == [moved]


def test_a_move_of_another_version_changes_nothing(store: Store) -> None:
    old, new = new_queue(), new_queue()
    entry = put(store, schedule(old, "a"))
    moved = structs.replace(entry.schedule, queue=new)

    assert store.put_schedules([ScheduleChange(moved, structs.replace(entry.state, version=9), 8)]) == [False]

    assert found(store, moved).schedule.queue == old
    assert len(store.claim_due_schedules(old, now=NOW, lease_ms=LEASE_MS, limit=10).entries) == 1


def test_a_refused_change_renames_nothing(store: Store) -> None:
    entry = put(store, schedule(new_queue(), "old"))
    renamed = structs.replace(entry.schedule, name="new", job_type=new_id(NOW))

    assert store.put_schedules([ScheduleChange(renamed, structs.replace(entry.state, version=9), 8)]) == [False]

    assert store.schedule_uuid("old") == entry.schedule.uuid
    assert store.schedule_uuid("new") is None
    assert [one.schedule.name for one in store.list_schedules(limit=10).entries] == ["old"]
    assert store.list_schedules(limit=10, job_type=renamed.job_type).entries == []


def test_a_name_that_a_crash_left_without_a_schedule_is_free_again(store: Store) -> None:
    queue = new_queue()
    first = put(store, schedule(queue, "a"))
    if isinstance(store, RedisStore):
        # Half of a deletion, or of a creation: the name is there, the schedule is not.
        store._forget_schedules_in(queue, [first.schedule.uuid])
    else:
        store.delete_schedules([first.schedule.uuid])

    again = put(store, schedule(queue, "a"))

    assert store.schedule_uuid("a") == again.schedule.uuid


def test_a_change_gives_a_schedule_another_due_time_or_none(store: Store) -> None:
    queue = new_queue()
    later, never = put(store, schedule(queue)), put(store, schedule(queue))
    at = structs.replace(later.state, version=2, due=NOW + MINUTE)
    none = structs.replace(never.state, version=2, due=None)

    assert store.put_schedules([ScheduleChange(later.schedule, at, 1), ScheduleChange(never.schedule, none, 1)]) == [
        True,
        True,
    ]

    early = store.claim_due_schedules(queue, now=NOW + MINUTE - 1, lease_ms=LEASE_MS, limit=10)
    due = store.claim_due_schedules(queue, now=NOW + MINUTE, lease_ms=LEASE_MS, limit=10)
    assert (early.entries, early.next_due) == ([], NOW + MINUTE)
    assert [one.schedule for one in due.entries] == [later.schedule]


def test_of_several_changes_each_has_its_own_answer_and_the_refused_leave_no_trace(store: Store) -> None:
    queue = new_queue()
    entries = [put(store, schedule(queue, f"s{number}"), due=None) for number in range(3)]
    new = schedule(queue, "new")
    changes = [
        ScheduleChange(structs.replace(entry.schedule, priority=5), structs.replace(entry.state, version=2, due=NOW), n)
        for entry, n in zip(entries, (1, 2, 1), strict=True)
    ]

    answers = store.put_schedules([*changes, ScheduleChange(new, ScheduleState(), None)])

    assert answers == [True, False, True, True]
    assert found(store, entries[1].schedule) == entries[1]
    assert [found(store, entries[n].schedule).schedule.priority for n in (0, 2)] == [5, 5]
    due = store.claim_due_schedules(queue, now=NOW, lease_ms=LEASE_MS, limit=10).entries
    assert {one.schedule.name for one in due} == {"s0", "s2"}


def test_schedules_of_several_queues_are_found_in_the_order_in_which_they_were_asked_for(store: Store) -> None:
    queues = [new_queue(), new_queue()]
    entries = [put(store, schedule(queues[number % 2])) for number in range(6)]
    uuids = [entry.schedule.uuid for entry in entries]

    assert store.find_schedules([*uuids[::-1], "nobody", uuids[0]]) == [*entries[::-1], None, entries[0]]
    assert store.find_schedules([]) == []


def test_a_deleted_schedule_takes_nothing_of_another_with_it(store: Store) -> None:
    queue = new_queue()
    gone, kept = put(store, schedule(queue, "gone")), put(store, schedule(queue, "kept"))
    store.fire_schedules(queue, [firing(gone, spec(queue), due=NOW), firing(kept, spec(queue), due=NOW)], now=NOW)

    assert store.delete_schedules([gone.schedule.uuid]) == [True]

    assert store.delete_schedules([gone.schedule.uuid]) == [False]
    assert len(store.list_ticks(kept.schedule.uuid, limit=10)) == 1
    assert store.schedule_uuid("kept") == kept.schedule.uuid
    assert [one.schedule.name for one in store.list_schedules(limit=10).entries] == ["kept"]
    assert [one.schedule.name for one in store.list_schedules(limit=10, job_type=kept.schedule.job_type).entries] == [
        "kept"
    ]
    due = store.claim_due_schedules(queue, now=NOW, lease_ms=LEASE_MS, limit=10)
    assert [one.schedule for one in due.entries] == [kept.schedule]


@pytest.mark.stores("sqlite-file", "sqlite-memory", "redis")  # of which all records can be looked through
def test_nothing_of_a_schedule_is_left_once_it_is_deleted_whatever_was_done_with_it(store: Store) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue, "first"))
    store.fire_schedules(queue, [firing(entry, spec(queue))], now=NOW)
    for changes in ({"name": "second"}, {"queue": new_queue()}, {"job_type": new_id(NOW)}, {"name": "third"}):
        there = found(store, entry.schedule)
        changed = structs.replace(there.schedule, **changes)
        state = structs.replace(there.state, version=there.state.version + 1)
        assert store.put_schedules([ScheduleChange(changed, state, there.state.version)]) == [True]

    assert store.delete_schedules([entry.schedule.uuid]) == [True]

    assert [records_with(store, one) for one in (entry.schedule.uuid, "first", "second", "third")] == [[]] * 4


def test_a_schedule_without_a_next_time_has_none_in_the_queue_to_which_it_moves(store: Store) -> None:
    new = new_queue()
    entry = put(store, schedule(new_queue()), due=None)
    moved = structs.replace(entry.schedule, queue=new)

    assert store.put_schedules([ScheduleChange(moved, structs.replace(entry.state, version=2), 1)]) == [True]

    assert found(store, moved).schedule == moved
    due = store.claim_due_schedules(new, now=NOW + 1_000 * MINUTE, lease_ms=LEASE_MS, limit=10)
    assert (due.entries, due.next_due) == ([], None)
    assert store.next_schedules(new, limit=9) == []


def test_a_schedule_that_is_made_again_under_its_uuid_begins_anew(store: Store) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue, "a"), due=NOW)
    store.fire_schedules(queue, [firing(entry, spec(queue), due=NOW)], now=NOW)
    store.delete_schedules([entry.schedule.uuid])

    put(store, entry.schedule, due=None)

    assert store.list_ticks(entry.schedule.uuid, limit=10) == []
    assert found(store, entry.schedule).state == ScheduleState(cursor=NOW - 1)
    assert store.claim_due_schedules(queue, now=NOW, lease_ms=LEASE_MS, limit=10).entries == []


def test_a_schedule_that_was_deleted_is_not_brought_back_by_a_late_change(store: Store) -> None:
    queue = new_queue()
    entry = put(store, schedule(queue, "a"))
    store.delete_schedules([entry.schedule.uuid])
    late = ScheduleChange(entry.schedule, structs.replace(entry.state, version=2), 1)

    assert store.put_schedules([late]) == [False]

    assert store.find_schedules([entry.schedule.uuid]) == [None]
    assert store.claim_due_schedules(queue, now=NOW, lease_ms=LEASE_MS, limit=10).entries == []
    assert store.list_schedules(limit=10).entries == []


def test_a_page_ends_where_the_list_ends(store: Store) -> None:
    queue = new_queue()
    for name in ("a", "b", "c"):
        put(store, schedule(queue, name))

    whole, first = store.list_schedules(limit=4), store.list_schedules(limit=2)
    rest = store.list_schedules(limit=2, cursor=first.cursor)

    assert ([one.schedule.name for one in whole.entries], whole.cursor) == (["a", "b", "c"], None)
    assert ([one.schedule.name for one in first.entries], first.cursor) == (["a", "b"], "b")
    assert ([one.schedule.name for one in rest.entries], rest.cursor) == (["c"], None)


@pytest.mark.parametrize("moves", [False, True])
def test_ticks_that_a_change_leaves_out_have_a_row_if_it_is_made(store: Store, moves: bool) -> None:
    entry = put(store, schedule(new_queue(), "a"))
    one = structs.replace(entry.schedule, queue=new_queue()) if moves else entry.schedule
    changed = structs.replace(entry.state, version=2)
    left_out = tick(NOW + MINUTE, status=TickStatus.MISSED)

    assert store.put_schedules([ScheduleChange(one, changed, 7, left_out)]) == [False]
    assert store.list_ticks(one.uuid, limit=9) == []
    assert store.put_schedules([ScheduleChange(one, changed, 1, left_out)]) == [True]
    assert store.list_ticks(one.uuid, limit=9) == [left_out]
