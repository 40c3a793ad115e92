"""What a schedule leaves in the keys of Redis when it is renamed, moved, retargeted and deleted: nothing."""

from functools import partial
from itertools import count

import pytest
from msgspec import structs

from rota.engine.definitions.moves import move_schedule
from rota.model.ids import new_id
from rota.model.schedules.schedule import Schedule
from rota.store.contract.schedules import ScheduleChange, ScheduleEntry
from rota.store.redis.keys import (
    SCHEDULE_NAMES,
    SCHEDULE_ORDER,
    SCHEDULE_QUEUES,
    SCHEDULE_RESERVATIONS,
    SCHEDULE_USERS,
    QueueKeys,
)
from rota.store.redis.nouns.schedules.moves import LONGEST_MOVE_MS, Leaving
from rota.store.redis.store import RedisStore
from tests.contract.building import NOW, new_queue, spec
from tests.contract.schedules.scheduling import LEASE_MS, firing, found, put, schedule
from tests.contract.steps import die, run_with

pytestmark = pytest.mark.stores("redis")

INDEX = [SCHEDULE_QUEUES, SCHEDULE_NAMES, SCHEDULE_ORDER, SCHEDULE_USERS, SCHEDULE_RESERVATIONS]


def sizes(store: RedisStore) -> list[int]:
    """Entries of the index: queues, names, order, users. No name is reserved any more."""
    queues, names, order, users, reservations = INDEX
    assert store.access().ask("hlen", reservations) == 0
    return [
        *(store.access().ask("hlen", key) for key in (queues, names)),
        *(store.access().ask("zcard", key) for key in (order, users)),
    ]


def kept_of(store: RedisStore, queue: str, uuid: str) -> list[bool]:
    """Whether a queue has something of a schedule: itself, its state, its due time, its ticks."""
    keys = QueueKeys(queue)
    return [
        bool(store.access().ask("hexists", keys.schedules, uuid)),
        bool(store.access().ask("hexists", keys.schedule_states, uuid)),
        store.access().ask("zscore", keys.schedule_due, uuid) is not None,
        bool(store.access().ask("exists", keys.ticks(uuid))),
    ]


def test_a_schedule_leaves_nothing_where_it_was_and_nothing_when_it_is_gone(store: RedisStore) -> None:
    old, new = new_queue(), new_queue()
    one = put(store, schedule(old, "a")).schedule
    uuid = one.uuid
    store.fire_schedules(old, [firing(found(store, one), spec(old))], now=NOW)
    assert (sizes(store), kept_of(store, old, uuid)) == ([1, 1, 1, 1], [True] * 4)

    for change in ({"name": "b"}, {"job_type": new_id(NOW)}, {"queue": new}, {"name": "c", "job_type": new_id(NOW)}):
        entry = found(store, one)
        changed = structs.replace(entry.schedule, **change)
        state = structs.replace(entry.state, version=entry.state.version + 1)
        assert store.put_schedules([ScheduleChange(changed, state, entry.state.version)]) == [True]
        assert sizes(store) == [1, 1, 1, 1]
        assert store.list_schedules(limit=1, job_type=changed.job_type).entries == [found(store, one)]
    assert (kept_of(store, old, uuid), kept_of(store, new, uuid)) == ([False] * 4, [True] * 4)

    store.delete_schedules([uuid])

    assert sizes(store) == [0, 0, 0, 0]
    assert kept_of(store, new, uuid) == [False] * 4


def test_half_of_a_deletion_that_goes_on_late_leaves_the_name_to_its_new_owner(store: RedisStore) -> None:
    queue = new_queue()
    first = put(store, schedule(queue, "a")).schedule
    store._forget_schedules_in(queue, [first.uuid])
    second = put(store, schedule(queue, "a")).schedule

    store._link.run("unname_schedules", INDEX, [first.uuid, "a", first.job_type])

    assert store.schedule_uuid("a") == second.uuid
    assert [entry.schedule for entry in store.list_schedules(limit=10).entries] == [second]
    assert [one.schedule for one in store.list_schedules(limit=10, job_type=second.job_type).entries] == [second]


