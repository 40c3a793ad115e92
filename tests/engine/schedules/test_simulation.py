"""What would fire, on a clock that runs ahead: the same rules, and nothing is stored."""

from msgspec import structs

from rota.engine.schedules.simulation import simulate
from rota.model.schedules.schedule import Overlap, Schedule, ScheduleState
from rota.model.triggers.interval import Anchor
from rota.model.triggers.trigger import CronTrigger, IntervalTrigger, Trigger
from rota.store.contract.schedules import ScheduleEntry
from tests.model.triggers.instants import ms

EIGHT = ms("2026-05-01T08:00")
MINUTE, HOUR = 60_000, 3_600_000
EACH_MINUTE = CronTrigger(cron="* * * * *")


def entry(trigger: Trigger, name: str = "s", state: ScheduleState | None = None, **fields: object) -> ScheduleEntry:
    given: dict[str, object] = {"uuid": name, "name": name, "trigger": trigger, "queue": "q", "job_type": "t"}
    schedule = Schedule(**given | {"created_at": EIGHT} | fields)  # type: ignore[arg-type]
    return ScheduleEntry(schedule, state or ScheduleState(cursor=EIGHT - 1))


def told(*entries: ScheduleEntry, start: int = 0, end: int, job_ms: int = 0) -> list[tuple[int, str, str]]:
    """Milliseconds after eight, whose, and what became of it."""
    ticks = simulate(entries, EIGHT + start, EIGHT + end, job_ms=job_ms)
    return [(one.at - EIGHT, one.schedule.name, f"{one.tick.status}:{one.tick.reason}".rstrip(":")) for one in ticks]


def test_both_ends_of_the_time_are_part_of_it() -> None:
    one = entry(EACH_MINUTE)

    assert told(one, end=2 * MINUTE) == [(0, "s", "fired"), (MINUTE, "s", "fired"), (2 * MINUTE, "s", "fired")]
    assert told(one, start=1, end=2 * MINUTE - 1) == [(MINUTE, "s", "fired")]


def test_ticks_of_several_schedules_come_in_the_order_of_their_times() -> None:
    other = entry(CronTrigger(cron="30 * * * * *"), "other")

    assert told(entry(EACH_MINUTE), other, start=1, end=2 * MINUTE) == [
        (30_000, "other", "fired"),
        (60_000, "s", "fired"),
        (90_000, "other", "fired"),
        (120_000, "s", "fired"),
    ]


def test_jobs_are_alive_for_as_long_as_they_are_said_to_run() -> None:
    one = entry(EACH_MINUTE)

    assert [fate for _, _, fate in told(one, end=3 * MINUTE, job_ms=MINUTE)] == ["fired"] * 4
    assert [fate for _, _, fate in told(one, end=3 * MINUTE, job_ms=MINUTE + 1)] == [
        "fired",
        "skipped:overlap",
        "fired",
        "skipped:overlap",
    ]


def test_one_job_may_wait_where_the_policy_says_so() -> None:
    one = entry(EACH_MINUTE, overlap=Overlap.BUFFER_ONE)

    fates = [fate for _, _, fate in told(one, end=4 * MINUTE, job_ms=10 * MINUTE)]

    assert fates == ["fired", "fired", "skipped:overlap", "skipped:overlap", "skipped:overlap"]


def test_a_pause_between_runs_is_counted_from_the_end_of_a_simulated_job() -> None:
    one = entry(IntervalTrigger(every_ms=MINUTE, anchor=Anchor.ENDED))

    assert [at for at, _, _ in told(one, end=7 * MINUTE, job_ms=90_000)] == [0, 150_000, 300_000]
    assert [at for at, _, _ in told(one, end=2 * MINUTE)] == [0, MINUTE, 2 * MINUTE]


def test_a_pause_between_runs_comes_to_an_end_with_the_runs_to_count() -> None:
    one = entry(IntervalTrigger(every_ms=MINUTE, anchor=Anchor.ENDED), max_runs=2)

    assert [at for at, _, _ in told(one, end=HOUR, job_ms=90_000)] == [0, 150_000]


def test_a_paused_schedule_and_one_that_ran_often_enough_do_nothing() -> None:
    over = ScheduleState(cursor=EIGHT - 1, runs=3)

    assert told(entry(EACH_MINUTE, paused=True), end=HOUR) == []
    assert told(entry(EACH_MINUTE, state=over, max_runs=3), end=HOUR) == []
    assert len(told(entry(EACH_MINUTE, state=over, max_runs=5), end=HOUR)) == 2


def test_a_range_that_is_over_is_told_from_its_beginning() -> None:
    come_far = ScheduleState(cursor=EIGHT + 5 * MINUTE, runs=3, last_scheduled_at=EIGHT + 5 * MINUTE)
    once_a_day = entry(EACH_MINUTE, state=come_far, max_runs=3)

    assert [at for at, _, _ in told(once_a_day, end=7 * MINUTE)] == [0, MINUTE, 2 * MINUTE]


def test_an_interval_is_told_in_the_past_as_if_it_had_been_there() -> None:
    come_far = ScheduleState(cursor=EIGHT + 5 * HOUR, last_scheduled_at=EIGHT + 5 * HOUR)
    young = entry(IntervalTrigger(every_ms=MINUTE), state=come_far, created_at=EIGHT + 4 * HOUR)

    assert [at for at, _, _ in told(young, end=2 * MINUTE)] == [MINUTE, 2 * MINUTE]


def test_what_passed_before_the_time_is_not_caught_up_for() -> None:
    long_ago = ScheduleState(cursor=EIGHT - 24 * HOUR)

    assert told(entry(EACH_MINUTE, state=long_ago), end=MINUTE) == [(0, "s", "fired"), (MINUTE, "s", "fired")]


def test_jobs_that_are_alive_now_are_not_alive_in_the_simulation() -> None:
    one = entry(EACH_MINUTE, state=ScheduleState(cursor=EIGHT - 1, jobs=("a",)))

    assert told(structs.replace(one, live_jobs=("a",)), end=0) == [(0, "s", "fired")]


def test_a_tick_is_told_when_its_jitter_makes_it_due() -> None:
    jittered = entry(CronTrigger(cron="0 * * * *", jitter_ms=10 * MINUTE))

    (one,) = simulate([jittered], EIGHT + 1, EIGHT + 90 * MINUTE)

    assert (one.tick.nominal, one.at) == (EIGHT + HOUR, EIGHT + HOUR + 540_971)
