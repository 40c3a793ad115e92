"""Several who decide or change the same schedule at once: one of them counts, and the others leave no trace."""

from collections.abc import Callable

import pytest
from msgspec import structs

from rota.clock import ManualClock
from rota.engine.definitions.file import Wanted
from rota.engine.schedules.backfill import BackfillRequest
from rota.engine.schedules.ticker import LEASE_MS
from rota.errors import Conflict, StoreUnavailable
from rota.model.ids import new_id
from rota.model.job import JobState
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.schedules.request import ScheduleRequest
from rota.store import Store
from rota.store.contract.jobs import JobQuery
from rota.store.contract.schedules import ScheduleEntry
from rota.testing import Faults
from rota.testing.faults import away
from tests.conftest import OpenStore
from tests.contract.building import find, spec
from tests.contract.racing import in_threads
from tests.contract.schedules.scheduling import firing
from tests.engine.schedules.installation import FULL, MINUTE, START, SchedulesInstallation

pytestmark = pytest.mark.stores("sqlite-memory", "sqlite-file", "redis")

RANGE = BackfillRequest(start=FULL - 10 * MINUTE, end=FULL)


@pytest.fixture
def installation(store: Store) -> SchedulesInstallation:
    installation = SchedulesInstallation(store)
    installation.define()
    return installation


def slow_ticker(installation: SchedulesInstallation) -> tuple[SchedulesInstallation, Faults]:
    """Another process, with the same clock, whose calls can be held up."""
    faults = Faults(installation.store)
    return SchedulesInstallation(faults.store, installation.clock), faults


def tick_now(installation: SchedulesInstallation) -> None:
    installation.tick()


# Two tickers


@pytest.mark.parametrize("overlap", ["allow", "skip", "buffer_one", "buffer_all", "cancel_other", "terminate_other"])
def test_of_two_tickers_that_decide_from_the_same_entry_one_fires(
    installation: SchedulesInstallation, overlap: str
) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap=overlap, catch_up="all")
    slow, faults = slow_ticker(installation)

    def the_other_is_faster() -> None:
        installation.clock.advance(LEASE_MS)
        installation.tick()

    installation.clock.advance(MINUTE)
    faults.before("fire_schedules", the_other_is_faster)
    slow.tick()

    assert faults.calls.count("fire_schedules") == 1
    assert installation.fates(uuid) == ["fired"]
    assert installation.waiting() == 1
    assert installation.rows(uuid)[0].job == installation.claim()[0].spec.id
    assert installation.rows(uuid)[0].decided_at == START + MINUTE + LEASE_MS
    state = installation.schedules.find(uuid).state
    assert (state.runs, state.counts, state.version) == (1, {"fired": 1}, 2)
    assert installation.store.read_totals(installation.queue).enqueued == 1


@pytest.mark.parametrize("overlap", ["cancel_other", "terminate_other"])
def test_a_ticker_that_comes_too_late_cancels_nothing(installation: SchedulesInstallation, overlap: str) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap=overlap)
    installation.pass_time(MINUTE)
    running = installation.claim()[0]
    slow, faults = slow_ticker(installation)

    installation.clock.advance(MINUTE)
    faults.before("fire_schedules", lambda: pause(installation, uuid))
    slow.tick()

    assert not find(installation.store, running.spec.id).cancel_requested
    assert installation.fates(uuid) == ["fired"]
    assert installation.waiting() == 0
    assert installation.schedules.find(uuid).schedule.paused


def test_a_ticker_that_was_faster_has_its_job_left_alone(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="cancel_other")
    installation.pass_time(MINUTE)
    old = installation.claim()[0]
    slow, faults = slow_ticker(installation)

    def the_other_is_faster() -> None:
        installation.clock.advance(LEASE_MS)
        installation.tick()
        installation.end(old)

    installation.clock.advance(MINUTE)
    faults.before("fire_schedules", the_other_is_faster)
    slow.tick()

    (made,) = installation.claim()
    assert [row.job for row in installation.rows(uuid)] == [old.spec.id, made.spec.id]
    assert not find(installation.store, made.spec.id).cancel_requested
    assert installation.store.read_totals(installation.queue).cancelled == 0