def test_a_schedule_that_cannot_be_read_leaves_nothing_either(store: RedisStore) -> None:
    broken, *others = (schedule(new_queue(), name) for name in ("a", "b", "c"))
    for one in (broken, *others):
        put(store, one)
    store.access().ask("hset", QueueKeys(broken.queue).schedules, broken.uuid, b"{")

    assert store.delete_schedules([broken.uuid]) == [True]

    assert sizes(store) == [2, 2, 2, 2]
    assert [one.schedule for one in store.list_schedules(limit=2, job_type=broken.job_type).entries] == others


def cut_short(store: RedisStore, *, due: int) -> tuple[ScheduleEntry, Schedule]:
    """A schedule as it was, and as it is to arrive, whose mover died after it had left its queue."""
    for number in count():
        entry = put(store, schedule(new_queue()), due=due)
        moved = structs.replace(entry.schedule, queue=new_queue())
        change = ScheduleChange(moved, structs.replace(entry.state, version=2), 1)
        run_with(store, number, partial(store.put_schedules, [change]), before=die)
        if store.access().ask("hget", QueueKeys(entry.schedule.queue).schedule_states, moved.uuid).startswith(b"to "):
            return entry, moved
    raise AssertionError


def test_a_move_that_is_cut_short_is_looked_at_when_it_must_have_ended(store: RedisStore) -> None:
    before = store.now()
    entry, moved = cut_short(store, due=before)
    old = entry.schedule.queue

    assert store.fire_schedules(old, [firing(entry, spec(old))], now=before) == [False], "it was decided before"

    for queue in (old, moved.queue):
        given = store.claim_due_schedules(queue, now=store.now(), lease_ms=LEASE_MS, limit=10)
        assert (given.entries, store.next_schedules(queue, limit=10)) == ([], [])
        assert before + LONGEST_MOVE_MS <= (given.next_due or 0) <= store.now() + LONGEST_MOVE_MS
    assert found(store, moved).schedule == moved
    assert kept_of(store, old, moved.uuid) == [False] * 4
    assert store.claim_due_schedules(moved.queue, now=store.now(), lease_ms=LEASE_MS, limit=10).entries != []


def test_a_queue_that_a_schedule_has_left_is_not_forgotten_before_it_arrived(store: RedisStore) -> None:
    entry, moved = cut_short(store, due=NOW)

    assert not store.forget_queue(entry.schedule.queue)

    assert found(store, moved).schedule == moved
    assert store.forget_queue(entry.schedule.queue)


def test_who_comes_late_does_not_point_the_index_back(store: RedisStore) -> None:
    old, new = new_queue(), new_queue()
    one = put(store, schedule(old, "a")).schedule
    for queue in (new, old):
        move_schedule(store, found(store, one), queue)

    for source, version in ((old, 2), (new_queue(), 9)):
        late = Leaving(new, new_id(NOW), version)
        store._link.run("point_to_schedule", [SCHEDULE_QUEUES], [one.uuid, source, late.place, version])

    assert found(store, one).schedule.queue == old


@pytest.mark.parametrize("state", [b"to {", b"from {"])
def test_a_move_that_cannot_be_read_stops_nobody_and_can_be_deleted(store: RedisStore, state: bytes) -> None:
    queue = new_queue()
    broken, other = (put(store, schedule(queue, name)) for name in ("a", "b"))
    store.access().ask("hset", QueueKeys(queue).schedule_states, broken.schedule.uuid, state)

    assert store.claim_due_schedules(queue, now=NOW, lease_ms=LEASE_MS, limit=10).entries == [other]
    assert store.list_schedules(limit=10).entries == [other]
    assert store.copy_queue(queue).schedules == [(other.schedule, other.state)]
    assert store.delete_schedules([broken.schedule.uuid]) == [True]
    assert (sizes(store), kept_of(store, queue, broken.schedule.uuid)) == ([1, 1, 1, 1], [False] * 4)
