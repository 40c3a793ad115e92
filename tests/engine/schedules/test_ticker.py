"""The ticker: ticks happen once, by the policies of their schedule. Time is driven by hand."""

import math

import pytest

from rota.clock import ManualClock
from rota.engine.schedules.ticker import LEASE_MS
from rota.errors import StoreUnavailable
from rota.model.ids import new_id
from rota.model.job import Cause, JobSpec
from rota.model.job_type import JobType, Unique
from rota.model.node import NodeType
from rota.model.schedules.request import CatchUpRequest
from rota.model.schedules.schedule import Schedule, ScheduleState, TickStatus
from rota.model.schedules.ticking import MAX_DECIDED
from rota.model.triggers.trigger import CronTrigger
from rota.store import Store
from rota.store.schedules import ScheduleChange
from tests.engine.scheduling import FULL, MINUTE, NODE, START, World
from tests.engine.working import Faults

pytestmark = pytest.mark.stores("sqlite-memory", "redis")


@pytest.fixture
def world(store: Store) -> World:
    world = World(store)
    world.job_type()
    return world


def test_a_cron_line_makes_a_job_at_each_of_its_times(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="allow")

    world.pass_time(3 * MINUTE)

    assert [row.nominal - FULL for row in world.rows(uuid)] == [MINUTE, 2 * MINUTE, 3 * MINUTE]
    assert world.fates(uuid) == ["fired"] * 3
    assert world.waiting() == 3


def test_a_row_names_its_job_and_the_job_its_tick(world: World) -> None:
    uuid = world.schedule(cron="* * * * *")
    world.pass_time(MINUTE)

    row = world.rows(uuid)[0]
    claimed = world.claim()[0]

    assert row.job == claimed.spec.id
    assert claimed.spec.cause == Cause("schedule", uuid, row.nominal)


def test_several_schedulers_on_one_store_fire_a_tick_once(world: World) -> None:
    uuid = world.schedule(cron="* * * * * *", overlap="allow")
    others = [World(world.store, world.clock) for _ in range(2)]

    for _ in range(30):
        world.clock.advance(1_000)
        for one in (*others, world):
            one.tick()

    # The instant at which it was made is one of its times.
    assert [row.nominal - START for row in world.rows(uuid)] == [n * 1_000 for n in range(31)]
    assert world.waiting() == 31


def test_a_clock_that_is_set_back_fires_nothing_twice(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="allow")
    world.pass_time(3 * MINUTE)

    world.clock.set(START)
    world.pass_time(3 * MINUTE)
    assert len(world.rows(uuid)) == 3

    world.pass_time(MINUTE)
    assert len(world.rows(uuid)) == 4


@pytest.mark.parametrize(
    ("mode", "fates"),
    [
        ("none", ["missed:no_catch_up"]),
        ("last", ["missed:superseded", "fired"]),
        ("all", ["fired"] * 5),
    ],
)
def test_after_downtime_the_catch_up_policy_rules(world: World, mode: str, fates: list[str]) -> None:
    uuid = world.schedule(cron="* * * * *", catch_up=mode, overlap="allow")

    world.clock.advance(5 * MINUTE + 30_000)
    world.tick()

    assert world.fates(uuid) == fates
    assert sum(row.count for row in world.rows(uuid)) == 5


def test_ticks_outside_the_window_are_one_row(world: World) -> None:
    policy = CatchUpRequest(mode="all", window="10m")
    uuid = world.schedule(cron="* * * * *", catch_up=policy, overlap="allow")

    world.clock.advance(60 * MINUTE)
    world.tick()

    first = world.rows(uuid)[0]
    assert (first.status, first.reason) == (TickStatus.MISSED, "outside_window")
    assert first.count + len(world.rows(uuid)) - 1 == 60


def test_skip_leaves_out_ticks_while_a_job_is_alive(world: World) -> None:
    uuid = world.schedule(cron="* * * * *")
    world.pass_time(MINUTE)
    claimed = world.claim()[0]

    world.pass_time(2 * MINUTE)
    world.end(claimed)
    world.pass_time(MINUTE)

    assert world.fates(uuid) == ["fired", "skipped:overlap", "skipped:overlap", "fired"]


