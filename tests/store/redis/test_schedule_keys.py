"""What a schedule leaves in the keys of Redis when it is renamed, moved, retargeted and deleted: nothing."""

import pytest
from msgspec import structs

from rota.engine.definitions.moves import move_schedule
from rota.model.ids import new_id
from rota.store.contract.schedules import ScheduleChange
from rota.store.redis.keys import SCHEDULE_NAMES, SCHEDULE_ORDER, SCHEDULE_QUEUES, SCHEDULE_USERS, QueueKeys
from rota.store.redis.store import RedisStore
from tests.contract.building import NOW, new_queue, spec
from tests.contract.schedules.scheduling import LEASE_MS, firing, found, put, schedule

pytestmark = pytest.mark.stores("redis")

INDEX = [SCHEDULE_QUEUES, SCHEDULE_NAMES, SCHEDULE_ORDER, SCHEDULE_USERS]


def sizes(store: RedisStore) -> list[int]:
    """Entries of the index: queues, names, order, users."""
    queues, names, order, users = INDEX
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
    store._forget_in(queue, [first.uuid])
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


class Dies(Exception):
    """The process dies here."""


def test_a_move_that_is_cut_short_leaves_the_schedule_asleep_where_it_was(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new, before = new_queue(), new_queue(), store.now()
    entry = put(store, schedule(old, "a"), due=before)
    moved = structs.replace(entry.schedule, queue=new)
    run = store._link.run_and_tell

    def die_before_it_arrives(script: str, keys: list[str], args: list[str | bytes | int]) -> object:
        if script == "put_schedules" and keys[0] == QueueKeys(new).schedules:
            raise Dies
        return run(script, keys, args)

    monkeypatch.setattr(store._link, "run_and_tell", die_before_it_arrives)
    with pytest.raises(Dies):
        store.put_schedules([ScheduleChange(moved, structs.replace(entry.state, version=2), 1)])
    monkeypatch.undo()

    left = found(store, entry.schedule)
    assert (left.schedule.queue, left.state.version) == (old, 2)
    assert store.fire_schedules(old, [firing(entry, spec(old))], now=before) == [False], "it was decided before"
    given = store.claim_due_schedules(old, now=store.now(), lease_ms=LEASE_MS, limit=10)
    assert given.entries == []
    assert before + 60_000 <= (given.next_due or 0) <= store.now() + 60_000, "until the others know where it belongs"
    move_schedule(store, left, new)
    assert found(store, moved).schedule.queue == new
    assert kept_of(store, old, moved.uuid) == [False] * 4
