"""What is fired after a gap, and that everything else is accounted for."""

import time
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.errors import InvalidInput
from rota.model.triggers.catch_up import CatchUp, CatchUpMode, CatchUpPlan, Missed, MissedReason, plan_catch_up
from rota.model.triggers.interval import Anchor, TimeUnit
from rota.model.triggers.trigger import (
    CronTrigger,
    FrequencyTrigger,
    IntervalTrigger,
    OnceTrigger,
    Progress,
    Trigger,
    count_nominals,
    due_at,
    next_nominal,
    nominals_between,
)
from tests.model.triggers.instants import ms, show, show_same

HOURLY = CronTrigger(cron="0 * * * *")
CURSOR = ms("2026-05-01T08:00")
PROGRESS = Progress(schedule="s", created_at=ms("2026-01-01"))
HOUR = 3_600_000


def plan(
    trigger: Trigger, now: str, policy: CatchUp, live_after: int | None = None, excluded: tuple[str, ...] = ()
) -> CatchUpPlan:
    return plan_catch_up(
        trigger, PROGRESS, cursor=CURSOR, now=ms(now), policy=policy, live_after=live_after, excluded=excluded
    )


def missed(reason: MissedReason, count: int, first: str, last: str) -> Missed:
    return Missed(reason, count, ms(first), ms(last))


def test_a_tick_on_time_is_fired_in_every_mode() -> None:
    for mode in CatchUpMode:
        decided = plan(HOURLY, "2026-05-01T09:00:00.050", CatchUp(mode=mode))

        nine = ms("2026-05-01T09:00")
        assert decided == CatchUpPlan((nine,), (), nine, nine + HOUR)


def test_nothing_due_changes_nothing() -> None:
    decided = plan(HOURLY, "2026-05-01T08:59:59.999", CatchUp())

    assert decided == CatchUpPlan((), (), CURSOR, CURSOR + HOUR)


def test_a_clock_set_back_fires_nothing_and_keeps_the_cursor() -> None:
    decided = plan(HOURLY, "2026-04-01", CatchUp(mode=CatchUpMode.ALL))

    assert decided == CatchUpPlan((), (), CURSOR, CURSOR + HOUR)


def test_none_leaves_out_what_is_past_in_one_row() -> None:
    decided = plan(HOURLY, "2026-05-01T12:30", CatchUp(mode=CatchUpMode.NONE))

    assert decided.fires == ()
    assert decided.missed == (missed(MissedReason.NO_CATCH_UP, 4, "2026-05-01T09:00", "2026-05-01T12:00"),)
    assert decided.cursor == ms("2026-05-01T12:00")


def test_none_still_fires_the_latest_when_it_is_hardly_late() -> None:
    decided = plan(HOURLY, "2026-05-01T12:00:05", CatchUp(mode=CatchUpMode.NONE))

    assert show(decided.fires) == show_same(["2026-05-01T12:00"])
    assert decided.missed == (missed(MissedReason.NO_CATCH_UP, 3, "2026-05-01T09:00", "2026-05-01T11:00"),)


def test_last_fires_the_latest_and_names_those_before_it() -> None:
    decided = plan(HOURLY, "2026-05-01T12:30", CatchUp(mode=CatchUpMode.LAST))

    assert show(decided.fires) == show_same(["2026-05-01T12:00"])
    assert decided.missed == (missed(MissedReason.SUPERSEDED, 3, "2026-05-01T09:00", "2026-05-01T11:00"),)


def test_last_fires_nothing_that_is_older_than_the_window() -> None:
    daily = CronTrigger(cron="0 9 * * *")

    decided = plan(daily, "2026-05-03T08:00", CatchUp(window_ms=HOUR))

    assert decided == CatchUpPlan(
        (),
        (missed(MissedReason.OUTSIDE_WINDOW, 2, "2026-05-01T09:00", "2026-05-02T09:00"),),
        ms("2026-05-02T09:00"),
        ms("2026-05-03T09:00"),
    )


def test_a_tick_exactly_as_old_as_the_window_is_within_it() -> None:
    decided = plan(HOURLY, "2026-05-01T10:00", CatchUp(mode=CatchUpMode.ALL, window_ms=HOUR))

    assert show(decided.fires) == show_same(["2026-05-01T09:00", "2026-05-01T10:00"])


