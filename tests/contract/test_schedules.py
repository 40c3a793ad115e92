"""Schedules: versions, names, lists, moves."""

import pytest
from msgspec import structs

from rota.errors import Conflict
from rota.model.ids import new_id
from rota.model.schedule import ScheduleState
from rota.store import Store
from rota.store.redis.store import RedisStore
from rota.store.schedules import ScheduleChange
from tests.contract.building import NOW, new_queue, spec
from tests.contract.scheduling import LEASE_MS, MINUTE, firing, found, put, schedule


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


def test_a_renamed_schedule_frees_its_name(store: Store) -> None:
    entry = put(store, schedule(new_queue(), "old"))
    renamed = structs.replace(entry.schedule, name="new")

    store.put_schedules([ScheduleChange(renamed, structs.replace(entry.state, version=2), 1)])

    assert store.schedule_uuid("old") is None
    assert store.schedule_uuid("new") == entry.schedule.uuid
    assert [one.schedule.name for one in store.list_schedules(limit=10).entries] == ["new"]


def test_a_change_of_another_version_is_refused(store: Store) -> None:
    entry = put(store, schedule(new_queue(), "a"))
    changed = structs.replace(entry.schedule, priority=5)
    newer = structs.replace(entry.state, version=2)

    assert store.put_schedules([ScheduleChange(changed, newer, 7)]) == [False]
    assert store.put_schedules([ScheduleChange(changed, newer, None)]) == [False]
    assert found(store, changed).schedule.priority == 0
    assert store.put_schedules([ScheduleChange(changed, newer, 1)]) == [True]
    assert found(store, changed).schedule.priority == 5


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
    assert store.claim_due_schedules(old, now=NOW + 1_000 * MINUTE, lease_ms=LEASE_MS, limit=10).entries == []
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
        store._forget_in(queue, [first.schedule.uuid])
    else:
        store.delete_schedules([first.schedule.uuid])

    again = put(store, schedule(queue, "a"))

    assert store.schedule_uuid("a") == again.schedule.uuid
