"""A schedule that moves to another queue, or gets another name, while processes die, answers get lost and others act:
there is one of it at every step, whoever wins."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import count

import pytest
from msgspec import structs

from rota.engine.definitions.moves import move_schedule
from rota.errors import StoreUnavailable
from rota.model.job import JobState
from rota.model.runs.outcome import failed
from rota.model.runs.settlement import settle
from rota.model.schedules.schedule import Schedule
from rota.store import Store
from rota.store.contract.schedules import ScheduleChange, ScheduleEntry
from rota.store.redis.keys import QueueKeys
from rota.store.redis.store import RedisStore
from rota.testing.faults import away
from tests.contract.building import (
    NOW,
    ONCE,
    claim,
    claim_all,
    claim_one,
    enqueue,
    find,
    new_queue,
    spec,
    state_of,
    succeed,
)
from tests.contract.schedules.scheduling import LEASE_MS, firing, found, put, schedule
from tests.contract.steps import Event, Ran, die, lose_answer, run_with

MOVES = "rota.store.redis.nouns.schedules.moves"
QUEUES = (new_queue(), new_queue(), new_queue())
"""The same ones each time: jobs of a schedule that moved are looked for in all queues, and each of these is a step."""
STEPS_BEFORE_DELETE = 2
"""A schedule is looked up with two commands before it is deleted on Redis."""
OTHER_TYPE = "0190b0c0-0000-7000-8000-000000000002"


@pytest.fixture(autouse=True)
def whoever_looks_takes_a_move_for_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of a server cannot be set forward."""
    monkeypatch.setattr(f"{MOVES}.LONGEST_MOVE_MS", 0)


class Scene:
    """A schedule that has fired once, and that somebody is about to change."""

    def __init__(self, store: Store, *, due: int | None = NOW) -> None:
        self.store = store
        self.old, self.new, self.third = QUEUES
        self.entry = put(store, schedule(self.old, "a"))
        self.uuid = self.entry.schedule.uuid
        (job,) = [spec(self.old)]
        assert store.fire_schedules(self.old, [firing(self.entry, job, nominal=NOW - 1, due=due)], now=NOW) == [True]
        self.entry = self.found() or self.entry
        self.is_due = due is not None

    def found(self) -> ScheduleEntry | None:
        return self.store.find_schedules([self.uuid])[0]

    def fire(self) -> int:
        """What tickers do in all queues until nothing is due any more; returns how often the schedule fired."""
        return sum(self._fire_in(queue) for _ in range(2) for queue in (self.old, self.new, self.third))

    def _fire_in(self, queue: str) -> int:
        given = self.store.claim_due_schedules(queue, now=self.store.now(), lease_ms=LEASE_MS, limit=9).entries
        decided = [firing(entry, spec(queue), due=None) for entry in given]
        return sum(self.store.fire_schedules(queue, decided, now=NOW))

    def ticks(self) -> int:
        return len(self.store.list_ticks(self.uuid, limit=10))

    def names(self) -> list[str]:
        """As which it is listed: among all, and among those of its job types."""
        lists = [
            self.store.list_schedules(limit=10, job_type=one)
            for one in (None, self.entry.schedule.job_type, OTHER_TYPE)
        ]
        all_names, *of_types = [[one.schedule.name for one in page.entries] for page in lists]
        assert sorted(name for names in of_types for name in names) == all_names
        return all_names

    def assert_there_is_one(self, *, fires: int = 1) -> None:
        """It is found, listed under its name, fires as often as it should, and has its ticks."""
        there = self.found()
        assert there
        assert self.names() == [there.schedule.name]
        assert self.store.schedule_uuid(there.schedule.name) == self.uuid
        ticks = self.ticks()
        assert self.fire() == fires
        assert self.ticks() == ticks + fires
        then = self.found()
        assert then
        assert self.names() == [then.schedule.name]

    def assert_it_can_be_deleted(self) -> None:
        assert self.store.delete_schedules([self.uuid]) == [True]
        self.assert_there_is_none()

    def assert_there_is_none(self) -> None:
        assert self.found() is None
        assert self.names() == []
        assert self.fire() == 0
        assert self.ticks() == 0
        assert self.found() is None
        assert self.traces() == []
        again = put(self.store, structs.replace(self.entry.schedule, queue=self.new, name="b"))
        assert self.store.schedule_uuid("a") is None or put(self.store, schedule(self.old, "a"))
        there = self.found()  # another version, if it had to give a name up that it was to get
        assert there
        assert there.schedule == again.schedule
        assert self.ticks() == 0
        page = self.store.list_schedules(limit=10).entries
        self.store.delete_schedules([one.schedule.uuid for one in page])

    def traces(self) -> list[str]:
        """What Redis has of it in queues."""
        if not isinstance(self.store, RedisStore):
            return []
        ask = self.store.access().ask
        keys = [QueueKeys(queue) for queue in (self.old, self.new, self.third)]
        records = [key for k in keys for key in (k.schedules, k.schedule_states) if ask("hexists", key, self.uuid)]
        due = [k.schedule_due for k in keys if ask("zscore", k.schedule_due, self.uuid) is not None]
        return [*records, *due, *(k.ticks(self.uuid) for k in keys if ask("exists", k.ticks(self.uuid)))]


