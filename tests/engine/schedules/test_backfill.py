"""Backfill: jobs for instants in the past, made once, in order, behind the live ones."""

import pytest
from msgspec import structs

from rota.clock import ManualClock
from rota.engine.schedules.backfill import BackfillRequest
from rota.errors import Conflict, InvalidInput, NotFound
from rota.model.ids import is_id, numbered_id
from rota.model.job import Cause, Job, JobSpec, JobState
from rota.model.job_type import Unique
from rota.model.schedules.request import ScheduleRequest
from rota.model.schedules.schedule import Backfill, Overlap, Tick, TickStatus
from rota.store import Store
from rota.store.contract.jobs import JobQuery
from rota.store.contract.schedules import Firing, ScheduleChange, ScheduleEntry
from tests.engine.schedules.installation import FULL, MINUTE, SchedulesInstallation

pytestmark = pytest.mark.stores("sqlite-memory", "redis")

RANGE = BackfillRequest(start=FULL - 10 * MINUTE, end=FULL)


@pytest.fixture
def installation(store: Store) -> SchedulesInstallation:
    installation = SchedulesInstallation(store)
    installation.define()
    return installation


def jobs(installation: SchedulesInstallation) -> list[Job]:
    found = installation.store.list_jobs(JobQuery(), limit=500).jobs
    return sorted(found, key=lambda job: job.id)


def instants(installation: SchedulesInstallation) -> list[int]:
    return [instant_of(job.spec) for job in jobs(installation)]


def instant_of(spec: JobSpec) -> int:
    assert spec.cause is not None
    assert spec.cause.instant is not None
    return spec.cause.instant - FULL


