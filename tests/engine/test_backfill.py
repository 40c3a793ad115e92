"""Backfill: jobs for instants in the past, made once, in order, behind the live ones."""

import pytest
from msgspec import structs

from rota.clock import ManualClock
from rota.engine.backfill import BackfillRequest
from rota.errors import Conflict, InvalidInput, NotFound
from rota.model.job import Job, JobSpec, JobState
from rota.store import Store
from rota.store.store import JobQuery
from tests.engine.scheduling import FULL, MINUTE, World

pytestmark = pytest.mark.stores("sqlite-memory", "redis")

RANGE = BackfillRequest(start=FULL - 10 * MINUTE, end=FULL)


@pytest.fixture
def world(store: Store) -> World:
    world = World(store)
    world.job_type()
    return world


def jobs(world: World) -> list[Job]:
    found = world.store.list_jobs(JobQuery(), limit=500).jobs
    return sorted(found, key=lambda job: job.id)


def instants(world: World) -> list[int]:
    return [instant_of(job.spec) for job in jobs(world)]


def instant_of(spec: JobSpec) -> int:
    assert spec.cause is not None
    assert spec.cause.instant is not None
    return spec.cause.instant - FULL


def test_a_range_is_open_at_its_start_and_closed_at_its_end(world: World) -> None:
    world.schedule(name="s", cron="* * * * *")

    world.backfills.start("s", RANGE)

    assert instants(world) == [n * MINUTE for n in range(-9, 1)]


def test_a_preview_makes_nothing(world: World) -> None:
    world.schedule(name="s", cron="* * * * *")

    plan = world.backfills.preview("s", RANGE)

    assert [at for _, at in plan.instants][::9] == [FULL - 9 * MINUTE, FULL]
    assert jobs(world) == []
    assert world.schedules.find("s").state.backfills == ()


def test_its_jobs_run_one_after_another_in_order_and_after_the_live_ones(world: World) -> None:
    world.schedule(name="s", cron="* * * * *", overlap="allow")
    world.backfills.start("s", RANGE)
    world.pass_time(MINUTE)

    order = []
    for _ in range(3):
        claimed = world.claim()
        order.append([instant_of(claim.spec) for claim in claimed])
        for claim in claimed:
            world.end(claim)

    assert order[0] == [MINUTE, -9 * MINUTE]
    assert order[1:] == [[-8 * MINUTE], [-7 * MINUTE]]


def test_with_allow_all_of_them_run_at_once(world: World) -> None:
    world.schedule(name="s", cron="* * * * *")

    world.backfills.start("s", structs.replace(RANGE, overlap="allow"))

    assert len(world.claim()) == 10


def test_a_job_says_which_backfill_made_it(world: World) -> None:
    uuid = world.schedule(name="s", cron="* * * * *")

    made = world.backfills.start("s", RANGE).backfill

    causes = {(job.spec.cause.kind, job.spec.cause.name) for job in jobs(world) if job.spec.cause}
    assert causes == {("backfill", f"{uuid}:{made.id}")}


def test_repeating_it_makes_no_job_twice(world: World) -> None:
    world.schedule(name="s", cron="* * * * *")

    first = world.backfills.start("s", RANGE)
    world.clock.advance(1)
    again = world.backfills.start("s", RANGE)

    assert again.backfill.id == first.backfill.id
    assert len(jobs(world)) == 10


def test_instants_that_fired_are_left_out_unless_it_is_forced(world: World) -> None:
    world.schedule(name="s", cron="* * * * *", overlap="allow")
    world.pass_time(3 * MINUTE)
    wish = BackfillRequest(start=FULL - 2 * MINUTE, end=FULL + 3 * MINUTE)

    plan = world.backfills.preview("s", wish)
    forced = world.backfills.preview("s", structs.replace(wish, force=True))

    assert (len(plan.instants), plan.already_fired) == (2, 3)
    assert (len(forced.instants), forced.already_fired) == (5, 0)