def test_all_fires_each_within_the_window_oldest_first() -> None:
    decided = plan(HOURLY, "2026-05-01T14:30", CatchUp(mode=CatchUpMode.ALL, window_ms=3 * HOUR))

    assert show(decided.fires) == show_same([f"2026-05-01T{hour}:00" for hour in (12, 13, 14)])
    assert decided.missed == (missed(MissedReason.OUTSIDE_WINDOW, 3, "2026-05-01T09:00", "2026-05-01T11:00"),)


def test_all_drops_the_oldest_over_the_cap() -> None:
    policy = CatchUp(mode=CatchUpMode.ALL, window_ms=4 * HOUR, max_fires=2)

    decided = plan(HOURLY, "2026-05-01T14:30", policy)

    assert show(decided.fires) == show_same(["2026-05-01T13:00", "2026-05-01T14:00"])
    assert set(decided.missed) == {
        missed(MissedReason.OUTSIDE_WINDOW, 2, "2026-05-01T09:00", "2026-05-01T10:00"),
        missed(MissedReason.OVER_CAP, 2, "2026-05-01T11:00", "2026-05-01T12:00"),
    }


@pytest.mark.parametrize("mode", [CatchUpMode.NONE, CatchUpMode.LAST])
def test_ticks_while_a_scheduler_was_watching_are_all_fired(mode: CatchUpMode) -> None:
    every_second = CronTrigger(cron="* * * * * *")
    now = "2026-05-01T08:01:02.500"

    decided = plan(every_second, now, CatchUp(mode=mode), live_after=ms(now) - 3_000)

    assert show(decided.fires) == show_same([f"2026-05-01T08:01:0{second}" for second in (0, 1, 2)])
    assert [row.count for row in decided.missed] == [59]


@pytest.mark.parametrize(
    ("now", "excluded"),
    [
        ("2026-05-02T00:30", ("2026-05-02",)),
        ("2026-05-04T12:30", ("2026-05-02", "2026-05-03", "2026-05-04")),
        ("2026-05-04T12:30", ("2026-05-02", "2026-05-03", "2026-05-04", "2026-05-05")),
    ],
)
def test_last_fires_the_latest_that_no_day_takes_and_names_those_after_it(now: str, excluded: tuple[str, ...]) -> None:
    decided = plan(HOURLY, now, CatchUp(window_ms=None), excluded=excluded)

    assert show(decided.fires) == show_same(["2026-05-01T23:00"])
    assert decided.missed == (missed(MissedReason.SUPERSEDED, 14, "2026-05-01T09:00", "2026-05-01T22:00"),)
    latest = ms(now) - 30 * 60_000
    count = (latest - ms("2026-05-01T23:00")) // HOUR
    assert decided.excluded == Missed(MissedReason.EXCLUDED, count, ms("2026-05-02T00:00"), latest)
    assert (decided.cursor, decided.following) == (latest, latest + HOUR)


def test_last_goes_back_over_excluded_days_only_where_it_must() -> None:
    decided = plan(HOURLY, "2026-05-05T12:30", CatchUp(window_ms=None), excluded=("2026-05-02", "2026-05-04"))

    assert show(decided.fires) == show_same(["2026-05-05T12:00"])
    assert decided.excluded is None


def test_last_fires_nothing_if_all_within_the_window_are_excluded() -> None:
    decided = plan(HOURLY, "2026-05-02T02:30", CatchUp(window_ms=2 * HOUR), excluded=("2026-05-02",))

    assert decided.fires == ()
    assert decided.missed == (missed(MissedReason.OUTSIDE_WINDOW, 16, "2026-05-01T09:00", "2026-05-02T00:00"),)
    assert decided.excluded == missed(MissedReason.EXCLUDED, 2, "2026-05-02T01:00", "2026-05-02T02:00")


def test_excluded_ticks_take_no_place_of_those_that_all_makes_up_for() -> None:
    policy = CatchUp(mode=CatchUpMode.ALL, max_fires=2)

    decided = plan(HOURLY, "2026-05-02T05:30", policy, excluded=("2026-05-02",))

    assert show(decided.fires) == show_same(["2026-05-01T22:00", "2026-05-01T23:00"])
    assert decided.excluded == missed(MissedReason.EXCLUDED, 6, "2026-05-02T00:00", "2026-05-02T05:00")


