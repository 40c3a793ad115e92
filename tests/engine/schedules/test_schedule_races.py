"""Several who decide or change the same schedule at once: one of them counts, and the others leave no trace."""

from collections.abc import Callable

import pytest
from msgspec import structs

from rota.clock import ManualClock
from rota.engine.definitions.file import Wanted
from rota.engine.schedules.backfill import BackfillRequest
from rota.engine.schedules.ticker import LEASE_MS
from rota.errors import Conflict
from rota.model.ids import new_id
from rota.model.job import JobState
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.schedules.request import ScheduleRequest
from rota.store import Store
from rota.store.jobs import JobQuery
from rota.store.schedules import ScheduleEntry
from tests.conftest import OpenStore
from tests.contract.building import find, spec
from tests.contract.racing import in_threads
from tests.contract.schedules.scheduling import firing
from tests.engine.schedules.installation import FULL, MINUTE, START, World
from tests.engine.working import Faults

pytestmark = pytest.mark.stores("sqlite-memory", "sqlite-file", "redis")

RANGE = BackfillRequest(start=FULL - 10 * MINUTE, end=FULL)


@pytest.fixture
def world(store: Store) -> World:
    world = World(store)
    world.job_type()
    return world


def slow_ticker(world: World) -> tuple[World, Faults]:
    """Another process, with the same clock, whose calls can be held up."""
    faults = Faults(world.store)
    return World(faults.store, world.clock), faults


def tick_now(world: World) -> None:
    world.tick()


# Two tickers


@pytest.mark.parametrize("overlap", ["allow", "skip", "buffer_one", "buffer_all", "cancel_other", "terminate_other"])
def test_of_two_tickers_that_decide_from_the_same_entry_one_fires(world: World, overlap: str) -> None:
    uuid = world.schedule(cron="* * * * *", overlap=overlap, catch_up="all")
    slow, faults = slow_ticker(world)

    def the_other_is_faster() -> None:
        world.clock.advance(LEASE_MS)
        world.tick()

    world.clock.advance(MINUTE)
    faults.before("fire_schedules", the_other_is_faster)
    slow.tick()

    assert faults.calls.count("fire_schedules") == 1
    assert world.fates(uuid) == ["fired"]
    assert world.waiting() == 1
    assert world.rows(uuid)[0].job == world.claim()[0].spec.id
    assert world.rows(uuid)[0].decided_at == START + MINUTE + LEASE_MS
    state = world.schedules.find(uuid).state
    assert (state.runs, state.counts, state.version) == (1, {"fired": 1}, 2)
    assert world.store.read_totals(world.queue).enqueued == 1


@pytest.mark.parametrize("overlap", ["cancel_other", "terminate_other"])
def test_a_ticker_that_comes_too_late_cancels_nothing(world: World, overlap: str) -> None:
    uuid = world.schedule(cron="* * * * *", overlap=overlap)
    world.pass_time(MINUTE)
    running = world.claim()[0]
    slow, faults = slow_ticker(world)

    world.clock.advance(MINUTE)
    faults.before("fire_schedules", lambda: pause(world, uuid))
    slow.tick()

    assert not find(world.store, running.spec.id).cancel_requested
    assert world.fates(uuid) == ["fired"]
    assert world.waiting() == 0
    assert world.schedules.find(uuid).schedule.paused


def test_a_ticker_that_was_faster_has_its_job_left_alone(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="cancel_other")
    world.pass_time(MINUTE)
    old = world.claim()[0]
    slow, faults = slow_ticker(world)

    def the_other_is_faster() -> None:
        world.clock.advance(LEASE_MS)
        world.tick()
        world.end(old)

    world.clock.advance(MINUTE)
    faults.before("fire_schedules", the_other_is_faster)
    slow.tick()

    (made,) = world.claim()
    assert [row.job for row in world.rows(uuid)] == [old.spec.id, made.spec.id]
    assert not find(world.store, made.spec.id).cancel_requested
    assert world.store.read_totals(world.queue).cancelled == 0