Change = Callable[[Store, Scene, ScheduleEntry | None], bool]


def put_changed(store: Store, entry: ScheduleEntry | None, **changes: object) -> bool:
    """Put another definition in the place of one, as it was read."""
    if entry is None:
        return False
    state = structs.replace(entry.state, version=entry.state.version + 1)
    if changes.get("paused"):
        state = structs.replace(state, due=None)
    changed: Schedule = structs.replace(entry.schedule, **changes)
    return store.put_schedules([ScheduleChange(changed, state, entry.state.version)])[0]


def move(store: Store, scene: Scene, entry: ScheduleEntry | None) -> bool:
    return put_changed(store, entry, queue=scene.new)


def move_elsewhere(store: Store, scene: Scene, entry: ScheduleEntry | None) -> bool:
    return put_changed(store, entry, queue=scene.third)


def rename(store: Store, scene: Scene, entry: ScheduleEntry | None) -> bool:
    return put_changed(store, entry, name="b", job_type=OTHER_TYPE)


def rename_otherwise(store: Store, scene: Scene, entry: ScheduleEntry | None) -> bool:
    return put_changed(store, entry, name="c")


def move_and_rename(store: Store, scene: Scene, entry: ScheduleEntry | None) -> bool:
    return put_changed(store, entry, queue=scene.new, name="b", job_type=OTHER_TYPE)


def pause(store: Store, scene: Scene, entry: ScheduleEntry | None) -> bool:
    return put_changed(store, entry, paused=True)


def delete(store: Store, scene: Scene, entry: ScheduleEntry | None) -> bool:
    return store.delete_schedules([scene.uuid])[0]


def fire(store: Store, scene: Scene, entry: ScheduleEntry | None) -> bool:
    return scene.fire() == 1


def steps_of(
    store: Store,
    other: Store,
    change: Change,
    *,
    due: int | None = NOW,
    before: Event | None = None,
    after: Event | None = None,
) -> Iterator[tuple[Scene, bool | None]]:
    """A change of a new schedule for each of its steps, at which something happens, with its answer, or None if it
    died. Last, one at which nothing happens."""
    for number in count():
        scene = Scene(store, due=due)
        ran = run_with(other, number, partial(change, other, scene, scene.entry), before=before, after=after)
        yield scene, ran.answer
        if not ran.is_reached:
            return


# -- a process dies ------------------------------------------------------------------------------------------------