@pytest.mark.parametrize(
    ("zone", "day", "now"),
    [
        ("Europe/Berlin", "2026-10-25", "2026-10-25T12:30Z"),
        ("Europe/Berlin", "2026-03-29", "2026-03-29T12:30Z"),
        # At one minute past midnight the clock goes back to the day before: the excluded day begins twice.
        ("America/St_Johns", "2006-10-29", "2006-10-29T02:30:30Z"),
        ("America/St_Johns", "2006-10-29", "2006-10-29T02:31:30Z"),
        ("America/St_Johns", "2006-10-29", "2006-10-29T04:30:30Z"),
        ("America/St_Johns", "2006-10-28", "2006-10-29T02:40:30Z"),
        # The day before is left out by the calendar itself.
        ("Pacific/Apia", "2011-12-31", "2011-12-31T00:30Z"),
        ("Asia/Kathmandu", "2026-05-02", "2026-05-02T05:00Z"),
    ],
)
def test_an_excluded_day_is_passed_over_however_the_clock_changes_in_it(zone: str, day: str, now: str) -> None:
    often = CronTrigger(cron="* * * * *", tz=zone)
    since = ms(now) - 3 * 86_400_000
    ticks = list(nominals_between(often, since, ms(now), PROGRESS))
    out = [datetime.fromtimestamp(tick / 1000, ZoneInfo(zone)).date().isoformat() == day for tick in ticks]
    latest = max(tick for tick, is_out in zip(ticks, out, strict=True) if not is_out)

    decided = plan_catch_up(often, PROGRESS, cursor=since, now=ms(now), policy=CatchUp(window_ms=None), excluded=(day,))

    after = [tick for tick in ticks if tick > latest]
    assert decided.fires == (latest,)
    assert (decided.excluded.count if decided.excluded else 0) == len(after)
    assert decided.cursor == ticks[-1]


def test_a_once_that_was_missed_follows_the_mode() -> None:
    once = OnceTrigger(at=ms("2026-05-01T09:00"))

    assert plan(once, "2026-05-01T10:00", CatchUp()).fires == (once.at,)
    assert plan(once, "2026-05-01T10:00", CatchUp(mode=CatchUpMode.NONE)).missed == (
        missed(MissedReason.NO_CATCH_UP, 1, "2026-05-01T09:00", "2026-05-01T09:00"),
    )


@pytest.mark.parametrize("mode", CatchUpMode)
def test_a_least_distance_that_has_passed_is_due_however_late(mode: CatchUpMode) -> None:
    trigger = IntervalTrigger(every_ms=60_000, anchor=Anchor.SCHEDULED)
    progress = Progress(created_at=CURSOR, last_scheduled=CURSOR)

    decided = plan_catch_up(trigger, progress, cursor=CURSOR, now=CURSOR + 90 * 86_400_000, policy=CatchUp(mode=mode))

    assert decided == CatchUpPlan((CURSOR + 60_000,), (), CURSOR + 60_000, None)


@pytest.mark.parametrize("mode", CatchUpMode)
@pytest.mark.parametrize(
    "trigger",
    [
        CronTrigger(cron="* * * * * *", tz="America/New_York"),
        IntervalTrigger(every_ms=1),
        FrequencyTrigger(time=1, unit=TimeUnit.MILLISECONDS),
    ],
)
def test_a_clock_that_leaps_by_decades_costs_no_more_than_the_cap(mode: CatchUpMode, trigger: Trigger) -> None:
    began = time.process_time()

    decided = plan(trigger, "2086-05-01", CatchUp(mode=mode, window_ms=None))

    assert time.process_time() - began < 5
    assert len(decided.fires) <= 100
    total = count_nominals(trigger, CURSOR, ms("2086-05-01"), PROGRESS)
    assert len(decided.fires) + sum(row.count for row in decided.missed) == total


