"""The ticker: ticks happen once, by the policies of their schedule. Time is driven by hand."""

import math

import pytest

from rota.clock import ManualClock
from rota.engine.schedules.ticker import LEASE_MS, REFRESH_AGAIN_MS
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
from rota.store.contract.schedules import ScheduleChange
from rota.testing import Faults
from rota.testing.faults import away
from tests.engine.schedules.installation import FULL, MINUTE, NODE, START, SchedulesInstallation

pytestmark = pytest.mark.stores("sqlite-memory", "redis")


@pytest.fixture
def installation(store: Store) -> SchedulesInstallation:
    installation = SchedulesInstallation(store)
    installation.define()
    return installation


def test_a_cron_line_makes_a_job_at_each_of_its_times(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow")

    installation.pass_time(3 * MINUTE)

    assert [row.nominal - FULL for row in installation.rows(uuid)] == [MINUTE, 2 * MINUTE, 3 * MINUTE]
    assert installation.fates(uuid) == ["fired"] * 3
    assert installation.waiting() == 3


def test_a_row_names_its_job_and_the_job_its_tick(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *")
    installation.pass_time(MINUTE)

    row = installation.rows(uuid)[0]
    claimed = installation.claim()[0]

    assert row.job == claimed.spec.id
    assert claimed.spec.cause == Cause("schedule", uuid, row.nominal)


def test_several_schedulers_on_one_store_fire_a_tick_once(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * * *", overlap="allow")
    others = [SchedulesInstallation(installation.store, installation.clock) for _ in range(2)]

    for _ in range(30):
        installation.clock.advance(1_000)
        for one in (*others, installation):
            one.tick()

    # The instant at which it was made is one of its times.
    assert [row.nominal - START for row in installation.rows(uuid)] == [n * 1_000 for n in range(31)]
    assert installation.waiting() == 31


def test_a_clock_that_is_set_back_fires_nothing_twice(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow")
    installation.pass_time(3 * MINUTE)

    installation.clock.set(START)
    installation.pass_time(3 * MINUTE)
    assert len(installation.rows(uuid)) == 3

    installation.pass_time(MINUTE)
    assert len(installation.rows(uuid)) == 4


@pytest.mark.parametrize(
    ("mode", "fates"),
    [
        ("none", ["missed:no_catch_up"]),
        ("last", ["missed:superseded", "fired"]),
        ("all", ["fired"] * 5),
    ],
)
def test_after_downtime_the_catch_up_policy_rules(
    installation: SchedulesInstallation, mode: str, fates: list[str]
) -> None:
    uuid = installation.schedule(cron="* * * * *", catch_up=mode, overlap="allow")

    installation.clock.advance(5 * MINUTE + 30_000)
    installation.tick()

    assert installation.fates(uuid) == fates
    assert sum(row.count for row in installation.rows(uuid)) == 5


def test_ticks_outside_the_window_are_one_row(installation: SchedulesInstallation) -> None:
    policy = CatchUpRequest(mode="all", window="10m")
    uuid = installation.schedule(cron="* * * * *", catch_up=policy, overlap="allow")

    installation.clock.advance(60 * MINUTE)
    installation.tick()

    first = installation.rows(uuid)[0]
    assert (first.status, first.reason) == (TickStatus.MISSED, "outside_window")
    assert first.count + len(installation.rows(uuid)) - 1 == 60


def test_skip_leaves_out_ticks_while_a_job_is_alive(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *")
    installation.pass_time(MINUTE)
    claimed = installation.claim()[0]

    installation.pass_time(2 * MINUTE)
    installation.end(claimed)
    installation.pass_time(MINUTE)

    assert installation.fates(uuid) == ["fired", "skipped:overlap", "skipped:overlap", "fired"]


def test_buffer_one_lets_one_wait(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="buffer_one")
    installation.pass_time(MINUTE)
    running = installation.claim()[0]

    installation.pass_time(3 * MINUTE)

    assert installation.fates(uuid) == ["fired", "fired", "skipped:overlap", "skipped:overlap"]
    assert installation.claim() == [], "the second one waits for the first"
    installation.end(running)
    assert len(installation.claim()) == 1


def test_buffer_all_lets_all_wait_in_order(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="buffer_all")
    installation.pass_time(4 * MINUTE)
    expected = [row.job for row in installation.rows(uuid)]

    order = []
    for _ in range(4):
        (claimed,) = installation.claim()
        order.append(claimed.spec.id)
        installation.end(claimed)

    assert order == expected


def test_cancel_other_asks_the_running_job_to_end_and_waits_for_it(installation: SchedulesInstallation) -> None:
    installation.schedule(cron="* * * * *", overlap="cancel_other")
    installation.pass_time(MINUTE)
    running = installation.claim()[0]

    installation.pass_time(MINUTE)

    job = installation.store.find_jobs([running.spec.id])[0]
    assert job is not None
    assert job.cancel_requested
    assert installation.claim() == []
    installation.end(running)
    assert len(installation.claim()) == 1


def test_terminate_other_starts_at_once(installation: SchedulesInstallation) -> None:
    installation.schedule(cron="* * * * *", overlap="terminate_other")
    installation.pass_time(MINUTE)
    running = installation.claim()[0]

    installation.pass_time(MINUTE)

    job = installation.store.find_jobs([running.spec.id])[0]
    assert job is not None
    assert job.cancel_requested
    assert len(installation.claim()) == 1


def test_a_schedule_ends_after_its_runs(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", max_runs=2, overlap="allow")

    installation.pass_time(5 * MINUTE)

    assert installation.fates(uuid) == ["fired", "fired"]
    assert installation.schedules.find(uuid).state.due is None


def test_skipped_ticks_do_not_count_as_runs(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", max_runs=2)
    installation.pass_time(3 * MINUTE)
    installation.end(installation.claim()[0])
    installation.pass_time(3 * MINUTE)

    assert installation.fates(uuid) == ["fired", "skipped:overlap", "skipped:overlap", "fired"]


def test_bounds_are_inclusive(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", start=FULL + 2 * MINUTE, end=FULL + 3 * MINUTE, overlap="allow")

    installation.pass_time(6 * MINUTE)

    assert [row.nominal - FULL for row in installation.rows(uuid)] == [2 * MINUTE, 3 * MINUTE]


def test_excluded_dates_are_skipped_with_a_row(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="0 12 * * *", exclude=["2023-11-15"], catch_up="all", overlap="allow")

    installation.pass_time(3 * 24 * 60 * MINUTE, step=60 * MINUTE)

    assert installation.fates(uuid) == ["skipped:excluded", "fired", "fired"]


def test_after_downtime_into_an_excluded_day_the_latest_tick_before_it_is_fired(
    installation: SchedulesInstallation,
) -> None:
    uuid = installation.schedule(cron="*/30 * * * *", exclude=["2023-11-15"], overlap="allow")

    installation.clock.advance(4 * 60 * MINUTE)
    installation.tick()

    assert installation.fates(uuid) == ["missed:superseded", "fired", "skipped:excluded"]
    assert [row.count for row in installation.rows(uuid)] == [2, 1, 5]


def test_an_interval_keeps_its_least_distance_and_makes_up_for_nothing(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(interval=10_000, overlap="allow", catch_up="none")

    installation.tick()
    installation.pass_time(25_000)
    installation.clock.advance(60_000)
    installation.tick()

    made = [row.nominal - START for row in installation.rows(uuid) if row.status is TickStatus.FIRED]
    assert made[:3] == [0, 10_000, 20_000]
    assert len(made) == 4
    assert installation.waiting() == 4
    state = installation.schedules.find(uuid).state
    assert state.last_scheduled_by == NODE
    assert state.last_scheduled_at == installation.clock.now()


def test_a_pause_between_runs_is_counted_from_the_end(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(interval=10_000, anchor="ended", overlap="allow")
    installation.tick()
    running = installation.claim()[0]
    installation.pass_time(60_000)
    assert len(installation.rows(uuid)) == 1

    installation.end(running)
    ended = installation.clock.now()
    installation.pass_time(12_000)

    assert len(installation.rows(uuid)) == 2
    assert installation.rows(uuid)[1].nominal == ended + 10_000


def test_a_unique_job_type_turns_ticks_into_skipped_ones(installation: SchedulesInstallation) -> None:
    installation.define("alone", unique=Unique.WHILE_PENDING)
    uuid = installation.schedule(job_type="alone", cron="* * * * *", overlap="allow")

    installation.pass_time(2 * MINUTE)

    assert installation.fates(uuid) == ["fired", "skipped:unique"]


def test_a_tick_whose_job_was_refused_is_no_run(installation: SchedulesInstallation) -> None:
    installation.define("alone", unique=Unique.WHILE_PENDING)
    uuid = installation.schedule(job_type="alone", cron="* * * * *", overlap="allow", max_runs=2)

    installation.pass_time(4 * MINUTE, step=5_000)
    state = installation.schedules.find(uuid).state
    assert (state.runs, state.counts) == (1, {"fired": 1, "skipped:unique": 3})
    assert state.last_scheduled_at == FULL + MINUTE + 1_000
    installation.end(installation.claim()[0])
    installation.pass_time(3 * MINUTE, step=5_000)

    state = installation.schedules.find(uuid).state
    assert installation.fates(uuid) == ["fired", *["skipped:unique"] * 3, "fired"]
    assert (state.runs, state.counts, state.nominal) == (2, {"fired": 2, "skipped:unique": 3}, None)


def test_a_last_run_that_was_refused_is_tried_again_in_time(installation: SchedulesInstallation) -> None:
    installation.define("alone", unique=Unique.WHILE_PENDING)
    installation.enqueue("alone")
    installation.schedule(job_type="alone", cron="* * * * * *", overlap="allow", max_runs=1)
    installation.clock.advance(1_000 - 200)

    assert installation.tick() == 0.2


def test_a_schedule_does_not_remember_a_job_that_was_refused(installation: SchedulesInstallation) -> None:
    installation.define("alone", unique=Unique.WHILE_PENDING)
    installation.enqueue("alone")
    uuid = installation.schedule(job_type="alone", cron="* * * * *", overlap="skip")

    installation.pass_time(MINUTE)

    assert installation.fates(uuid) == ["skipped:unique"]
    assert installation.schedules.find(uuid).state.jobs == ()


def test_an_interval_whose_job_was_refused_comes_again_a_period_later(installation: SchedulesInstallation) -> None:
    installation.define("alone", unique=Unique.WHILE_PENDING)
    installation.enqueue("alone")
    uuids = [
        installation.schedule(job_type="alone", interval=10_000, anchor=anchor, job_arguments={})
        for anchor in ("scheduled", "ended")
    ]

    installation.tick()
    installation.pass_time(35_000)

    assert [installation.fates(uuid) for uuid in uuids] == [["skipped:unique"] * 4] * 2
    assert [row.nominal - START for row in installation.rows(uuids[1])] == [0, 10_000, 20_000, 30_000]


def test_more_than_one_round_that_are_due_together_are_all_fired(installation: SchedulesInstallation) -> None:
    for number in range(1_200):
        installation.schedule(name=f"s{number}", cron="* * * * *")

    installation.clock.advance(MINUTE)
    while installation.tick() == 0.0:
        pass

    assert installation.waiting() == 1_200


def test_one_schedule_that_cannot_be_decided_keeps_no_other_from_firing(installation: SchedulesInstallation) -> None:
    installation.define("doomed")
    broken = installation.schedule(job_type="doomed", cron="* * * * *")
    # Past the check that keeps a job type which schedules use.
    installation.store.delete_job_types([installation.definitions.job_type("doomed").uuid])
    fine = installation.schedule(cron="* * * * *")

    installation.pass_time(MINUTE)

    assert installation.fates(broken) == []
    assert installation.fates(fine) == ["fired"]


def test_the_wait_is_until_the_next_tick_and_never_long(installation: SchedulesInstallation) -> None:
    installation.schedule(cron="0 0 1 1 *")
    assert installation.tick() == pytest.approx(0.5)

    installation.clock.advance(500)
    installation.schedule(at=START + 600)
    assert installation.tick() == pytest.approx(0.1)


def test_a_schedule_of_a_new_job_type_and_node_type_fires_without_waiting_for_a_beat(
    installation: SchedulesInstallation,
) -> None:
    other = SchedulesInstallation(installation.store, installation.clock)
    other.tick()
    installation.definitions.define_node_type(NodeType(uuid=new_id(START), name="new"))
    installation.definitions.define_job_type(JobType(uuid=new_id(START), name="fresh", executor="log", node_type="new"))
    uuid = installation.schedule(job_type="fresh", interval=60_000)

    installation.clock.advance(500)
    other.tick()

    assert installation.fates(uuid) == ["fired"]


def test_a_queue_that_is_gone_does_not_keep_the_ticker_awake(installation: SchedulesInstallation) -> None:
    installation.definitions.define_node_type(NodeType(uuid=new_id(START), name="gone"))
    installation.tick()
    installation.definitions.delete_node_type("gone")

    installation.clock.advance(1_000)

    assert installation.tick() == pytest.approx(0.5)


def test_jobs_of_a_schedule_that_allows_overlap_are_not_remembered(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow")

    installation.pass_time(5 * MINUTE)

    assert installation.schedules.find(uuid).state.jobs == ()


def test_a_clock_that_leaps_forward_obeys_the_catch_up_policy(installation: SchedulesInstallation) -> None:
    uuids = [
        installation.schedule(cron="* * * * *", catch_up=mode, overlap="allow") for mode in ("none", "last", "all")
    ]
    installation.pass_time(MINUTE)

    installation.clock.set(installation.clock.now() + 10 * MINUTE)
    installation.tick()

    fired = [installation.fates(uuid).count("fired") for uuid in uuids]
    assert fired == [2, 2, 11]
    assert [sum(row.count for row in installation.rows(uuid)) for uuid in uuids] == [11, 11, 11]


def test_very_many_ticks_are_decided_in_rounds_that_follow_each_other_at_once(
    installation: SchedulesInstallation,
) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow", catch_up=CatchUpRequest(mode="all", max=600))

    installation.clock.advance(700 * MINUTE)
    rounds = 1
    while installation.tick() == 0:
        rounds += 1

    first, *others = installation.rows(uuid)
    assert (first.status, first.reason, first.count) == (TickStatus.MISSED, "over_cap", 100)
    assert [row.nominal - FULL for row in others] == [n * MINUTE for n in range(101, 701)]
    assert installation.schedules.find(uuid).state.counts == {"fired": 600, "missed:over_cap": 100}
    assert installation.waiting() == 600
    assert rounds == math.ceil(601 / MAX_DECIDED)


@pytest.mark.stores("redis")  # SQLite has no clock but its users'
def test_a_scheduler_whose_clock_is_ahead_fires_nothing_early(store: Store) -> None:
    real = store.now()
    installation = SchedulesInstallation(store, ManualClock(real))
    installation.define()
    uuid = installation.schedule(interval=60_000, start=real - 60_000, overlap="allow", catch_up="all")

    installation.clock.advance(5 * MINUTE)
    installation.tick()

    rows = installation.rows(uuid)
    assert [row.nominal for row in rows if row.nominal > store.now()] == []
    assert rows != []
    assert max(row.decided_at for row in rows) <= store.now()
    assert max(claimed.spec.enqueued_at for claimed in installation.claim()) <= store.now()


# A clock that is set back


def test_a_clock_that_is_set_back_keeps_nobody_waiting(installation: SchedulesInstallation) -> None:
    installation.tick()

    installation.clock.set(START - 60 * MINUTE)
    uuid = installation.schedule(at=START - 60 * MINUTE)
    installation.tick()

    assert installation.fates(uuid) == ["fired"]


def test_a_clock_that_is_set_back_hides_no_new_queue(installation: SchedulesInstallation) -> None:
    other = SchedulesInstallation(installation.store, installation.clock)
    other.tick()
    installation.clock.set(START - 60 * MINUTE)
    installation.definitions.define_node_type(NodeType(uuid=new_id(START), name="new"))
    installation.definitions.define_job_type(JobType(uuid=new_id(START), name="fresh", executor="log", node_type="new"))
    uuid = installation.schedule(job_type="fresh", interval=60_000)

    other.tick()

    assert installation.fates(uuid) == ["fired"]


@pytest.mark.parametrize("overlap", ["allow", "skip", "buffer_all"])
def test_a_clock_that_is_set_back_and_goes_on_doubles_no_tick_and_loses_none(
    installation: SchedulesInstallation, overlap: str
) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap=overlap, catch_up="all")
    installation.pass_time(3 * MINUTE)
    cursor = installation.schedules.find(uuid).state.cursor

    for back in (MINUTE, 2 * MINUTE, 30_000, 1):
        installation.clock.set(installation.clock.now() - back)
        installation.pass_time(20_000)
        assert installation.schedules.find(uuid).state.cursor == cursor, "it holds until the time has passed it again"
    while installation.clock.now() < FULL + 6 * MINUTE:
        installation.pass_time(10_000)

    assert [row.nominal - FULL for row in installation.rows(uuid)] == [n * MINUTE for n in (1, 2, 3, 4, 5, 6)]
    assert sum(installation.schedules.find(uuid).state.counts.values()) == 6


# One that is broken


def put_broken(installation: SchedulesInstallation) -> str:
    """A schedule that every version before would have refused, as one of a machine with other zones may have made."""
    trigger = CronTrigger(cron="* * * * *", tz="Mars/Olympus_Mons")
    report = installation.definitions.job_type("report").uuid
    broken = Schedule(uuid=new_id(START), name="broken", trigger=trigger, queue=installation.queue, job_type=report)
    state = ScheduleState(cursor=START, nominal=FULL + MINUTE, due=START)
    assert installation.store.put_schedules([ScheduleChange(broken, state, None)]) == [True]
    return broken.uuid


def test_a_trigger_that_raises_something_unexpected_keeps_no_other_from_firing(
    installation: SchedulesInstallation, caplog: pytest.LogCaptureFixture
) -> None:
    broken = put_broken(installation)
    uuids = [installation.schedule(cron="* * * * *") for _ in range(3)]

    installation.pass_time(MINUTE)

    assert installation.fates(broken) == []
    assert [installation.fates(uuid) for uuid in uuids] == [["fired"]] * 3
    told = [record for record in caplog.records if record.message == "schedule cannot be decided"]
    assert {record.__dict__["schedule"] for record in told} == {"broken"}
    assert len(told) == math.ceil(60 / 5), "it is tried again whenever its lease is over, and not in every round"
    assert all(record.exc_info for record in told)


def test_a_schedule_that_cannot_be_decided_can_be_deleted(installation: SchedulesInstallation) -> None:
    uuid = put_broken(installation)

    installation.schedules.delete("broken")

    assert installation.store.find_schedules([uuid]) == [None]


def test_a_store_that_is_away_ends_the_round_and_nothing_is_lost(installation: SchedulesInstallation) -> None:
    faults = Faults(installation.store)
    ticker = SchedulesInstallation(faults.store, installation.clock)
    uuid = installation.schedule(cron="* * * * *", overlap="allow", catch_up="all")
    installation.clock.advance(MINUTE)

    faults.before("fire_schedules", be_away)
    with pytest.raises(StoreUnavailable):
        ticker.tick()
    installation.clock.advance(LEASE_MS)
    faults.before("claim_due_schedules", be_away)
    with pytest.raises(StoreUnavailable):
        ticker.tick()
    ticker.tick()

    assert installation.fates(uuid) == ["fired"]
    assert installation.waiting() == 1


def test_an_answer_that_is_lost_fires_nothing_twice(installation: SchedulesInstallation) -> None:
    faults = Faults(installation.store)
    ticker = SchedulesInstallation(faults.store, installation.clock)
    uuid = installation.schedule(cron="* * * * *", overlap="allow", catch_up="all")
    installation.clock.advance(MINUTE)

    faults.after("fire_schedules", be_away)
    with pytest.raises(StoreUnavailable):
        ticker.tick()
    installation.clock.advance(LEASE_MS)
    ticker.tick()

    assert installation.fates(uuid) == ["fired"]
    assert installation.waiting() == 1


def test_a_store_that_is_away_while_the_end_of_a_run_is_asked_for_is_no_fault_of_the_schedule(
    installation: SchedulesInstallation, caplog: pytest.LogCaptureFixture
) -> None:
    faults = Faults(installation.store)
    ticker = SchedulesInstallation(faults.store, installation.clock)
    installation.schedule(interval=10_000, anchor="ended")
    ticker.tick()
    installation.end(installation.claim()[0])
    installation.clock.advance(500)

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
    installation: SchedulesInstallation, due_in: int, seconds: float
) -> None:
    installation.schedule(at=START + due_in)

    assert installation.tick() == pytest.approx(seconds, abs=1e-9)


def test_while_its_job_runs_an_interval_skips_one_tick_per_period(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(interval=5_000)
    installation.pass_time(33_000, step=100)

    assert installation.fates(uuid) == ["fired"] + ["skipped:overlap"] * 6

    installation.end(installation.claim()[0])
    installation.pass_time(5_000, step=100)
    assert installation.fates(uuid)[7:] == ["fired"]


def test_after_downtime_an_interval_skips_one_tick_for_a_running_job(
    installation: SchedulesInstallation,
) -> None:
    uuid = installation.schedule(interval=5_000)
    installation.tick()
    installation.clock.advance(3_600_000)
    installation.pass_time(1_000, step=100)

    assert installation.fates(uuid) == ["fired", "skipped:overlap"]


@pytest.mark.parametrize("every_ms", [50, 300, 499])
def test_a_schedule_that_has_just_fired_fires_again_when_it_says(
    installation: SchedulesInstallation, every_ms: int
) -> None:
    uuid = installation.schedule(interval=every_ms, anchor="epoch")
    installation.tick()

    for _ in range(10):
        installation.clock.advance(round(installation.tick() * 1000))

    gaps = [tick.decided_at - tick.nominal for tick in installation.store.list_ticks(uuid, limit=100)]
    assert len(gaps) >= 9
    assert set(gaps) <= {0}


def test_a_queue_without_schedules_is_looked_at_twice_a_second(installation: SchedulesInstallation) -> None:
    faults = Faults(installation.store)
    ticker = SchedulesInstallation(faults.store, installation.clock)
    faults.calls.clear()

    waits = [ticker.tick()]
    for _ in range(20):
        installation.clock.advance(100)
        waits.append(ticker.tick())

    assert faults.calls.count("claim_due_schedules") == 5
    assert faults.calls.count("definitions_version") == 5
    assert waits[:6] == pytest.approx([0.5, 0.4, 0.3, 0.2, 0.1, 0.5])


def test_a_busy_queue_does_not_make_the_others_be_asked_as_often(installation: SchedulesInstallation) -> None:
    faults = Faults(installation.store)
    ticker = SchedulesInstallation(faults.store, installation.clock)
    installation.definitions.define_node_type(NodeType(uuid=new_id(START), name="quiet"))
    installation.schedule(interval=100, anchor="epoch")

    for _ in range(10):
        ticker.tick()
        installation.clock.advance(100)

    busy, quiet = 10, 2
    assert faults.calls.count("claim_due_schedules") == busy + quiet


def test_a_tick_that_follows_within_half_a_second_is_on_time(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(interval=100, anchor="epoch", overlap="allow")

    for _ in range(12):
        wait = installation.tick()
        assert wait == pytest.approx(0.1)
        installation.clock.advance(100)

    assert [row.decided_at - row.nominal for row in installation.rows(uuid)] == [0] * 12


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
def test_jobs_that_wait_for_each_other_share_a_lock_of_their_schedule(
    installation: SchedulesInstallation, overlap: str, waits: bool
) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap=overlap)
    installation.pass_time(MINUTE)

    assert installation.claim()[0].spec.lock_key == (f"schedule:{uuid}" if waits else None)


def test_a_job_has_all_that_its_schedule_says(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow", priority=7, job_arguments={"a": [1]})
    installation.pass_time(MINUTE)

    made = installation.claim()[0].spec

    assert made == JobSpec(
        id=made.id,
        job_type=installation.definitions.job_type("report").uuid,
        queue=installation.queue,
        enqueued_at=FULL + MINUTE,
        arguments={"a": [1]},
        priority=7,
        cause=Cause("schedule", uuid, FULL + MINUTE),
    )


def test_the_lock_and_the_unique_key_of_a_job_type_go_before_those_of_a_schedule(
    installation: SchedulesInstallation,
) -> None:
    installation.define("locked", unique=Unique.WHILE_RUNNING)
    installation.define("alone", unique=Unique.WHILE_PENDING)
    locked, alone = (installation.definitions.job_type(name).uuid for name in ("locked", "alone"))
    for name in ("locked", "alone"):
        installation.schedule(name=name, job_type=name, cron="* * * * *", overlap="buffer_all", job_arguments={"b": 1})
    installation.pass_time(MINUTE)

    made = {claim.spec.job_type: (claim.spec.lock_key, claim.spec.unique_key) for claim in installation.claim()}

    waiting = f"schedule:{installation.schedules.find('alone').schedule.uuid}"
    assert made == {locked: (locked, None), alone: (waiting, f'{alone}:{{"b":1}}')}


def test_a_pause_between_runs_goes_on_when_the_run_was_forgotten(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(interval=10_000, anchor="ended", overlap="allow")
    installation.tick()
    claim = installation.claim()[0]
    installation.clock.advance(4_000)
    installation.end(claim)
    installation.store.delete_jobs([claim.spec.id])

    installation.pass_time(30_000)

    first, second, *_ = installation.rows(uuid)
    assert second.nominal == first.nominal + 10_000, "from when it was made, since nobody knows when it ended"


def test_a_failed_run_that_is_tried_again_counts_until_its_own_end(installation: SchedulesInstallation) -> None:
    faults = Faults(installation.store)
    ticker = SchedulesInstallation(faults.store, installation.clock)
    uuid = installation.schedule(interval=10_000, anchor="ended", overlap="allow")
    installation.tick()
    failed = installation.claim()[0]
    installation.end(failed, well=False)
    installation.clock.advance(20_000)
    claims = []

    def somebody_tries_it_again() -> None:
        installation.store.retry_jobs([failed.spec.id], now=installation.clock.now())
        claims.extend(installation.claim())

    faults.before("find_jobs", somebody_tries_it_again)
    ticker.tick()
    installation.pass_time(60_000)
    assert len(installation.rows(uuid)) == 1
    installation.end(claims[0])
    ended = installation.clock.now()

    installation.pass_time(12_000)

    assert installation.rows(uuid)[1].nominal == ended + 10_000


def test_a_run_that_ended_before_it_was_made_by_its_nodes_clock_ended_when_it_was_made(
    installation: SchedulesInstallation,
) -> None:
    uuid = installation.schedule(interval=10_000, anchor="ended", overlap="allow")
    installation.tick()
    made = installation.clock.now()
    running = installation.claim()[0]
    installation.clock.set(made - 15)
    installation.end(running)
    installation.clock.set(made)

    installation.pass_time(30_000)

    assert installation.rows(uuid)[1].nominal == made + 10_000


def test_a_pause_between_runs_is_noticed_soon_after_the_end(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(interval=1_000, anchor="ended", overlap="allow")
    installation.tick()
    running = installation.claim()[0]
    installation.pass_time(3_000, step=100)
    installation.end(running)
    ended = installation.clock.now()

    installation.pass_time(500, step=100)
    assert installation.schedules.find(uuid).state.due == ended + 1_000
    installation.pass_time(1_000, step=100)

    assert installation.rows(uuid)[1].nominal == ended + 1_000
    assert installation.rows(uuid)[1].decided_at == ended + 1_000


@pytest.mark.parametrize(
    ("wish", "count"),
    [
        ({"overlap": "skip"}, 1),
        ({"overlap": "buffer_all"}, 2),
        ({"overlap": "allow"}, 0),
        ({"overlap": "allow", "pause_on_failure": True}, 2),
    ],
)
def test_only_jobs_that_matter_are_remembered(
    installation: SchedulesInstallation, wish: dict[str, object], count: int
) -> None:
    uuid = installation.schedule(cron="* * * * *", **wish)

    installation.pass_time(2 * MINUTE)

    made = [row.job for row in installation.rows(uuid) if row.job]
    assert installation.schedules.find(uuid).state.jobs == tuple(made[:count])


def test_a_failure_pauses_a_schedule_that_allows_overlap_and_says_which_job_was_the_last(
    installation: SchedulesInstallation,
) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow", pause_on_failure=True)
    installation.pass_time(3 * MINUTE)
    first, second, third = installation.claim()
    installation.end(first, well=False)
    installation.end(second, well=False)
    installation.end(third)
    installation.pass_time(MINUTE)

    entry = installation.schedules.find(uuid)
    assert entry.schedule.pause_note == f"paused because job {second.spec.id} failed"
    assert (entry.state.nominal, entry.state.due) == (None, None)
    assert installation.fates(uuid) == ["fired", "fired", "fired"]


def test_while_the_definitions_cannot_be_asked_what_is_known_fires(store: Store) -> None:
    """On a cluster the server that has them may be away."""
    faults = Faults(store)
    installation = SchedulesInstallation(faults.store)
    installation.define("report")
    uuid = installation.schedule(cron="* * * * *")
    installation.clock.advance(MINUTE)

    faults.before("definitions_version", away)
    with pytest.raises(StoreUnavailable):
        installation.tick()

    assert (faults.awaits("definitions_version"), installation.fates(uuid)) == (False, ["fired"])


def test_definitions_that_could_not_be_read_are_asked_for_again_only_after_a_while(store: Store) -> None:
    """The server that has them may hang, and hold up each round that asks it."""
    faults = Faults(store)
    installation = SchedulesInstallation(faults.store)
    installation.define("report")
    installation.tick()
    installation.clock.advance(MINUTE)
    faults.before("definitions_version", away)
    with pytest.raises(StoreUnavailable):
        installation.tick()
    faults.before("definitions_version", away)

    installation.pass_time(REFRESH_AGAIN_MS - 1_000)
    assert faults.awaits("definitions_version")

    installation.clock.advance(1_000)
    with pytest.raises(StoreUnavailable):
        installation.tick()


def test_a_queue_that_cannot_be_asked_keeps_no_other_from_firing(store: Store) -> None:
    """On a cluster one server may be away, and with it some of the queues."""
    faults = Faults(store)
    installation = SchedulesInstallation(faults.store)
    installation.definitions.define_node_type(NodeType(uuid=new_id(START), name="later"))
    installation.define("first")
    installation.define("second", node_type="later")
    first, second = (installation.schedule(job_type=name, cron="* * * * *") for name in ("first", "second"))
    installation.clock.advance(MINUTE)

    faults.before("claim_due_schedules", away)  # the first queue by name
    with pytest.raises(StoreUnavailable):
        installation.tick()
    assert (installation.fates(first), installation.fates(second)) == ([], ["fired"])

    installation.tick()
    assert installation.fates(first) == ["fired"]


def test_a_schedule_whose_last_run_cannot_be_asked_for_keeps_no_other_from_firing(store: Store) -> None:
    """On a cluster its job may be on a server that is away."""
    faults = Faults(store)
    installation = SchedulesInstallation(faults.store)
    installation.define("report")
    waits = installation.schedule(interval=1_000, anchor="ended")
    installation.tick()
    installation.end(installation.claim()[0])
    goes_on = installation.schedule(interval=1_000)
    installation.clock.advance(1_000)

    faults.before("find_jobs", away)
    with pytest.raises(StoreUnavailable):
        installation.tick()
    assert (installation.fates(waits), installation.fates(goes_on)) == (["fired"], ["fired"])

    installation.pass_time(LEASE_MS)
    assert installation.fates(waits) == ["fired"] * 2


def strays(installation: SchedulesInstallation) -> list[str]:
    """Two schedules that are due, of job types that were defined since definitions were read."""
    installation.definitions.define_job_type(JobType(uuid=new_id(START), name="new", executor="log"))
    installation.definitions.define_job_type(JobType(uuid=new_id(START), name="newer", executor="log"))
    return [installation.schedule(job_type=name, interval=60_000) for name in ("new", "newer")]


def test_schedules_that_need_newer_definitions_keep_no_other_from_firing_while_nobody_tells_them(store: Store) -> None:
    """Nor is the server that has them asked for each: it may hang."""
    installation, faults = SchedulesInstallation(store), Faults(store)
    installation.define("report")
    other = SchedulesInstallation(faults.store, installation.clock)
    other.tick()
    goes_on, late = installation.schedule(interval=60_000), list[str]()
    installation.clock.advance(500)
    faults.calls.clear()

    faults.before("claim_due_schedules", lambda: late.extend(strays(installation)))
    faults.before("definitions_version", lambda: None, away)
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            other.tick()
        installation.clock.advance(LEASE_MS)
    assert [installation.fates(uuid) for uuid in (*late, goes_on)] == [[], [], ["fired"]]
    assert faults.calls.count("definitions_version") == 2

    installation.clock.advance(REFRESH_AGAIN_MS - LEASE_MS)
    other.tick()
    assert [installation.fates(uuid) for uuid in late] == [["fired"], ["fired"]]


def test_a_queue_is_not_looked_at_sooner_because_one_of_its_schedules_could_not_be_decided(store: Store) -> None:
    faults = Faults(store)
    installation = SchedulesInstallation(faults.store)
    installation.define("report")
    installation.schedule(interval=1_000, anchor="ended")
    installation.tick()
    installation.end(installation.claim()[0])
    installation.clock.advance(1_000)
    faults.before("find_jobs", away)
    with pytest.raises(StoreUnavailable):
        installation.tick()

    faults.calls.clear()
    installation.tick()

    assert "claim_due_schedules" not in faults.calls