@pytest.mark.stores("sqlite-file", "redis")  # a cluster takes the same steps
@pytest.mark.parametrize("due", [NOW, None])
@pytest.mark.parametrize("change", [move, move_and_rename])
class TestWhoeverDiesAtAnyStep:
    def test_leaves_one_schedule(
        self, store: Store, open_again: Callable[[], Store], change: Change, due: int | None
    ) -> None:
        for scene, _ in steps_of(store, open_again(), change, due=due, before=die):
            scene.assert_there_is_one(fires=scene.is_due)

            scene.assert_it_can_be_deleted()

    def test_leaves_one_that_fires_before_anybody_looks(
        self, store: Store, open_again: Callable[[], Store], change: Change, due: int | None
    ) -> None:
        for scene, _ in steps_of(store, open_again(), change, due=due, before=die):
            assert scene.fire() == scene.is_due

            assert scene.ticks() == 1 + scene.is_due
            scene.assert_there_is_one(fires=0)
            scene.assert_it_can_be_deleted()

    def test_leaves_one_that_can_be_deleted(
        self, store: Store, open_again: Callable[[], Store], change: Change, due: int | None
    ) -> None:
        for scene, _ in steps_of(store, open_again(), change, due=due, before=die):
            scene.assert_it_can_be_deleted()

    def test_leaves_one_that_can_be_changed(
        self, store: Store, open_again: Callable[[], Store], change: Change, due: int | None
    ) -> None:
        for scene, _ in steps_of(store, open_again(), change, due=due, before=die):
            assert pause(store, scene, scene.found())

            there = scene.found()
            assert there
            assert there.schedule.paused
            scene.assert_there_is_one(fires=0)
            scene.assert_it_can_be_deleted()

    def test_leaves_one_that_can_be_moved(
        self, store: Store, open_again: Callable[[], Store], change: Change, due: int | None
    ) -> None:
        for scene, _ in steps_of(store, open_again(), change, due=due, before=die):
            for queue in (scene.new, scene.old, scene.third):
                move_schedule(store, scene.found() or scene.entry, queue)
                assert found(store, scene.entry.schedule).schedule.queue == queue

            scene.assert_there_is_one(fires=scene.is_due)
            scene.assert_it_can_be_deleted()


@pytest.mark.parametrize("change", [move, rename])
def test_whoever_dies_at_any_step_leaves_one_schedule_in_any_store(
    store: Store, open_again: Callable[[], Store], change: Change
) -> None:
    for scene, _ in steps_of(store, open_again(), change, before=die):
        scene.assert_there_is_one()
        scene.assert_it_can_be_deleted()


@pytest.mark.stores("sqlite-file", "redis")
@pytest.mark.parametrize("queue", QUEUES, ids=["old", "new", "third"])
def test_whoever_dies_at_any_step_of_a_move_leaves_one_that_can_be_deleted_and_made_again(
    store: Store, open_again: Callable[[], Store], queue: str
) -> None:
    for scene, _ in steps_of(store, open_again(), move, before=die):
        assert store.delete_schedules([scene.uuid]) == [True]

        again = put(store, structs.replace(scene.entry.schedule, queue=queue))

        assert (scene.found(), scene.ticks()) == (again, 0)
        scene.assert_there_is_one()
        scene.assert_it_can_be_deleted()


@pytest.mark.stores("sqlite-file", "redis")
@pytest.mark.parametrize("change", [rename, move_and_rename])
def test_the_name_that_a_rename_left_behind_may_be_given_to_another(
    store: Store, open_again: Callable[[], Store], change: Change
) -> None:
    for scene, _ in steps_of(store, open_again(), change, before=die):
        there = found(store, scene.entry.schedule).schedule
        free = "b" if there.name == "a" else "a"

        other = put(store, schedule(scene.old, free), due=None)

        assert (store.schedule_uuid(free), store.schedule_uuid(there.name)) == (other.schedule.uuid, scene.uuid)
        assert store.delete_schedules([other.schedule.uuid]) == [True]
        scene.assert_it_can_be_deleted()


@pytest.mark.stores("sqlite-file", "redis")
@pytest.mark.parametrize("change", [move, move_and_rename])
def test_a_copy_of_a_queue_has_a_schedule_whose_move_was_cut_short(
    store: Store, open_again: Callable[[], Store], change: Change
) -> None:
    for scene, _ in steps_of(store, open_again(), change, before=die):
        copied = [one.uuid for queue in (scene.new, scene.old) for one, _ in store.copy_queue(queue).schedules]

        assert copied == [scene.uuid]
        scene.assert_there_is_one()
        scene.assert_it_can_be_deleted()


# -- answers get lost ----------------------------------------------------------------------------------------------


@pytest.mark.stores("redis")  # SQLite has no answers to lose
@pytest.mark.parametrize("change", [move, rename, move_and_rename])
def test_a_change_of_which_any_answer_is_lost_happens_once_and_is_told(
    store: Store, open_again: Callable[[], Store], change: Change
) -> None:
    for scene, answer in steps_of(store, open_again(), change, after=lose_answer):
        assert answer is True
        assert found(store, scene.entry.schedule).state.version == scene.entry.state.version + 1
        assert all(found(store, scene.entry.schedule).schedule.queue in key for key in scene.traces())
        scene.assert_there_is_one()
        scene.assert_it_can_be_deleted()


# -- somebody else acts --------------------------------------------------------------------------------------------