def test_a_range_is_open_at_its_start_and_closed_at_its_end(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *")

    installation.backfills.start("s", RANGE)

    assert instants(installation) == [n * MINUTE for n in range(-9, 1)]


def test_a_preview_makes_nothing(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *")

    plan = installation.backfills.preview("s", RANGE)

    assert [at for _, at in plan.instants][::9] == [FULL - 9 * MINUTE, FULL]
    assert jobs(installation) == []
    assert installation.schedules.find("s").state.backfills == ()


def test_its_jobs_run_one_after_another_in_order_and_after_the_live_ones(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *", overlap="allow")
    installation.backfills.start("s", RANGE)
    installation.pass_time(MINUTE)

    order = []
    for _ in range(3):
        claimed = installation.claim()
        order.append([instant_of(claim.spec) for claim in claimed])
        for claim in claimed:
            installation.end(claim)

    assert order[0] == [MINUTE, -9 * MINUTE]
    assert order[1:] == [[-8 * MINUTE], [-7 * MINUTE]]


def test_with_allow_all_of_them_run_at_once(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *")

    installation.backfills.start("s", structs.replace(RANGE, overlap="allow"))

    assert len(installation.claim()) == 10


def test_a_job_says_which_backfill_made_it(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(name="s", cron="* * * * *")

    made = installation.backfills.start("s", RANGE).backfill

    causes = {(job.spec.cause.kind, job.spec.cause.name) for job in jobs(installation) if job.spec.cause}
    assert causes == {("backfill", f"{uuid}:{made.id}")}


def test_a_longer_range_makes_only_the_new_instants(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *")
    installation.backfills.start("s", RANGE)

    longer = installation.backfills.start("s", structs.replace(RANGE, start=FULL - 12 * MINUTE))
    repeated = installation.backfills.start("s", structs.replace(RANGE, start=FULL - 12 * MINUTE))
    within = installation.backfills.start("s", structs.replace(RANGE, end=FULL - 5 * MINUTE))

    assert [at - FULL for _, at in longer.instants] == [-11 * MINUTE, -10 * MINUTE]
    assert [(len(one.instants), one.already_made) for one in (longer, repeated, within)] == [(2, 10), (0, 12), (0, 5)]
    assert instants(installation) == [n * MINUTE for n in range(-11, 1)]


def test_each_backfill_counts_and_cancels_only_what_it_made(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *")
    first = installation.backfills.start("s", RANGE).backfill
    longer = installation.backfills.start("s", structs.replace(RANGE, start=FULL - 12 * MINUTE)).backfill
    edited = ScheduleRequest(job_type="report", name="s", cron="0 0 1 1 *")
    installation.schedules.replace("s", edited)

    made = [sum(installation.backfills.progress("s", one.id).values()) for one in (first, longer)]

    assert made == [10, 2]
    assert installation.backfills.cancel("s", longer.id) == 2
    assert installation.backfills.cancel("s", first.id) == 10


def test_repeating_it_makes_no_job_twice(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *")

    first = installation.backfills.start("s", RANGE)
    installation.clock.advance(1)
    again = installation.backfills.start("s", RANGE)

    assert again.backfill.id == first.backfill.id
    assert len(jobs(installation)) == 10


def test_instants_that_fired_are_left_out_unless_it_is_forced(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *", overlap="allow")
    installation.pass_time(3 * MINUTE)
    wish = BackfillRequest(start=FULL - 2 * MINUTE, end=FULL + 3 * MINUTE)

    plan = installation.backfills.preview("s", wish)
    forced = installation.backfills.preview("s", structs.replace(wish, force=True))

    assert (len(plan.instants), plan.already_fired) == (2, 3)
    assert (len(forced.instants), forced.already_fired) == (5, 0)


def test_excluded_days_stay_excluded(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="0 12 * * *", exclude=["2023-11-12"])

    plan = installation.backfills.preview("s", BackfillRequest(start="2023-11-10", end="2023-11-14"))

    assert (len(plan.instants), plan.excluded) == (3, 1)


def test_it_leaves_the_schedule_where_it_was(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *")
    before = installation.schedules.find("s").state

    installation.backfills.start("s", RANGE)

    after = installation.schedules.find("s").state
    assert (after.cursor, after.due, after.runs, after.counts) == (before.cursor, before.due, before.runs, {})


def test_progress_counts_its_jobs_by_state(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *")
    made = installation.backfills.start("s", RANGE).backfill
    installation.end(installation.claim()[0])
    installation.claim()

    progress = installation.backfills.progress("s", made.id)

    assert {state: count for state, count in progress.items() if count} == {"succeeded": 1, "running": 1, "queued": 8}


def test_cancelling_it_ends_what_has_not_ended(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *")
    made = installation.backfills.start("s", RANGE).backfill
    installation.end(installation.claim()[0])

    assert installation.backfills.cancel("s", made.id) == 9

    assert installation.backfills.progress("s", made.id)[JobState.CANCELLED] == 9
    with pytest.raises(Conflict, match="cancelled"):
        installation.backfills.start("s", RANGE)


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({"start": FULL, "end": FULL}, "end"),
        ({"start": FULL, "end": FULL + 60 * MINUTE}, "end"),
        ({"start": "yesterday", "end": FULL}, "start"),
        ({"start": FULL - 2_000 * MINUTE, "end": FULL}, "max"),
        ({"start": FULL - MINUTE, "end": FULL, "max": 10_001}, "max"),
        ({"start": FULL - MINUTE + 1, "end": FULL - 1, "max": 0}, "max"),
        ({"start": FULL - MINUTE, "end": FULL, "overlap": "skip"}, "overlap"),
        ({"start": FULL - MINUTE, "end": FULL, "priority": 10**6}, "priority"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_names_the_field(
    installation: SchedulesInstallation, wish: dict[str, object], field: str
) -> None:
    installation.schedule(name="s", cron="* * * * *")

    with pytest.raises(InvalidInput, match=rf"^{field}"):
        installation.backfills.start("s", BackfillRequest(**wish))  # type: ignore[arg-type]

    assert jobs(installation) == []


def test_an_interval_since_the_last_job_has_no_past(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", interval=60_000)

    with pytest.raises(InvalidInput, match="no times in the past"):
        installation.backfills.start("s", RANGE)


def test_an_unknown_backfill_is_not_found(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *")

    with pytest.raises(NotFound, match="backfill"):
        installation.backfills.progress("s", "nothing")


def test_a_thousand_jobs_and_more_are_made_in_order(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *")

    installation.backfills.start("s", BackfillRequest(start=FULL - 5_000 * MINUTE, end=FULL, max=5_000))

    (claimed,) = installation.claim()
    assert claimed.spec.cause is not None
    assert claimed.spec.cause.instant == FULL - 4_999 * MINUTE
    assert installation.waiting() == 4_999


def test_what_the_store_has_yet_to_see_is_not_past_for_a_clock_that_is_ahead(store: Store) -> None:
    real = store.now()
    installation = SchedulesInstallation(store, ManualClock(real + 10 * MINUTE))
    installation.define()
    uuid = installation.schedule(cron="* * * * *")

    with pytest.raises(InvalidInput, match="not in the past"):
        installation.backfills.preview(uuid, BackfillRequest(start=real - 5 * MINUTE, end=real + 5 * MINUTE))


def test_a_range_with_exactly_as_many_instants_as_it_may_have_is_made(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *")

    for most in (1, 10_000):
        installation.backfills.preview("s", BackfillRequest(start=FULL - MINUTE, end=FULL, max=most))
    with pytest.raises(InvalidInput, match=r"^max: the range has 10 instants, more than 9; "):
        installation.backfills.start("s", structs.replace(RANGE, max=9))
    installation.backfills.start("s", structs.replace(RANGE, max=10))

    assert len(jobs(installation)) == 10


def test_without_a_limit_of_its_own_a_range_has_a_thousand_instants_at_most(
    installation: SchedulesInstallation,
) -> None:
    installation.schedule(name="s", cron="* * * * *")

    assert (
        len(installation.backfills.preview("s", BackfillRequest(start=FULL - 1_000 * MINUTE, end=FULL)).instants)
        == 1_000
    )
    with pytest.raises(InvalidInput, match=r"^max: the range has 1001 instants"):
        installation.backfills.preview("s", BackfillRequest(start=FULL - 1_001 * MINUTE, end=FULL))


def test_a_range_may_end_now_and_not_later(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *")
    now = installation.clock.now()

    installation.backfills.preview("s", BackfillRequest(start=FULL - MINUTE, end=now))
    with pytest.raises(InvalidInput, match=r"^end: .* is not in the past"):
        installation.backfills.preview("s", BackfillRequest(start=FULL - MINUTE, end=now + 1))


def test_times_without_an_offset_are_those_of_the_schedules_zone(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="0 0 * * *", tz="Asia/Tokyo")

    plan = installation.backfills.preview("s", BackfillRequest(start="2023-11-10", end="2023-11-12"))

    at_midnight = [1_699_628_400_000, 1_699_714_800_000]
    assert [at for _, at in plan.instants] == at_midnight, "2023-11-11T00:00+09:00 and the day after"
    assert (plan.backfill.start, plan.backfill.end) == (at_midnight[0] - 1_440 * MINUTE, at_midnight[1])


def test_excluded_days_are_those_of_the_schedules_zone(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="0 */12 * * *", tz="Asia/Tokyo", exclude=["2023-11-11"])

    plan = installation.backfills.preview("s", BackfillRequest(start="2023-11-10", end="2023-11-12"))

    day = 1_440 * MINUTE
    noon_before, midnight_after = 1_699_628_400_000 - day // 2, 1_699_628_400_000 + day
    assert [at for _, at in plan.instants] == [noon_before, midnight_after]
    assert plan.excluded == 2


@pytest.mark.parametrize(
    ("own", "wish", "expected"),
    [(0, None, -100), (50, None, -50), (-9_950, None, -10_000), (0, 7, 7), (0, 10_000, 10_000), (3, 0, 0)],
)
def test_its_jobs_have_a_priority_below_the_live_ones_or_the_one_that_is_asked_for(
    installation: SchedulesInstallation, own: int, wish: int | None, expected: int
) -> None:
    installation.schedule(name="s", cron="* * * * *", priority=own)

    made = installation.backfills.start("s", BackfillRequest(start=FULL - MINUTE, end=FULL, priority=wish))

    assert made.backfill.priority == expected
    assert [job.spec.priority for job in jobs(installation)] == [expected]


def test_a_job_has_all_that_its_schedule_says_and_the_record_all_that_was_asked_for(
    installation: SchedulesInstallation,
) -> None:
    uuid = installation.schedule(name="s", cron="* * * * *", job_arguments={"a": 1})

    made = installation.backfills.start("s", structs.replace(RANGE, overlap="allow", force=True)).backfill

    (kept,) = installation.schedules.find("s").state.backfills
    assert kept == made
    assert made == Backfill(
        id=made.id,
        start=FULL - 10 * MINUTE,
        end=FULL,
        made_at=installation.clock.now(),
        count=10,
        overlap=Overlap.ALLOW,
        priority=-100,
        force=True,
        trigger=installation.schedules.find("s").schedule.trigger,
    )
    first = jobs(installation)[0].spec
    assert first == JobSpec(
        id=first.id,
        job_type=installation.definitions.job_type("report").uuid,
        queue=installation.queue,
        enqueued_at=installation.clock.now(),
        arguments={"a": 1},
        priority=-100,
        cause=Cause("backfill", f"{uuid}:{made.id}", FULL - 9 * MINUTE),
    )


def test_the_rules_of_the_job_type_hold_for_its_jobs(installation: SchedulesInstallation) -> None:
    installation.define("locked", unique=Unique.WHILE_RUNNING)
    installation.define("alone", unique=Unique.WHILE_PENDING)
    locked, alone = (installation.definitions.job_type(name).uuid for name in ("locked", "alone"))
    for name in ("locked", "alone"):
        installation.schedule(name=name, job_type=name, cron="* * * * *")

    ids = [installation.backfills.start(name, RANGE).backfill.id for name in ("locked", "alone")]

    made = [(job.spec.job_type, job.spec.lock_key, job.spec.unique_key) for job in jobs(installation)]
    assert made.count((locked, locked, None)) == 10
    assert made.count((alone, f"backfill:{ids[1]}", f"{alone}:{{}}")) == 1, "the others have the same key"


def test_it_tells_of_the_jobs_that_were_made_and_not_of_those_whose_unique_key_was_taken(
    installation: SchedulesInstallation,
) -> None:
    installation.define("alone", unique=Unique.WHILE_PENDING)
    installation.schedule(name="alone", job_type="alone", cron="* * * * *")

    made = [installation.backfills.start("alone", RANGE) for _ in range(2)]

    first = FULL - 9 * MINUTE
    assert [(plan.jobs, plan.first, plan.last, plan.already_made) for plan in made] == [
        (1, first, first, 0),
        (0, None, None, 1),
    ]
    assert len(jobs(installation)) == 1


def test_by_force_it_can_be_made_again_and_again(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *")
    forced = structs.replace(RANGE, force=True)
    made = [installation.backfills.start("s", RANGE).backfill.id]

    for _ in range(2):
        installation.clock.advance(1)
        made.append(installation.backfills.start("s", forced).backfill.id)

    assert len(set(made)) == 3
    assert instants(installation).count(0) == 3
    assert len(jobs(installation)) == 30


def test_another_range_is_another_backfill(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *")
    installation.schedule(name="other", cron="* * * * *")
    ranges = [RANGE, structs.replace(RANGE, start=FULL - 9 * MINUTE), structs.replace(RANGE, end=FULL - MINUTE)]

    ids = [installation.backfills.preview("s", one).backfill.id for one in ranges]
    ids.append(installation.backfills.preview("other", RANGE).backfill.id)

    assert len(set(ids)) == 4


def test_the_same_range_of_other_times_is_another_backfill(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="*/5 * * * *")
    before = installation.backfills.start("s", RANGE)
    installation.schedules.replace("s", ScheduleRequest(job_type="report", name="s", cron="*/2 * * * *"))

    after = installation.backfills.start("s", RANGE)

    one, other = before.backfill.id, after.backfill.id
    assert one != other
    assert (before.jobs, after.jobs, after.already_made) == (2, 4, 1)
    assert [sum(installation.backfills.progress("s", id).values()) for id in (one, other)] == [2, 4]
    assert installation.backfills.cancel("s", other) == 4
    assert installation.waiting() == 2


def test_times_that_come_back_are_the_same_backfill(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="*/5 * * * *")
    first = installation.backfills.start("s", RANGE).backfill
    for cron in ("*/2 * * * *", "*/5 * * * *"):
        installation.schedules.replace("s", ScheduleRequest(job_type="report", name="s", cron=cron, priority=4))

    again = installation.backfills.start("s", RANGE)

    assert (again.backfill.id, again.jobs) == (first.id, 0)
    assert installation.schedules.find("s").state.backfills == (first,)


def test_cancelling_it_twice_cancels_nothing_more(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *")
    made = installation.backfills.start("s", RANGE).backfill

    assert [installation.backfills.cancel("s", made.id) for _ in range(2)] == [10, 0]

    (kept,) = installation.schedules.find("s").state.backfills
    assert kept == structs.replace(made, cancelled=True)
    assert installation.schedules.find("s").state.version == 3


def test_however_many_jobs_it_has_all_are_cancelled(
    installation: SchedulesInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.engine.schedules.backfill._BATCH", 3)
    installation.schedule(name="s", cron="* * * * *")
    made = installation.backfills.start("s", RANGE).backfill

    assert installation.backfills.cancel("s", made.id) == 10

    assert {job.state for job in jobs(installation)} == {JobState.CANCELLED}


def test_one_that_an_older_version_recorded_is_counted_and_cancelled(installation: SchedulesInstallation) -> None:
    """Its record does not have the times that the schedule had, and its jobs are numbered."""
    uuid = installation.schedule(name="s", cron="* * * * *")
    record = Backfill(id="0a1b", start=FULL - 3 * MINUTE, end=FULL, made_at=FULL, count=3, overlap=Overlap.ALLOW)
    entry = installation.schedules.find(uuid)
    state = structs.replace(entry.state, version=2, backfills=(record,))
    assert installation.store.put_schedules([ScheduleChange(entry.schedule, state, 1)]) == [True]
    for number in range(record.count):
        job_id = numbered_id(record.end, f"backfill {record.id}", number)
        installation.enqueue(id=job_id, cause=Cause("backfill", f"{uuid}:{record.id}"))

    before = installation.backfills.progress("s", record.id)
    cancelled = installation.backfills.cancel("s", record.id)

    assert (before["queued"], cancelled) == (3, 3)
    assert {job.state for job in jobs(installation)} == {JobState.CANCELLED}


def test_cancelling_one_leaves_the_others_alone(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *")
    first = installation.backfills.start("s", BackfillRequest(start=FULL - 3 * MINUTE, end=FULL)).backfill
    second = installation.backfills.start("s", BackfillRequest(start=FULL - 5 * MINUTE, end=FULL - 3 * MINUTE)).backfill

    assert installation.backfills.cancel("s", second.id) == 2

    assert installation.backfills.progress("s", first.id)["queued"] == 3
    assert {one.id: one.cancelled for one in installation.schedules.find("s").state.backfills} == {
        first.id: False,
        second.id: True,
    }


def test_it_says_since_when_it_is_known_what_fired(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(name="s", cron="* * * * *", overlap="allow")
    entry = installation.schedules.find(uuid)
    rows = tuple(Tick(nominal=FULL + n * MINUTE, status=TickStatus.FIRED, decided_at=FULL) for n in range(1, 1_001))
    fire(installation, entry, rows[1:])
    installation.clock.set(FULL + 2_000 * MINUTE)
    wish = BackfillRequest(start=FULL, end=FULL + 10 * MINUTE)

    of_999 = installation.backfills.preview("s", wish)
    fire(installation, installation.schedules.find(uuid), rows[:1])
    of_1000 = installation.backfills.preview("s", wish)
    younger = installation.backfills.preview("s", structs.replace(wish, start=FULL + MINUTE))
    created_at = entry.schedule.created_at
    older = installation.backfills.preview("s", BackfillRequest(start=created_at - 10 * MINUTE, end=created_at))
    fire(installation, installation.schedules.find(uuid), rows[1_000:])
    of_1200 = installation.backfills.preview("s", wish)

    assert (of_999.known_from, of_999.already_fired, len(of_999.instants)) == (None, 9, 1)
    assert (of_1000.known_from, of_1000.already_fired, len(of_1000.instants)) == (FULL + MINUTE, 10, 0)
    assert younger.known_from is None
    assert older.known_from is None, "before the schedule was made there was nothing to know"
    assert (of_1200.already_fired, len(of_1200.instants)) == (10, 0), "rows are not forgotten at once"


def fire(installation: SchedulesInstallation, entry: ScheduleEntry, rows: tuple[Tick, ...]) -> None:
    state = structs.replace(entry.state, version=entry.state.version + 1)
    decided = Firing(entry.schedule, entry.state.version, state, rows)
    assert installation.store.fire_schedules(installation.queue, [decided], now=FULL) == [True]


def test_only_ticks_that_fired_count_as_fired(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *")
    installation.pass_time(3 * MINUTE)

    plan = installation.backfills.preview("s", BackfillRequest(start=FULL, end=FULL + 3 * MINUTE))

    assert installation.fates(installation.schedules.find("s").schedule.uuid) == [
        "fired",
        "skipped:overlap",
        "skipped:overlap",
    ]
    assert ([at - FULL for _, at in plan.instants], plan.already_fired) == ([2 * MINUTE, 3 * MINUTE], 1)


def test_what_was_made_by_force_is_counted_and_cancelled_and_nothing_else(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *")
    first = installation.backfills.start("s", RANGE).backfill
    forced = installation.backfills.start("s", structs.replace(RANGE, force=True)).backfill

    cancelled = installation.backfills.cancel("s", forced.id)

    assert cancelled == 10
    assert installation.backfills.progress("s", forced.id)["cancelled"] == 10
    assert installation.backfills.progress("s", first.id)["queued"] == 10


def test_a_schedule_keeps_its_latest_ten_backfills(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *")
    ends = [FULL - n * MINUTE for n in range(11)]

    made = [installation.backfills.start("s", BackfillRequest(start=end - 1, end=end)).backfill for end in ends]

    assert installation.schedules.find("s").state.backfills == tuple(made[1:])
    with pytest.raises(NotFound):
        installation.backfills.find("s", made[0].id)


def test_instants_before_1970_can_be_made_up_for_too(installation: SchedulesInstallation) -> None:
    installation.schedule(name="s", cron="* * * * *")
    wish = BackfillRequest(start=-3 * MINUTE, end=MINUTE)

    plan = installation.backfills.start("s", wish)

    assert [at for _, at in plan.instants] == [n * MINUTE for n in range(-2, 2)]
    assert [at + FULL for at in instants(installation)] != []
    assert all(is_id(job.id) for job in jobs(installation))
    assert installation.backfills.preview("s", wish).already_made == 4