def test_a_failure_seen_by_two_tickers_pauses_once_and_a_person_who_resumes_meanwhile_is_heard(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", pause_on_failure=True)
    world.pass_time(MINUTE)
    world.end(world.claim()[0], well=False)
    slow, faults = slow_ticker(world)

    def the_other_pauses_and_a_person_resumes() -> None:
        world.clock.advance(LEASE_MS)
        world.tick()
        assert world.schedules.find(uuid).schedule.paused
        world.schedules.resume(uuid)

    world.clock.advance(MINUTE)
    faults.before("put_schedules", the_other_pauses_and_a_person_resumes)
    slow.tick()

    assert not world.schedules.find(uuid).schedule.paused


def test_many_tickers_at_once_fire_each_of_many_ticks_once(world: World, open_again: OpenStore) -> None:
    # The tickers have clocks of their own: one that is slow must not make ticks too late to be fired.
    uuids = [world.schedule(cron="* * * * * *", overlap="allow", catch_up="all") for _ in range(5)]
    tickers = [World(open_again(), ManualClock(START)) for _ in range(4)]

    def tick(number: int) -> None:
        for _ in range(20):
            tickers[number].clock.advance(1_000)
            tickers[number].tick()

    in_threads(tick, 4)
    world.clock.advance(20_000 + LEASE_MS)
    world.tick()

    expected = [START + n * 1_000 for n in range(26)]
    assert [[row.nominal for row in world.rows(uuid)] for uuid in uuids] == [expected] * 5
    assert world.waiting() == 5 * 26


# Every change is a new version


def pause(world: World, uuid: str) -> None:
    world.schedules.pause(uuid, "a note")


def edit(world: World, uuid: str) -> None:
    world.schedules.replace(uuid, ScheduleRequest(job_type="report", cron="* * * * *", overlap="skip", priority=3))


def edit_times(world: World, uuid: str) -> None:
    world.schedules.replace(uuid, ScheduleRequest(job_type="report", cron="*/5 * * * *"))


def edit_times_with_ticks_undecided(world: World, uuid: str) -> None:
    world.clock.advance(3 * MINUTE)
    world.schedules.replace(uuid, ScheduleRequest(job_type="report", cron="*/5 * * * *"))


def pause_and_resume(world: World, uuid: str) -> None:
    world.schedules.pause(uuid)
    world.schedules.resume(uuid)


def fire(world: World, uuid: str) -> None:
    world.pass_time(MINUTE)


def move(world: World, uuid: str) -> None:
    world.definitions.define_node_type(NodeType(uuid=new_id(START), name="big"))
    report = world.definitions.job_type("report")
    world.definitions.define_job_type(structs.replace(report, node_type="big"))


def backfill(world: World, uuid: str) -> None:
    world.backfills.start(uuid, RANGE)


def delete(world: World, uuid: str) -> None:
    world.schedules.delete(uuid)


Change = Callable[[World, str], None]


@pytest.mark.parametrize(
    ("change", "version"),
    [
        (pause, 2),
        (pause_and_resume, 3),
        (edit, 2),
        (edit_times, 2),
        (edit_times_with_ticks_undecided, 3),
        (fire, 2),
        (move, 2),
        (backfill, 2),
        (delete, None),
    ],
)
def test_a_decision_made_before_a_change_is_refused(world: World, change: Change, version: int | None) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="skip")
    before = world.schedules.find(uuid)

    change(world, uuid)

    (after,) = world.store.find_schedules([uuid])
    assert (after and after.state.version) == version
    refuse(world, before)
    assert world.store.find_schedules([uuid]) == [after]


def refuse(world: World, before: ScheduleEntry) -> None:
    """A decision upon that entry does nothing at all."""
    rows = world.store.list_ticks(before.schedule.uuid, limit=100)
    bystander = spec(world.queue)
    world.store.enqueue_jobs([bystander], now=START)
    late = structs.replace(firing(before, spec(world.queue), nominal=START + 1), cancels=(bystander.id,))
    total = world.store.read_totals(world.queue)

    assert world.store.fire_schedules(world.queue, [late], now=START) == [False]

    assert world.store.find_jobs([late.specs[0].id]) == [None]
    assert find(world.store, bystander.id).state is JobState.QUEUED
    assert world.store.list_ticks(before.schedule.uuid, limit=100) == rows
    assert world.store.read_totals(world.queue) == total