HOLDS: dict[Change, Callable[[Scene, ScheduleEntry | None], bool]] = {
    move: lambda scene, entry: entry is not None and entry.schedule.queue == scene.new,
    move_elsewhere: lambda scene, entry: entry is not None and entry.schedule.queue == scene.third,
    rename: lambda scene, entry: entry is not None and entry.schedule.name == "b",
    rename_otherwise: lambda scene, entry: entry is not None and entry.schedule.name == "c",
    move_and_rename: lambda scene, entry: HOLDS[move](scene, entry) and HOLDS[rename](scene, entry),
    pause: lambda scene, entry: entry is not None and entry.schedule.paused,
    delete: lambda scene, entry: entry is None,
    fire: lambda scene, entry: scene.ticks() == 2,
}
"""What must be so once a change was said to be done."""


@pytest.mark.stores("sqlite-file", "redis")  # a cluster takes the same steps
@pytest.mark.parametrize("act", [delete, pause, fire, rename, rename_otherwise, move, move_elsewhere])
@pytest.mark.parametrize("change", [move, rename, move_and_rename, pause])
def test_what_somebody_does_at_any_step_of_a_change_is_not_undone_by_it(
    store: Store, open_again: Callable[[], Store], change: Change, act: Change
) -> None:
    other, done = open_again(), list[bool]()
    scenes: list[Scene] = []

    def act_upon_what_is_there() -> None:
        scene = scenes[0]
        done.append(act(store, scene, scene.found()))

    for number in count():
        scene = Scene(store)
        scenes[:], done[:] = [scene], []
        ran = run_with(other, number, partial(change, other, scene, scene.entry), before=act_upon_what_is_there)
        entry = scene.found()

        assert any(done) or ran.answer, "one of them wins"
        assert HOLDS[act if any(done) else change](scene, entry)
        if entry is None:
            scene.assert_there_is_none()
        else:
            assert [name for name in ("a", "b", "c") if store.schedule_uuid(name)] == [entry.schedule.name]
            scene.assert_there_is_one(fires=not entry.schedule.paused and scene.ticks() == 1)
            scene.assert_it_can_be_deleted()
        if not ran.is_reached:
            break


@pytest.mark.stores("sqlite-file", "redis")
@pytest.mark.parametrize("act", [pause, fire, rename, move, move_and_rename])
def test_a_deletion_happens_whatever_somebody_does_at_any_step_of_it(
    store: Store, open_again: Callable[[], Store], act: Change
) -> None:
    other = open_again()
    for number in count():
        scene = Scene(store)

        def act_upon_what_is_there(scene: Scene = scene) -> None:
            act(store, scene, scene.found())

        ran = run_with(other, number, partial(other.delete_schedules, [scene.uuid]), before=act_upon_what_is_there)

        assert ran.answer == [True]
        scene.assert_there_is_none()
        if not ran.is_reached:
            break


@pytest.mark.stores("redis")  # SQLite has no steps at which a move could be cut short
def test_a_deletion_happens_also_if_the_schedule_is_cut_short_on_its_way_meanwhile(
    store: Store, open_again: Callable[[], Store]
) -> None:
    mover, other = open_again(), open_again()
    for number in count():
        scene = Scene(store)

        moved: list[Ran[bool]] = []

        def move_up_to_there(scene: Scene = scene, number: int = number, moved: list[Ran[bool]] = moved) -> None:
            moved.append(run_with(mover, number, partial(move, mover, scene, scene.entry), before=die))

        deletion = partial(other.delete_schedules, [scene.uuid])
        ran = run_with(other, STEPS_BEFORE_DELETE, deletion, before=move_up_to_there)

        assert ran.answer == [True]
        scene.assert_there_is_none()
        if not moved[0].is_reached:
            break


# -- its jobs stay where they are ----------------------------------------------------------------------------------


def test_a_schedule_that_moved_knows_what_became_of_the_jobs_it_made_before(store: Store) -> None:
    old, new = new_queue(), new_queue()
    entry, jobs = put(store, schedule(old)), [spec(old) for _ in range(4)]
    store.fire_schedules(old, [firing(entry, *jobs, due=NOW)], now=NOW)
    broken, running, done = claim(store, old, limit=3)
    store.finish_jobs(old, [settle(broken, failed("no"), policy=ONCE, started_at=NOW, now=NOW, chance=0)], now=NOW)
    store.finish_jobs(old, [succeed(done)], now=NOW)

    move_schedule(store, found(store, entry.schedule), new)

    (due,) = store.claim_due_schedules(new, now=NOW, lease_ms=LEASE_MS, limit=1).entries
    assert set(due.live_jobs) == {running.spec.id, jobs[3].id}
    assert (due.waiting_jobs, due.failed_jobs) == ((jobs[3].id,), (broken.spec.id,))
    assert found(store, entry.schedule) == due
    assert store.next_schedules(new, limit=1) == [due]
    assert store.list_schedules(limit=1).entries == [due]