def test_excluded_days_stay_excluded(world: World) -> None:
    world.schedule(name="s", cron="0 12 * * *", exclude=["2023-11-12"])

    plan = world.backfills.preview("s", BackfillRequest(start="2023-11-10", end="2023-11-14"))

    assert (len(plan.instants), plan.excluded) == (3, 1)


def test_it_leaves_the_schedule_where_it_was(world: World) -> None:
    world.schedule(name="s", cron="* * * * *")
    before = world.schedules.find("s").state

    world.backfills.start("s", RANGE)

    after = world.schedules.find("s").state
    assert (after.cursor, after.due, after.runs, after.counts) == (before.cursor, before.due, before.runs, {})


def test_progress_counts_its_jobs_by_state(world: World) -> None:
    world.schedule(name="s", cron="* * * * *")
    made = world.backfills.start("s", RANGE).backfill
    world.end(world.claim()[0])
    world.claim()

    progress = world.backfills.progress("s", made.id)

    assert {state: count for state, count in progress.items() if count} == {"succeeded": 1, "running": 1, "queued": 8}


def test_cancelling_it_ends_what_has_not_ended(world: World) -> None:
    world.schedule(name="s", cron="* * * * *")
    made = world.backfills.start("s", RANGE).backfill
    world.end(world.claim()[0])

    assert world.backfills.cancel("s", made.id) == 9

    assert world.backfills.progress("s", made.id)[JobState.CANCELLED] == 9
    with pytest.raises(Conflict, match="cancelled"):
        world.backfills.start("s", RANGE)


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({"start": FULL, "end": FULL}, "end"),
        ({"start": FULL, "end": FULL + 60 * MINUTE}, "end"),
        ({"start": "yesterday", "end": FULL}, "start"),
        ({"start": FULL - 2_000 * MINUTE, "end": FULL}, "max"),
        ({"start": FULL - MINUTE, "end": FULL, "max": 10_001}, "max"),
        ({"start": FULL - MINUTE, "end": FULL, "overlap": "skip"}, "overlap"),
        ({"start": FULL - MINUTE, "end": FULL, "priority": 10**6}, "priority"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_names_the_field(world: World, wish: dict[str, object], field: str) -> None:
    world.schedule(name="s", cron="* * * * *")

    with pytest.raises(InvalidInput, match=rf"^{field}"):
        world.backfills.start("s", BackfillRequest(**wish))  # type: ignore[arg-type]

    assert jobs(world) == []


def test_an_interval_since_the_last_job_has_no_past(world: World) -> None:
    world.schedule(name="s", interval=60_000)

    with pytest.raises(InvalidInput, match="no times in the past"):
        world.backfills.start("s", RANGE)


def test_an_unknown_backfill_is_not_found(world: World) -> None:
    world.schedule(name="s", cron="* * * * *")

    with pytest.raises(NotFound, match="backfill"):
        world.backfills.progress("s", "nothing")


def test_a_thousand_jobs_and_more_are_made_in_order(world: World) -> None:
    world.schedule(name="s", cron="* * * * *")

    world.backfills.start("s", BackfillRequest(start=FULL - 5_000 * MINUTE, end=FULL, max=5_000))

    (claimed,) = world.claim()
    assert claimed.spec.cause is not None
    assert claimed.spec.cause.instant == FULL - 4_999 * MINUTE
    assert world.waiting() == 4_999


def test_what_the_store_has_yet_to_see_is_not_past_for_a_clock_that_is_ahead(store: Store) -> None:
    real = store.now()
    world = World(store, ManualClock(real + 10 * MINUTE))
    world.job_type()
    uuid = world.schedule(cron="* * * * *")

    with pytest.raises(InvalidInput, match="not in the past"):
        world.backfills.preview(uuid, BackfillRequest(start=real - 5 * MINUTE, end=real + 5 * MINUTE))