def test_a_failure_seen_by_two_tickers_pauses_once_and_a_person_who_resumes_meanwhile_is_heard(
    installation: SchedulesInstallation,
) -> None:
    uuid = installation.schedule(cron="* * * * *", pause_on_failure=True)
    installation.pass_time(MINUTE)
    installation.end(installation.claim()[0], well=False)
    slow, faults = slow_ticker(installation)

    def the_other_pauses_and_a_person_resumes() -> None:
        installation.clock.advance(LEASE_MS)
        installation.tick()
        assert installation.schedules.find(uuid).schedule.paused
        installation.schedules.resume(uuid)

    installation.clock.advance(MINUTE)
    faults.before("put_schedules", the_other_pauses_and_a_person_resumes)
    slow.tick()

    assert not installation.schedules.find(uuid).schedule.paused


def test_many_tickers_at_once_fire_each_of_many_ticks_once(
    installation: SchedulesInstallation, open_again: OpenStore
) -> None:
    # The tickers have clocks of their own: one that is slow must not make ticks too late to be fired.
    uuids = [installation.schedule(cron="* * * * * *", overlap="allow", catch_up="all") for _ in range(5)]
    tickers = [SchedulesInstallation(open_again(), ManualClock(START)) for _ in range(4)]

    def tick(number: int) -> None:
        for _ in range(20):
            tickers[number].clock.advance(1_000)
            tickers[number].tick()

    in_threads(tick, 4)
    installation.clock.advance(20_000 + LEASE_MS)
    installation.tick()

    expected = [START + n * 1_000 for n in range(26)]
    assert [[row.nominal for row in installation.rows(uuid)] for uuid in uuids] == [expected] * 5
    assert installation.waiting() == 5 * 26


# Every change is a new version


def pause(installation: SchedulesInstallation, uuid: str) -> None:
    installation.schedules.pause(uuid, "a note")


def edit(installation: SchedulesInstallation, uuid: str) -> None:
    installation.schedules.replace(
        uuid, ScheduleRequest(job_type="report", cron="* * * * *", overlap="skip", priority=3)
    )


def edit_times(installation: SchedulesInstallation, uuid: str) -> None:
    installation.schedules.replace(uuid, ScheduleRequest(job_type="report", cron="*/5 * * * *"))


def edit_times_with_ticks_undecided(installation: SchedulesInstallation, uuid: str) -> None:
    installation.clock.advance(3 * MINUTE)
    installation.schedules.replace(uuid, ScheduleRequest(job_type="report", cron="*/5 * * * *"))


def pause_and_resume(installation: SchedulesInstallation, uuid: str) -> None:
    installation.schedules.pause(uuid)
    installation.schedules.resume(uuid)


def fire(installation: SchedulesInstallation, uuid: str) -> None:
    installation.pass_time(MINUTE)


def move(installation: SchedulesInstallation, uuid: str) -> None:
    installation.definitions.define_node_type(NodeType(uuid=new_id(START), name="big"))
    report = installation.definitions.job_type("report")
    installation.definitions.define_job_type(structs.replace(report, node_type="big"))


def backfill(installation: SchedulesInstallation, uuid: str) -> None:
    installation.backfills.start(uuid, RANGE)


def delete(installation: SchedulesInstallation, uuid: str) -> None:
    installation.schedules.delete(uuid)


Change = Callable[[SchedulesInstallation, str], None]


@pytest.mark.parametrize(
    ("change", "version"),
    [
        (pause, 2),
        (pause_and_resume, 3),
        (edit, 2),
        (edit_times, 2),
        (edit_times_with_ticks_undecided, 2),
        (fire, 2),
        (move, 2),
        (backfill, 2),
        (delete, None),
    ],
)
def test_a_decision_made_before_a_change_is_refused(
    installation: SchedulesInstallation, change: Change, version: int | None
) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="skip")
    before = installation.schedules.find(uuid)

    change(installation, uuid)

    (after,) = installation.store.find_schedules([uuid])
    assert (after and after.state.version) == version
    refuse(installation, before)
    assert installation.store.find_schedules([uuid]) == [after]