def test_buffer_one_lets_one_wait(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="buffer_one")
    world.pass_time(MINUTE)
    running = world.claim()[0]

    world.pass_time(3 * MINUTE)

    assert world.fates(uuid) == ["fired", "fired", "skipped:overlap", "skipped:overlap"]
    assert world.claim() == [], "the second one waits for the first"
    world.end(running)
    assert len(world.claim()) == 1


def test_buffer_all_lets_all_wait_in_order(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="buffer_all")
    world.pass_time(4 * MINUTE)
    expected = [row.job for row in world.rows(uuid)]

    order = []
    for _ in range(4):
        (claimed,) = world.claim()
        order.append(claimed.spec.id)
        world.end(claimed)

    assert order == expected


def test_cancel_other_asks_the_running_job_to_end_and_waits_for_it(world: World) -> None:
    world.schedule(cron="* * * * *", overlap="cancel_other")
    world.pass_time(MINUTE)
    running = world.claim()[0]

    world.pass_time(MINUTE)

    job = world.store.find_jobs([running.spec.id])[0]
    assert job is not None
    assert job.cancel_requested
    assert world.claim() == []
    world.end(running)
    assert len(world.claim()) == 1


def test_terminate_other_starts_at_once(world: World) -> None:
    world.schedule(cron="* * * * *", overlap="terminate_other")
    world.pass_time(MINUTE)
    running = world.claim()[0]

    world.pass_time(MINUTE)

    job = world.store.find_jobs([running.spec.id])[0]
    assert job is not None
    assert job.cancel_requested
    assert len(world.claim()) == 1