def test_a_pause_by_a_failure_and_the_end_of_a_backfill_are_changes_too(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", pause_on_failure=True)
    made = world.backfills.start(uuid, RANGE).backfill
    world.backfills.cancel(uuid, made.id)
    cancelled = world.schedules.find(uuid)
    world.pass_time(MINUTE)
    fired = world.schedules.find(uuid)
    world.end(world.claim()[0], well=False)
    world.pass_time(MINUTE)
    paused = world.schedules.find(uuid)

    assert [one.state.version for one in (cancelled, fired, paused)] == [3, 4, 5]
    assert paused.schedule.paused
    refuse(world, fired)


def test_a_schedule_of_the_file_that_changes_there_is_another_version(world: World) -> None:
    file = world.engine.file
    job_type = JobType(uuid=new_id(START), name="of-file", executor="log")
    nightly = ScheduleRequest(name="nightly", job_type="of-file", cron="30 2 * * *")
    file.apply(Wanted((), (job_type,), (nightly,)))
    before = world.schedules.find("nightly")

    file.apply(Wanted((), (job_type,), (structs.replace(nightly, priority=2),)))

    assert (before.state.version, world.schedules.find("nightly").state.version) == (1, 2)
    refuse(world, before)


def test_what_changes_nothing_is_no_new_version(world: World) -> None:
    uuid = world.schedule(cron="* * * * *")

    world.schedules.run_now(uuid)
    world.schedules.resume(uuid)
    world.backfills.preview(uuid, RANGE)
    world.tick()

    assert world.schedules.find(uuid).state.version == 1


def test_a_change_that_lost_against_a_tick_is_made_upon_the_newer_state(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="allow")
    other, faults = slow_ticker(world)
    faults.before("put_schedules", lambda: world.pass_time(MINUTE))

    changed = other.schedules.pause(uuid, "a note")

    assert (changed.state.version, changed.state.runs, changed.schedule.pause_note) == (3, 1, "a note")
    assert world.schedules.find(uuid) == changed
    assert world.fates(uuid) == ["fired"]


def test_a_row_for_what_an_edit_leaves_out_is_written_once_though_a_tick_was_faster(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="allow", catch_up="all")
    other, faults = slow_ticker(world)
    world.clock.advance(3 * MINUTE)
    faults.before("fire_schedules", lambda: tick_now(world))

    other.schedules.replace(uuid, ScheduleRequest(job_type="report", cron="*/5 * * * *", overlap="allow"))

    assert world.fates(uuid) == ["fired", "fired", "fired"]
    assert world.schedules.find(uuid).state.counts == {"fired": 3}


@pytest.mark.parametrize("minutes", [1, 3])
def test_ticks_that_an_edit_accounted_for_are_behind_the_cursor_at_once(world: World, minutes: int) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="allow", catch_up="all")
    other, faults = slow_ticker(world)
    seen: list[int | None] = []

    def look_and_tick() -> None:
        seen.append(world.schedules.find(uuid).state.cursor)
        world.tick()

    world.clock.advance(minutes * MINUTE)
    faults.before("put_schedules", look_and_tick)
    other.schedules.replace(uuid, ScheduleRequest(job_type="report", cron="*/5 * * * *", overlap="allow"))

    assert seen == [FULL + minutes * MINUTE]
    assert world.fates(uuid) == ["missed:edited"]
    assert world.waiting() == 0


def test_a_change_that_loses_again_and_again_is_given_up_with_a_conflict(world: World) -> None:
    uuid = world.schedule(cron="* * * * * *", overlap="allow")
    other, faults = slow_ticker(world)
    faults.before("put_schedules", *[lambda: world.pass_time(1_000)] * 5)

    with pytest.raises(Conflict, match="changes too often"):
        other.schedules.pause(uuid)

    assert not world.schedules.find(uuid).schedule.paused
    assert faults.calls.count("put_schedules") == 5
    other.schedules.pause(uuid)
    assert world.schedules.find(uuid).schedule.paused


def test_a_backfill_that_loses_again_and_again_is_given_up_with_a_conflict(world: World) -> None:
    uuid = world.schedule(cron="* * * * * *", overlap="allow")
    other, faults = slow_ticker(world)
    faults.before("put_schedules", *[lambda: world.pass_time(1_000)] * 5)

    with pytest.raises(Conflict, match="changes too often"):
        other.backfills.start(uuid, BackfillRequest(start=FULL - 1_000, end=FULL))
    assert world.schedules.find(uuid).state.backfills == ()

    made = other.backfills.start(uuid, BackfillRequest(start=FULL - 1_000, end=FULL)).backfill
    faults.before("put_schedules", *[lambda: world.pass_time(1_000)] * 5)
    with pytest.raises(Conflict, match="changes too often"):
        other.backfills.cancel(uuid, made.id)
    assert world.backfills.progress(uuid, made.id)["queued"] == 1


def test_an_edit_of_the_version_that_was_read_is_refused_when_a_tick_came_between(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="allow")
    read = world.schedules.find(uuid)
    other, faults = slow_ticker(world)
    faults.before("put_schedules", lambda: world.pass_time(MINUTE))
    wish = ScheduleRequest(job_type="report", cron="0 * * * *")

    with pytest.raises(Conflict, match="is at version 2, not 1"):
        other.schedules.replace(uuid, wish, expected=read.state.version)

    assert world.schedules.find(uuid).schedule == read.schedule