def refuse(installation: SchedulesInstallation, before: ScheduleEntry) -> None:
    """A decision upon that entry does nothing at all."""
    rows = installation.store.list_ticks(before.schedule.uuid, limit=100)
    bystander = spec(installation.queue)
    installation.store.enqueue_jobs([bystander], now=START)
    late = structs.replace(firing(before, spec(installation.queue), nominal=START + 1), cancels=(bystander.id,))
    total = installation.store.read_totals(installation.queue)

    assert installation.store.fire_schedules(installation.queue, [late], now=START) == [False]

    assert installation.store.find_jobs([late.specs[0].id]) == [None]
    assert find(installation.store, bystander.id).state is JobState.QUEUED
    assert installation.store.list_ticks(before.schedule.uuid, limit=100) == rows
    assert installation.store.read_totals(installation.queue) == total


def test_a_pause_by_a_failure_and_the_end_of_a_backfill_are_changes_too(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", pause_on_failure=True)
    made = installation.backfills.start(uuid, RANGE).backfill
    installation.backfills.cancel(uuid, made.id)
    cancelled = installation.schedules.find(uuid)
    installation.pass_time(MINUTE)
    fired = installation.schedules.find(uuid)
    installation.end(installation.claim()[0], well=False)
    installation.pass_time(MINUTE)
    paused = installation.schedules.find(uuid)

    assert [one.state.version for one in (cancelled, fired, paused)] == [3, 4, 5]
    assert paused.schedule.paused
    refuse(installation, fired)


def test_a_schedule_of_the_file_that_changes_there_is_another_version(installation: SchedulesInstallation) -> None:
    file = installation.engine.file
    job_type = JobType(uuid=new_id(START), name="of-file", executor="log")
    nightly = ScheduleRequest(name="nightly", job_type="of-file", cron="30 2 * * *")
    file.apply(Wanted((), (job_type,), (nightly,)))
    before = installation.schedules.find("nightly")

    file.apply(Wanted((), (job_type,), (structs.replace(nightly, priority=2),)))

    assert (before.state.version, installation.schedules.find("nightly").state.version) == (1, 2)
    refuse(installation, before)


def test_what_changes_nothing_is_no_new_version(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *")

    installation.schedules.run_now(uuid)
    installation.schedules.resume(uuid)
    installation.backfills.preview(uuid, RANGE)
    installation.tick()

    assert installation.schedules.find(uuid).state.version == 1


def test_a_change_that_lost_against_a_tick_is_made_upon_the_newer_state(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow")
    other, faults = slow_ticker(installation)
    faults.before("put_schedules", lambda: installation.pass_time(MINUTE))

    changed = other.schedules.pause(uuid, "a note")

    assert (changed.state.version, changed.state.runs, changed.schedule.pause_note) == (3, 1, "a note")
    assert installation.schedules.find(uuid) == changed
    assert installation.fates(uuid) == ["fired"]


def test_a_row_for_what_an_edit_leaves_out_is_written_once_though_a_tick_was_faster(
    installation: SchedulesInstallation,
) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow", catch_up="all")
    other, faults = slow_ticker(installation)
    installation.clock.advance(3 * MINUTE)
    faults.before("put_schedules", lambda: tick_now(installation))

    other.schedules.replace(uuid, ScheduleRequest(job_type="report", cron="*/5 * * * *", overlap="allow"))

    assert installation.fates(uuid) == ["fired", "fired", "fired"]
    assert installation.schedules.find(uuid).state.counts == {"fired": 3}


def test_ticks_that_an_edit_leaves_out_have_their_row_in_the_step_that_makes_it(
    installation: SchedulesInstallation,
) -> None:
    """Nobody who dies after it leaves them without one."""
    uuid = installation.schedule(cron="* * * * *", overlap="allow", catch_up="all")
    other, faults = slow_ticker(installation)
    seen: list[list[str]] = []

    def look_and_tick() -> None:
        seen.append(installation.fates(uuid))
        installation.tick()

    installation.clock.advance(3 * MINUTE)
    faults.after("put_schedules", look_and_tick)
    edited = other.schedules.replace(uuid, ScheduleRequest(job_type="report", cron="*/5 * * * *", overlap="allow"))

    assert seen == [["missed:edited"]]
    assert edited.state.counts == {"missed:edited": 3}
    assert [(row.reason, row.count) for row in installation.rows(uuid)] == [("edited", 3)]
    assert installation.waiting() == 0


def test_an_edit_of_the_version_that_was_read_that_is_refused_leaves_the_ticks_to_the_ticker(
    installation: SchedulesInstallation,
) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow", catch_up="all")
    read = installation.schedules.find(uuid)
    other, faults = slow_ticker(installation)
    installation.clock.advance(3 * MINUTE)
    faults.before("put_schedules", lambda: backfill(installation, uuid))

    with pytest.raises(Conflict, match="is at version 2, not 1"):
        other.schedules.replace(uuid, ScheduleRequest(job_type="report", cron="0 * * * *"), expected=read.state.version)

    installation.tick()
    assert installation.fates(uuid) == ["fired"] * 3


@pytest.mark.parametrize("operation", ["append_audit", "put_schedules"])
def test_an_edit_that_the_store_did_not_take_leaves_the_ticks_to_the_ticker(
    installation: SchedulesInstallation, operation: str
) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow", catch_up="all")
    other, faults = slow_ticker(installation)
    installation.clock.advance(3 * MINUTE)
    faults.before(operation, away)

    with pytest.raises(StoreUnavailable):
        other.schedules.replace(uuid, ScheduleRequest(job_type="report", cron="*/5 * * * *"))

    installation.tick()
    assert installation.fates(uuid) == ["fired"] * 3


def test_a_change_that_loses_again_and_again_is_given_up_with_a_conflict(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * * *", overlap="allow")
    other, faults = slow_ticker(installation)
    faults.before("put_schedules", *[lambda: installation.pass_time(1_000)] * 5)

    with pytest.raises(Conflict, match="changes too often"):
        other.schedules.pause(uuid)

    assert not installation.schedules.find(uuid).schedule.paused
    assert faults.calls.count("put_schedules") == 5
    other.schedules.pause(uuid)
    assert installation.schedules.find(uuid).schedule.paused


def test_a_backfill_that_loses_again_and_again_is_given_up_with_a_conflict(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * * *", overlap="allow")
    other, faults = slow_ticker(installation)
    faults.before("put_schedules", *[lambda: installation.pass_time(1_000)] * 5)

    with pytest.raises(Conflict, match="changes too often"):
        other.backfills.start(uuid, BackfillRequest(start=FULL - 1_000, end=FULL))
    assert installation.schedules.find(uuid).state.backfills == ()

    made = other.backfills.start(uuid, BackfillRequest(start=FULL - 1_000, end=FULL)).backfill
    faults.before("put_schedules", *[lambda: installation.pass_time(1_000)] * 5)
    with pytest.raises(Conflict, match="changes too often"):
        other.backfills.cancel(uuid, made.id)
    assert installation.backfills.progress(uuid, made.id)["queued"] == 1


def test_an_edit_of_the_version_that_was_read_is_refused_when_a_tick_came_between(
    installation: SchedulesInstallation,
) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow")
    read = installation.schedules.find(uuid)
    other, faults = slow_ticker(installation)
    faults.before("put_schedules", lambda: installation.pass_time(MINUTE))
    wish = ScheduleRequest(job_type="report", cron="0 * * * *")

    with pytest.raises(Conflict, match="is at version 2, not 1"):
        other.schedules.replace(uuid, wish, expected=read.state.version)

    assert installation.schedules.find(uuid).schedule == read.schedule


def test_a_schedule_that_is_deleted_while_it_is_decided_makes_nothing(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *")
    slow, faults = slow_ticker(installation)

    installation.clock.advance(MINUTE)
    faults.before("fire_schedules", lambda: installation.schedules.delete(uuid))
    slow.tick()

    assert installation.waiting() == 0
    assert installation.rows(uuid) == []
    assert installation.store.find_schedules([uuid]) == [None]


# Backfills


def made_instants(installation: SchedulesInstallation) -> list[int]:
    jobs = installation.store.list_jobs(JobQuery(), limit=500).jobs
    return sorted((job.spec.cause.instant or 0) - FULL for job in jobs if job.spec.cause)


def test_backfills_of_the_same_range_at_once_make_each_job_once(
    installation: SchedulesInstallation, open_again: OpenStore
) -> None:
    uuid = installation.schedule(cron="* * * * *")
    others = [SchedulesInstallation(open_again(), ManualClock(START + number)) for number in range(4)]

    plans = in_threads(lambda number: others[number].backfills.start(uuid, RANGE), 4)

    assert len({plan.backfill.id for plan in plans}) == 1
    assert made_instants(installation) == [n * MINUTE for n in range(-9, 1)]
    assert [one.id for one in installation.schedules.find(uuid).state.backfills] == [plans[0].backfill.id]
    assert installation.store.read_totals(installation.queue).enqueued == 10


def test_backfills_of_overlapping_ranges_at_once_make_no_instant_twice(
    installation: SchedulesInstallation, open_again: OpenStore
) -> None:
    uuid = installation.schedule(cron="* * * * *")
    others = [SchedulesInstallation(open_again(), ManualClock(START)) for _ in range(2)]
    wishes = [RANGE, BackfillRequest(start=FULL - 5 * MINUTE, end=FULL)]

    plans = in_threads(lambda number: others[number].backfills.start(uuid, wishes[number]), 2)

    kept = installation.schedules.find(uuid).state
    assert {(one.id, one.count) for one in kept.backfills} == {
        (plans[0].backfill.id, 10),
        (plans[1].backfill.id, 5),
    }
    assert kept.version == 3
    assert sum(sum(installation.backfills.progress(uuid, one.backfill.id).values()) for one in plans) == 10
    assert made_instants(installation) == [n * MINUTE for n in range(-9, 1)]


def test_a_backfill_that_lost_against_a_tick_leaves_out_what_fired_meanwhile(
    installation: SchedulesInstallation,
) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow")
    other, faults = slow_ticker(installation)
    installation.clock.advance(MINUTE)
    faults.before("put_schedules", lambda: tick_now(installation))

    plan = other.backfills.start(uuid, BackfillRequest(start=FULL - MINUTE, end=FULL + MINUTE))

    assert [at - FULL for _, at in plan.instants] == [0]
    assert plan.already_fired == 1
    assert made_instants(installation) == [0, MINUTE]


def test_a_backfill_that_is_cancelled_while_its_jobs_are_made_leaves_none_of_them(
    installation: SchedulesInstallation,
) -> None:
    uuid = installation.schedule(cron="* * * * *")
    other, faults = slow_ticker(installation)
    backfill_id = installation.backfills.preview(uuid, RANGE).backfill.id

    def somebody_cancels_it() -> None:
        installation.backfills.cancel(uuid, backfill_id)

    faults.before("enqueue_jobs", somebody_cancels_it)

    other.backfills.start(uuid, RANGE)

    assert installation.backfills.progress(uuid, backfill_id)["cancelled"] == 10
    assert installation.claim() == []


def test_a_backfill_that_was_cut_short_is_completed_by_repeating_it(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *")
    other, faults = slow_ticker(installation)

    def die() -> None:
        raise KeyboardInterrupt

    faults.before("enqueue_jobs", die)
    with pytest.raises(KeyboardInterrupt):
        other.backfills.start(uuid, RANGE)
    assert made_instants(installation) == []

    installation.backfills.start(uuid, RANGE)

    assert made_instants(installation) == [n * MINUTE for n in range(-9, 1)]
    assert len(installation.schedules.find(uuid).state.backfills) == 1


def test_a_schedule_keeps_its_latest_ten_backfills(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *")
    made = []
    for number in range(1, 13):
        wish = BackfillRequest(start=FULL - (number + 1) * MINUTE, end=FULL - number * MINUTE)
        made.append(installation.backfills.start(uuid, wish).backfill.id)

    assert [one.id for one in installation.schedules.find(uuid).state.backfills] == made[2:]