@pytest.mark.parametrize("mode", [CatchUpMode.LAST, CatchUpMode.ALL])
@pytest.mark.parametrize(("cron", "apart"), [("* * * * * *", 1), ("* * * * * FRI", 7)])
def test_a_thousand_excluded_days_cost_little_however_many_ticks_they_have(
    mode: CatchUpMode, cron: str, apart: int
) -> None:
    days = [date(2026, 5, 1) + timedelta(days=apart * n) for n in range(1, 1_001)]
    each_second = CronTrigger(cron=cron, tz="America/New_York")
    now, last = days[-1].isoformat() + "T12:00Z", ms("2026-05-01T23:59:59-04:00")
    began = time.process_time()

    decided = plan(each_second, now, CatchUp(mode=mode, window_ms=None), excluded=tuple(map(str, days)))

    assert time.process_time() - began < 5
    assert decided.fires[-1] == last
    assert decided.excluded is not None
    assert decided.excluded.count == count_nominals(each_second, last, ms(now), PROGRESS)


@given(
    st.sampled_from(
        [CronTrigger(cron="*/7 * * * *"), CronTrigger(cron="30 2 * * *"), IntervalTrigger(every_ms=777_777)]
    ),
    st.integers(0, 4 * 86_400_000),
    st.builds(
        CatchUp,
        mode=st.sampled_from(CatchUpMode),
        window_ms=st.none() | st.integers(10_000, 2 * 86_400_000),
        max_fires=st.integers(1, 50),
    ),
    st.none() | st.integers(0, 4 * 86_400_000),
    st.sampled_from([0, 0, 60_000, 3 * HOUR]),
    st.sets(st.sampled_from(["2026-05-01", "2026-05-02", "2026-05-03", "2026-05-04", "2026-05-05"])),
)
@settings(max_examples=300)
def test_every_tick_that_is_due_is_decided_exactly_once(
    trigger: Trigger, gap: int, policy: CatchUp, live: int | None, jitter_ms: int, excluded: set[str]
) -> None:
    now = CURSOR + gap
    live_after = None if live is None else CURSOR + live
    trigger = msgspec.structs.replace(trigger, jitter_ms=jitter_ms)
    passed = nominals_between(trigger, CURSOR, now, PROGRESS)
    ticks = [tick for tick in passed if due_at(trigger, tick, PROGRESS) <= now]

    decided = plan_catch_up(
        trigger, PROGRESS, cursor=CURSOR, now=now, policy=policy, live_after=live_after, excluded=tuple(excluded)
    )

    passed_over = []
    for row in (*decided.missed, *([decided.excluded] if decided.excluded else [])):
        in_row = [tick for tick in ticks if row.first <= tick <= row.last]
        assert (len(in_row), in_row[0], in_row[-1]) == (row.count, row.first, row.last)
        passed_over.extend(in_row)
    assert sorted([*decided.fires, *passed_over]) == ticks
    assert len(decided.fires) <= policy.max_fires
    assert decided.cursor == (ticks[-1] if ticks else CURSOR)
    assert decided.following == next_nominal(trigger, decided.cursor, PROGRESS)


@pytest.mark.parametrize("mode", CatchUpMode)
def test_a_tick_waits_for_its_jitter_and_is_then_on_time(mode: CatchUpMode) -> None:
    daily = CronTrigger(cron="0 9 * * *", jitter_ms=2 * HOUR)
    nine = ms("2026-05-01T09:00")
    due = due_at(daily, nine, PROGRESS)
    policy = CatchUp(mode=mode, window_ms=10_000)

    before = plan_catch_up(daily, PROGRESS, cursor=CURSOR, now=due - 1, policy=policy)
    after = plan_catch_up(daily, PROGRESS, cursor=CURSOR, now=due + 5_000, policy=policy)

    assert due > nine + 60_000
    assert before == CatchUpPlan((), (), CURSOR, nine)
    assert after.fires == (nine,)


def test_a_policy_that_cannot_be_meant_is_refused() -> None:
    CatchUp().check("catch_up")
    CatchUp(window_ms=None).check("catch_up")
    with pytest.raises(InvalidInput, match=r"^catch_up\.window: "):
        CatchUp(window_ms=9_999).check("catch_up")
    with pytest.raises(InvalidInput, match=r"^catch_up\.max: "):
        CatchUp(max_fires=0).check("catch_up")