def test_a_schedule_that_is_deleted_while_it_is_decided_makes_nothing(world: World) -> None:
    uuid = world.schedule(cron="* * * * *")
    slow, faults = slow_ticker(world)

    world.clock.advance(MINUTE)
    faults.before("fire_schedules", lambda: world.schedules.delete(uuid))
    slow.tick()

    assert world.waiting() == 0
    assert world.rows(uuid) == []
    assert world.store.find_schedules([uuid]) == [None]


# Backfills


def made_instants(world: World) -> list[int]:
    jobs = world.store.list_jobs(JobQuery(), limit=500).jobs
    return sorted((job.spec.cause.instant or 0) - FULL for job in jobs if job.spec.cause)


def test_backfills_of_the_same_range_at_once_make_each_job_once(world: World, open_again: OpenStore) -> None:
    uuid = world.schedule(cron="* * * * *")
    others = [World(open_again(), ManualClock(START + number)) for number in range(4)]

    plans = in_threads(lambda number: others[number].backfills.start(uuid, RANGE), 4)

    assert len({plan.backfill.id for plan in plans}) == 1
    assert made_instants(world) == [n * MINUTE for n in range(-9, 1)]
    assert [one.id for one in world.schedules.find(uuid).state.backfills] == [plans[0].backfill.id]
    assert world.store.read_totals(world.queue).enqueued == 10


def test_backfills_of_overlapping_ranges_at_once_are_both_recorded_and_both_whole(
    world: World, open_again: OpenStore
) -> None:
    uuid = world.schedule(cron="* * * * *")
    others = [World(open_again(), ManualClock(START)) for _ in range(2)]
    wishes = [RANGE, BackfillRequest(start=FULL - 5 * MINUTE, end=FULL)]

    plans = in_threads(lambda number: others[number].backfills.start(uuid, wishes[number]), 2)

    kept = world.schedules.find(uuid).state
    assert {(one.id, one.count) for one in kept.backfills} == {
        (plans[0].backfill.id, 10),
        (plans[1].backfill.id, 5),
    }
    assert kept.version == 3
    assert [sum(world.backfills.progress(uuid, one.backfill.id).values()) for one in plans] == [10, 5]


def test_a_backfill_that_lost_against_a_tick_leaves_out_what_fired_meanwhile(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="allow")
    other, faults = slow_ticker(world)
    world.clock.advance(MINUTE)
    faults.before("put_schedules", lambda: tick_now(world))

    plan = other.backfills.start(uuid, BackfillRequest(start=FULL - MINUTE, end=FULL + MINUTE))

    assert [at - FULL for _, at in plan.instants] == [0]
    assert plan.already_fired == 1
    assert made_instants(world) == [0, MINUTE]


def test_a_backfill_that_is_cancelled_while_its_jobs_are_made_leaves_none_of_them(world: World) -> None:
    uuid = world.schedule(cron="* * * * *")
    other, faults = slow_ticker(world)
    backfill_id = world.backfills.preview(uuid, RANGE).backfill.id

    def somebody_cancels_it() -> None:
        world.backfills.cancel(uuid, backfill_id)

    faults.before("enqueue_jobs", somebody_cancels_it)

    other.backfills.start(uuid, RANGE)

    assert world.backfills.progress(uuid, backfill_id)["cancelled"] == 10
    assert world.claim() == []


def test_a_backfill_that_was_cut_short_is_completed_by_repeating_it(world: World) -> None:
    uuid = world.schedule(cron="* * * * *")
    other, faults = slow_ticker(world)

    def die() -> None:
        raise KeyboardInterrupt

    faults.before("enqueue_jobs", die)
    with pytest.raises(KeyboardInterrupt):
        other.backfills.start(uuid, RANGE)
    assert made_instants(world) == []

    world.backfills.start(uuid, RANGE)

    assert made_instants(world) == [n * MINUTE for n in range(-9, 1)]
    assert len(world.schedules.find(uuid).state.backfills) == 1


def test_a_schedule_keeps_its_latest_ten_backfills(world: World) -> None:
    uuid = world.schedule(cron="* * * * *")
    made = []
    for number in range(1, 13):
        wish = BackfillRequest(start=FULL - (number + 1) * MINUTE, end=FULL - number * MINUTE)
        made.append(world.backfills.start(uuid, wish).backfill.id)

    assert [one.id for one in world.schedules.find(uuid).state.backfills] == made[2:]