def test_jobs_of_the_queue_from_which_a_schedule_moved_give_way_too(store: Store) -> None:
    old, new = new_queue(), new_queue()
    entry, running, waiting = put(store, schedule(old)), spec(old), spec(old)
    store.fire_schedules(old, [firing(entry, running, due=NOW)], now=NOW)
    claim_one(store, old)
    enqueue(store, waiting)
    move_schedule(store, found(store, entry.schedule), new)
    moved = found(store, entry.schedule)
    late = structs.replace(firing(moved, spec(new)), expected=1, cancels=(running.id,))
    decided = structs.replace(firing(moved, spec(new)), cancels=(running.id, waiting.id, "gone"))

    assert store.fire_schedules(new, [late], now=NOW) == [False]
    assert not find(store, running.id).cancel_requested

    assert store.fire_schedules(new, [decided], now=NOW) == [True]
    assert find(store, running.id).cancel_requested
    assert state_of(store, waiting.id) is JobState.CANCELLED


class GivingWay:
    """A schedule that moved, and a decision of it to which a job of the queue where it was gives way."""

    def __init__(self, store: Store) -> None:
        old, self.new, _ = QUEUES
        self.store = store
        entry, self.running = put(store, schedule(old)), spec(old)
        store.fire_schedules(old, [firing(entry, self.running, due=NOW)], now=NOW)
        claim_all(store, old)
        move_schedule(store, found(store, entry.schedule), self.new)
        self.made = spec(self.new)
        moved = firing(found(store, entry.schedule), self.made, due=None)
        self._decided = structs.replace(moved, cancels=(self.running.id,))

    def fire(self, store: Store) -> list[bool]:
        return store.fire_schedules(self.new, [self._decided], now=NOW)

    def assert_it_gives_way_if_it_fired(self) -> bool:
        """At the latest when a ticker looks again, although no schedule is due. Tells whether it fired."""
        self.store.claim_due_schedules(self.new, now=NOW, lease_ms=LEASE_MS, limit=1)
        has_fired = self.store.find_jobs([self.made.id]) != [None]
        assert find(self.store, self.running.id).cancel_requested == has_fired
        if isinstance(self.store, RedisStore):
            assert not self.store.access().ask("exists", QueueKeys(self.new).giving_way)
        return has_fired


def test_jobs_of_another_queue_give_way_also_if_whoever_fires_dies_at_any_step(
    store: Store, open_again: Callable[[], Store]
) -> None:
    other, fired = open_again(), list[bool]()
    for number in count():
        scene = GivingWay(store)
        ran = run_with(other, number, partial(scene.fire, other), before=die)

        fired.append(scene.assert_it_gives_way_if_it_fired())
        if not ran.is_reached:
            break

    assert fired == sorted(fired), "once it has fired, whatever comes after it"
    assert fired[-1]


@pytest.mark.stores("redis", "redis-cluster")  # SQLite has no answers to lose
def test_jobs_of_another_queue_give_way_also_if_any_answer_is_lost(
    store: Store, open_again: Callable[[], Store]
) -> None:
    other = open_again()
    for number in count():
        scene = GivingWay(store)
        ran = run_with(other, number, partial(scene.fire, other), after=lose_answer)

        assert scene.assert_it_gives_way_if_it_fired()
        if not ran.is_reached:
            break


def test_a_decision_that_was_carried_out_is_told_also_if_the_other_queue_is_away(
    store: Store, open_again: Callable[[], Store]
) -> None:
    other, is_over = open_again(), False
    for number in count():
        scene, has_fired = GivingWay(store), False
        with suppress(StoreUnavailable):
            ran = run_with(other, number, partial(scene.fire, other), before=away)
            has_fired, is_over = ran.answer == [True], not ran.is_reached

        assert scene.assert_it_gives_way_if_it_fired() == has_fired
        if is_over:
            break