def test_a_schedule_ends_after_its_runs(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", max_runs=2, overlap="allow")

    world.pass_time(5 * MINUTE)

    assert world.fates(uuid) == ["fired", "fired"]
    assert world.schedules.find(uuid).state.due is None


def test_skipped_ticks_do_not_count_as_runs(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", max_runs=2)
    world.pass_time(3 * MINUTE)
    world.end(world.claim()[0])
    world.pass_time(3 * MINUTE)

    assert world.fates(uuid) == ["fired", "skipped:overlap", "skipped:overlap", "fired"]


def test_bounds_are_inclusive(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", start=FULL + 2 * MINUTE, end=FULL + 3 * MINUTE, overlap="allow")

    world.pass_time(6 * MINUTE)

    assert [row.nominal - FULL for row in world.rows(uuid)] == [2 * MINUTE, 3 * MINUTE]


def test_excluded_dates_are_skipped_with_a_row(world: World) -> None:
    uuid = world.schedule(cron="0 12 * * *", exclude=["2023-11-15"], catch_up="all", overlap="allow")

    world.pass_time(3 * 24 * 60 * MINUTE, step=60 * MINUTE)

    assert world.fates(uuid) == ["skipped:excluded", "fired", "fired"]


def test_an_interval_keeps_its_least_distance_and_makes_up_for_nothing(world: World) -> None:
    uuid = world.schedule(interval=10_000, overlap="allow", catch_up="none")

    world.tick()
    world.pass_time(25_000)
    world.clock.advance(60_000)
    world.tick()

    made = [row.nominal - START for row in world.rows(uuid) if row.status is TickStatus.FIRED]
    assert made[:3] == [0, 10_000, 20_000]
    assert len(made) == 4
    assert world.waiting() == 4
    state = world.schedules.find(uuid).state
    assert state.last_scheduled_by == NODE
    assert state.last_scheduled_at == world.clock.now()


def test_a_pause_between_runs_is_counted_from_the_end(world: World) -> None:
    uuid = world.schedule(interval=10_000, anchor="ended", overlap="allow")
    world.tick()
    running = world.claim()[0]
    world.pass_time(60_000)
    assert len(world.rows(uuid)) == 1

    world.end(running)
    ended = world.clock.now()
    world.pass_time(12_000)

    assert len(world.rows(uuid)) == 2
    assert world.rows(uuid)[1].nominal == ended + 10_000


def test_a_unique_job_type_turns_ticks_into_skipped_ones(world: World) -> None:
    world.job_type("alone", Unique.WHILE_PENDING)
    uuid = world.schedule(job_type="alone", cron="* * * * *", overlap="allow")

    world.pass_time(2 * MINUTE)

    assert world.fates(uuid) == ["fired", "skipped:unique"]


def test_more_than_one_round_that_are_due_together_are_all_fired(world: World) -> None:
    for number in range(1_200):
        world.schedule(name=f"s{number}", cron="* * * * *")

    world.clock.advance(MINUTE)
    while world.tick() == 0.0:
        pass

    assert world.waiting() == 1_200


def test_one_schedule_that_cannot_be_decided_keeps_no_other_from_firing(world: World) -> None:
    world.job_type("doomed")
    broken = world.schedule(job_type="doomed", cron="* * * * *")
    # Past the check that keeps a job type which schedules use.
    world.store.delete_job_types([world.definitions.job_type("doomed").uuid])
    fine = world.schedule(cron="* * * * *")

    world.pass_time(MINUTE)

    assert world.fates(broken) == []
    assert world.fates(fine) == ["fired"]


def test_the_wait_is_until_the_next_tick_and_never_long(world: World) -> None:
    world.schedule(cron="0 0 1 1 *")
    assert world.tick() == pytest.approx(0.5)

    world.clock.advance(500)
    world.schedule(at=START + 600)
    assert world.tick() == pytest.approx(0.1)


def test_a_schedule_of_a_new_job_type_and_node_type_fires_without_waiting_for_a_beat(world: World) -> None:
    other = World(world.store, world.clock)
    other.tick()
    world.definitions.define_node_type(NodeType(uuid=new_id(START), name="new"))
    world.definitions.define_job_type(JobType(uuid=new_id(START), name="fresh", executor="log", node_type="new"))
    uuid = world.schedule(job_type="fresh", interval=60_000)

    world.clock.advance(500)
    other.tick()

    assert world.fates(uuid) == ["fired"]


def test_a_queue_that_is_gone_does_not_keep_the_ticker_awake(world: World) -> None:
    world.definitions.define_node_type(NodeType(uuid=new_id(START), name="gone"))
    world.tick()
    world.definitions.delete_node_type("gone")

    world.clock.advance(1_000)

    assert world.tick() == pytest.approx(0.5)


def test_jobs_of_a_schedule_that_allows_overlap_are_not_remembered(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="allow")

    world.pass_time(5 * MINUTE)

    assert world.schedules.find(uuid).state.jobs == ()


def test_a_clock_that_leaps_forward_obeys_the_catch_up_policy(world: World) -> None:
    uuids = [world.schedule(cron="* * * * *", catch_up=mode, overlap="allow") for mode in ("none", "last", "all")]
    world.pass_time(MINUTE)

    world.clock.set(world.clock.now() + 10 * MINUTE)
    world.tick()

    fired = [world.fates(uuid).count("fired") for uuid in uuids]
    assert fired == [2, 2, 11]
    assert [sum(row.count for row in world.rows(uuid)) for uuid in uuids] == [11, 11, 11]


def test_very_many_ticks_are_decided_in_rounds_that_follow_each_other_at_once(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="allow", catch_up=CatchUpRequest(mode="all", max=600))

    world.clock.advance(700 * MINUTE)
    rounds = 1
    while world.tick() == 0:
        rounds += 1

    first, *others = world.rows(uuid)
    assert (first.status, first.reason, first.count) == (TickStatus.MISSED, "over_cap", 100)
    assert [row.nominal - FULL for row in others] == [n * MINUTE for n in range(101, 701)]
    assert world.schedules.find(uuid).state.counts == {"fired": 600, "missed:over_cap": 100}
    assert world.waiting() == 600
    assert rounds == math.ceil(601 / MAX_DECIDED)


@pytest.mark.stores("redis")  # SQLite has no clock but its users'
def test_a_scheduler_whose_clock_is_ahead_fires_nothing_early(store: Store) -> None:
    real = store.now()
    world = World(store, ManualClock(real))
    world.job_type()
    uuid = world.schedule(interval=60_000, start=real - 60_000, overlap="allow", catch_up="all")

    world.clock.advance(5 * MINUTE)
    world.tick()

    rows = world.rows(uuid)
    assert [row.nominal for row in rows if row.nominal > store.now()] == []
    assert rows != []
    assert max(row.decided_at for row in rows) <= store.now()
    assert max(claimed.spec.enqueued_at for claimed in world.claim()) <= store.now()


# A clock that is set back


def test_a_clock_that_is_set_back_keeps_nobody_waiting(world: World) -> None:
    world.tick()

    world.clock.set(START - 60 * MINUTE)
    uuid = world.schedule(at=START - 60 * MINUTE)
    world.tick()

    assert world.fates(uuid) == ["fired"]


def test_a_clock_that_is_set_back_hides_no_new_queue(world: World) -> None:
    other = World(world.store, world.clock)
    other.tick()
    world.clock.set(START - 60 * MINUTE)
    world.definitions.define_node_type(NodeType(uuid=new_id(START), name="new"))
    world.definitions.define_job_type(JobType(uuid=new_id(START), name="fresh", executor="log", node_type="new"))
    uuid = world.schedule(job_type="fresh", interval=60_000)

    other.tick()

    assert world.fates(uuid) == ["fired"]


@pytest.mark.parametrize("overlap", ["allow", "skip", "buffer_all"])
def test_a_clock_that_is_set_back_and_goes_on_doubles_no_tick_and_loses_none(world: World, overlap: str) -> None:
    uuid = world.schedule(cron="* * * * *", overlap=overlap, catch_up="all")
    world.pass_time(3 * MINUTE)
    cursor = world.schedules.find(uuid).state.cursor

    for back in (MINUTE, 2 * MINUTE, 30_000, 1):
        world.clock.set(world.clock.now() - back)
        world.pass_time(20_000)
        assert world.schedules.find(uuid).state.cursor == cursor, "it holds until the time has passed it again"
    while world.clock.now() < FULL + 6 * MINUTE:
        world.pass_time(10_000)

    assert [row.nominal - FULL for row in world.rows(uuid)] == [n * MINUTE for n in (1, 2, 3, 4, 5, 6)]
    assert sum(world.schedules.find(uuid).state.counts.values()) == 6


# One that is broken


def put_broken(world: World) -> str:
    """A schedule that every version before would have refused, as one of a machine with other zones may have made."""
    trigger = CronTrigger(cron="* * * * *", tz="Mars/Olympus_Mons")
    report = world.definitions.job_type("report").uuid
    broken = Schedule(uuid=new_id(START), name="broken", trigger=trigger, queue=world.queue, job_type=report)
    state = ScheduleState(cursor=START, nominal=FULL + MINUTE, due=START)
    assert world.store.put_schedules([ScheduleChange(broken, state, None)]) == [True]
    return broken.uuid


def test_a_trigger_that_raises_something_unexpected_keeps_no_other_from_firing(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    broken = put_broken(world)
    uuids = [world.schedule(cron="* * * * *") for _ in range(3)]

    world.pass_time(MINUTE)

    assert world.fates(broken) == []
    assert [world.fates(uuid) for uuid in uuids] == [["fired"]] * 3
    told = [record for record in caplog.records if record.message == "schedule cannot be decided"]
    assert {record.__dict__["schedule"] for record in told} == {"broken"}
    assert len(told) == math.ceil(60 / 5), "it is tried again whenever its lease is over, and not in every round"
    assert all(record.exc_info for record in told)


def test_a_schedule_that_cannot_be_decided_can_be_deleted(world: World) -> None:
    uuid = put_broken(world)

    world.schedules.delete("broken")

    assert world.store.find_schedules([uuid]) == [None]


def test_a_store_that_is_away_ends_the_round_and_nothing_is_lost(world: World) -> None:
    faults = Faults(world.store)
    ticker = World(faults.store, world.clock)
    uuid = world.schedule(cron="* * * * *", overlap="allow", catch_up="all")
    world.clock.advance(MINUTE)

    faults.before("fire_schedules", be_away)
    with pytest.raises(StoreUnavailable):
        ticker.tick()
    world.clock.advance(LEASE_MS)
    faults.before("claim_due_schedules", be_away)
    with pytest.raises(StoreUnavailable):
        ticker.tick()
    ticker.tick()

    assert world.fates(uuid) == ["fired"]
    assert world.waiting() == 1


def test_an_answer_that_is_lost_fires_nothing_twice(world: World) -> None:
    faults = Faults(world.store)
    ticker = World(faults.store, world.clock)
    uuid = world.schedule(cron="* * * * *", overlap="allow", catch_up="all")
    world.clock.advance(MINUTE)

    faults.after("fire_schedules", be_away)
    with pytest.raises(StoreUnavailable):
        ticker.tick()
    world.clock.advance(LEASE_MS)
    ticker.tick()

    assert world.fates(uuid) == ["fired"]
    assert world.waiting() == 1


def test_a_store_that_is_away_while_the_end_of_a_run_is_asked_for_is_no_fault_of_the_schedule(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    faults = Faults(world.store)
    ticker = World(faults.store, world.clock)
    world.schedule(interval=10_000, anchor="ended")
    ticker.tick()
    world.end(world.claim()[0])
    world.clock.advance(500)

    faults.before("find_jobs", be_away)
    with pytest.raises(StoreUnavailable):
        ticker.tick()

    assert "schedule cannot be decided" not in caplog.text


def be_away() -> None:
    raise StoreUnavailable("the store is away")


# How long to wait


@pytest.mark.parametrize(
    ("due_in", "seconds"),
    [(1, 0.03), (29, 0.03), (30, 0.03), (31, 0.031), (499, 0.499), (500, 0.5), (501, 0.5), (60_000, 0.5)],
)
def test_the_wait_is_short_enough_for_the_next_tick_and_long_enough_to_gather_some(
    world: World, due_in: int, seconds: float
) -> None:
    world.schedule(at=START + due_in)

    assert world.tick() == pytest.approx(seconds, abs=1e-9)


def test_while_the_job_of_an_interval_runs_one_tick_is_skipped_per_period(world: World) -> None:
    uuid = world.schedule(interval=5_000)
    world.pass_time(33_000, step=100)

    assert world.fates(uuid) == ["fired"] + ["skipped:overlap"] * 6

    world.end(world.claim()[0])
    world.pass_time(5_000, step=100)
    assert world.fates(uuid)[7:] == ["fired"]


def test_after_downtime_one_tick_of_an_interval_is_skipped_for_a_job_that_still_runs(world: World) -> None:
    uuid = world.schedule(interval=5_000)
    world.tick()
    world.clock.advance(3_600_000)
    world.pass_time(1_000, step=100)

    assert world.fates(uuid) == ["fired", "skipped:overlap"]


@pytest.mark.parametrize("every_ms", [50, 300, 499])
def test_a_schedule_that_has_just_fired_fires_again_when_it_says(world: World, every_ms: int) -> None:
    uuid = world.schedule(interval=every_ms, anchor="epoch")
    world.tick()

    for _ in range(10):
        world.clock.advance(round(world.tick() * 1000))

    gaps = [tick.decided_at - tick.nominal for tick in world.store.list_ticks(uuid, limit=100)]
    assert len(gaps) >= 9
    assert set(gaps) <= {0}


def test_a_queue_without_schedules_is_looked_at_twice_a_second(world: World) -> None:
    faults = Faults(world.store)
    ticker = World(faults.store, world.clock)
    faults.calls.clear()

    waits = [ticker.tick()]
    for _ in range(20):
        world.clock.advance(100)
        waits.append(ticker.tick())

    assert faults.calls.count("claim_due_schedules") == 5
    assert faults.calls.count("definitions_version") == 5
    assert waits[:6] == pytest.approx([0.5, 0.4, 0.3, 0.2, 0.1, 0.5])


def test_a_busy_queue_does_not_make_the_others_be_asked_as_often(world: World) -> None:
    faults = Faults(world.store)
    ticker = World(faults.store, world.clock)
    world.definitions.define_node_type(NodeType(uuid=new_id(START), name="quiet"))
    world.schedule(interval=100, anchor="epoch")

    for _ in range(10):
        ticker.tick()
        world.clock.advance(100)

    busy, quiet = 10, 2
    assert faults.calls.count("claim_due_schedules") == busy + quiet


def test_a_tick_that_follows_within_half_a_second_is_on_time(world: World) -> None:
    uuid = world.schedule(interval=100, anchor="epoch", overlap="allow")

    for _ in range(12):
        wait = world.tick()
        assert wait == pytest.approx(0.1)
        world.clock.advance(100)

    assert [row.decided_at - row.nominal for row in world.rows(uuid)] == [0] * 12


# The job of a tick


@pytest.mark.parametrize(
    ("overlap", "waits"),
    [
        ("skip", False),
        ("buffer_one", True),
        ("buffer_all", True),
        ("cancel_other", True),
        ("terminate_other", False),
        ("allow", False),
    ],
)
def test_jobs_that_wait_for_each_other_share_a_lock_of_their_schedule(world: World, overlap: str, waits: bool) -> None:
    uuid = world.schedule(cron="* * * * *", overlap=overlap)
    world.pass_time(MINUTE)

    assert world.claim()[0].spec.lock_key == (f"schedule:{uuid}" if waits else None)


def test_a_job_has_all_that_its_schedule_says(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="allow", priority=7, job_arguments={"a": [1]})
    world.pass_time(MINUTE)

    made = world.claim()[0].spec

    assert made == JobSpec(
        id=made.id,
        job_type=world.definitions.job_type("report").uuid,
        queue=world.queue,
        enqueued_at=FULL + MINUTE,
        arguments={"a": [1]},
        priority=7,
        cause=Cause("schedule", uuid, FULL + MINUTE),
    )


def test_the_lock_and_the_unique_key_of_a_job_type_go_before_those_of_a_schedule(world: World) -> None:
    world.job_type("locked", Unique.WHILE_RUNNING)
    world.job_type("alone", Unique.WHILE_PENDING)
    locked, alone = (world.definitions.job_type(name).uuid for name in ("locked", "alone"))
    for name in ("locked", "alone"):
        world.schedule(name=name, job_type=name, cron="* * * * *", overlap="buffer_all", job_arguments={"b": 1})
    world.pass_time(MINUTE)

    made = {claim.spec.job_type: (claim.spec.lock_key, claim.spec.unique_key) for claim in world.claim()}

    waiting = f"schedule:{world.schedules.find('alone').schedule.uuid}"
    assert made == {locked: (locked, None), alone: (waiting, f'{alone}:{{"b":1}}')}


def test_a_pause_between_runs_goes_on_when_the_run_was_forgotten(world: World) -> None:
    uuid = world.schedule(interval=10_000, anchor="ended", overlap="allow")
    world.tick()
    claim = world.claim()[0]
    world.clock.advance(4_000)
    world.end(claim)
    world.store.delete_jobs([claim.spec.id])

    world.pass_time(30_000)

    first, second, *_ = world.rows(uuid)
    assert second.nominal == first.nominal + 10_000, "from when it was made, since nobody knows when it ended"


def test_a_pause_between_runs_is_not_counted_while_a_failed_run_is_tried_again(world: World) -> None:
    faults = Faults(world.store)
    ticker = World(faults.store, world.clock)
    uuid = world.schedule(interval=10_000, anchor="ended", overlap="allow")
    world.tick()
    failed = world.claim()[0]
    world.end(failed, well=False)
    world.clock.advance(20_000)

    def somebody_tries_it_again() -> None:
        world.store.retry_jobs([failed.spec.id], now=world.clock.now())
        world.claim()

    faults.before("find_jobs", somebody_tries_it_again)
    ticker.tick()

    assert len(world.rows(uuid)) == 1
    assert world.waiting() == 0


def test_a_pause_between_runs_is_noticed_soon_after_the_end(world: World) -> None:
    uuid = world.schedule(interval=1_000, anchor="ended", overlap="allow")
    world.tick()
    running = world.claim()[0]
    world.pass_time(3_000, step=100)
    world.end(running)
    ended = world.clock.now()

    world.pass_time(500, step=100)
    assert world.schedules.find(uuid).state.due == ended + 1_000
    world.pass_time(1_000, step=100)

    assert world.rows(uuid)[1].nominal == ended + 1_000
    assert world.rows(uuid)[1].decided_at == ended + 1_000


@pytest.mark.parametrize(
    ("wish", "count"),
    [
        ({"overlap": "skip"}, 1),
        ({"overlap": "buffer_all"}, 2),
        ({"overlap": "allow"}, 0),
        ({"overlap": "allow", "pause_on_failure": True}, 2),
    ],
)
def test_only_jobs_that_matter_are_remembered(world: World, wish: dict[str, object], count: int) -> None:
    uuid = world.schedule(cron="* * * * *", **wish)

    world.pass_time(2 * MINUTE)

    made = [row.job for row in world.rows(uuid) if row.job]
    assert world.schedules.find(uuid).state.jobs == tuple(made[:count])


def test_a_failure_pauses_a_schedule_that_allows_overlap_and_says_which_job_was_the_last(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="allow", pause_on_failure=True)
    world.pass_time(3 * MINUTE)
    first, second, third = world.claim()
    world.end(first, well=False)
    world.end(second, well=False)
    world.end(third)
    world.pass_time(MINUTE)

    entry = world.schedules.find(uuid)
    assert entry.schedule.pause_note == f"paused because job {second.spec.id} failed"
    assert (entry.state.nominal, entry.state.due) == (None, None)
    assert world.fates(uuid) == ["fired", "fired", "fired"]
