"""All kinds of triggers: what is next, how many, within which bounds, with which jitter."""

from itertools import islice

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.model.triggers.cron.fires import Dst
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
    last_nominal,
    next_nominal,
    nominals_between,
)
from tests.model.triggers.instants import ms, show, show_same

NOW = ms("2026-05-01T12:34:56.789")
MADE_NOW = Progress(schedule="s", created_at=NOW)


def first_fires(trigger: Trigger, progress: Progress, after: int, count: int = 3) -> list[str]:
    return show(islice(nominals_between(trigger, after, after + 10**11, progress), count))


def test_a_cron_fires_in_its_zone_and_in_utc_when_told() -> None:
    local = CronTrigger(cron="0 9 * * *", tz="Europe/Berlin")
    utc = CronTrigger(cron="0 9 * * *", tz="Europe/Berlin", utc=True)

    assert next_nominal(local, NOW, MADE_NOW) == ms("2026-05-02T09:00+02:00")
    assert next_nominal(utc, NOW, MADE_NOW) == ms("2026-05-02T09:00Z")


def test_a_cron_with_a_hash_differs_between_schedules_and_not_between_asks() -> None:
    trigger = CronTrigger(cron="H H * * *")
    times = {next_nominal(trigger, NOW, Progress(schedule=f"s{number}")) for number in range(50)}

    assert len(times) > 40
    assert next_nominal(trigger, NOW, MADE_NOW) == next_nominal(trigger, NOW, MADE_NOW)


def test_an_interval_keeps_the_phase_of_its_start() -> None:
    trigger = IntervalTrigger(every_ms=3_600_000, start=ms("2026-05-01T00:20"))

    assert first_fires(trigger, MADE_NOW, NOW, 2) == show_same(["2026-05-01T13:20", "2026-05-01T14:20"])
    assert next_nominal(trigger, ms("2026-04-01"), MADE_NOW) == ms("2026-05-01T00:20")


def test_an_interval_without_start_first_fires_one_period_after_it_was_made() -> None:
    assert next_nominal(IntervalTrigger(every_ms=60_000), NOW - 1, MADE_NOW) == NOW + 60_000


def test_an_interval_can_be_in_step_with_the_clock() -> None:
    hourly = IntervalTrigger(every_ms=3_600_000, anchor=Anchor.EPOCH, phase_ms=300_000)

    assert first_fires(hourly, MADE_NOW, NOW, 2) == show_same(["2026-05-01T13:05", "2026-05-01T14:05"])
    assert next_nominal(hourly, ms("1960-01-01"), MADE_NOW) == ms("1960-01-01T00:05")
    assert next_nominal(hourly, ms("2026-05-01T13:05"), MADE_NOW) == ms("2026-05-01T14:05")


def test_a_least_distance_counts_from_the_last_job_and_begins_at_once() -> None:
    trigger = IntervalTrigger(every_ms=60_000, anchor=Anchor.SCHEDULED)
    later = Progress(created_at=NOW, last_scheduled=NOW + 5_000)

    assert next_nominal(trigger, NOW - 1, MADE_NOW) == NOW
    assert next_nominal(trigger, NOW + 5_000, later) == NOW + 65_000
    assert next_nominal(trigger, NOW + 900_000, later) == NOW + 905_000  # what was decided against is not asked again
    assert count_nominals(trigger, NOW + 5_000, NOW + 900_000, later) == 1


def test_a_pause_counts_from_the_end_of_the_last_run_and_waits_for_it() -> None:
    trigger = IntervalTrigger(every_ms=60_000, anchor=Anchor.ENDED)
    running = Progress(created_at=NOW, last_scheduled=NOW)
    again = Progress(created_at=NOW, last_scheduled=NOW + 100_000, last_ended=NOW + 30_000)
    ended = Progress(created_at=NOW, last_scheduled=NOW, last_ended=NOW + 30_000)
    at_once = Progress(created_at=NOW, last_scheduled=NOW, last_ended=NOW)

    assert next_nominal(trigger, NOW - 1, MADE_NOW) == NOW
    assert next_nominal(trigger, NOW, running) is None
    assert next_nominal(trigger, NOW, again) is None
    assert next_nominal(trigger, NOW, ended) == NOW + 90_000
    assert next_nominal(trigger, NOW, at_once) == NOW + 60_000


def test_what_is_counted_from_a_job_has_one_fire_in_however_long_a_range_and_none_before_it() -> None:
    trigger = IntervalTrigger(every_ms=60_000, anchor=Anchor.SCHEDULED)
    later = Progress(created_at=NOW, last_scheduled=NOW)
    due = NOW + 60_000

    assert list(nominals_between(trigger, NOW, NOW + 900_000, later)) == [due]
    assert last_nominal(trigger, NOW, NOW + 900_000, later) == due
    assert list(nominals_between(trigger, NOW, due, later)) == [due]
    assert list(nominals_between(trigger, NOW, due - 1, later)) == []
    assert last_nominal(trigger, NOW, due - 1, later) is None


def test_the_jitter_of_what_is_counted_from_a_job_may_be_longer_than_its_interval() -> None:
    trigger = IntervalTrigger(every_ms=1_000, anchor=Anchor.SCHEDULED, jitter_ms=3_600_000)
    waits = [due_at(trigger, NOW, Progress(schedule=f"s{n}", last_scheduled=NOW - 1_000)) - NOW for n in range(50)]

    assert max(waits) > 1_800_000
    assert max(waits) < 3_600_000


@pytest.mark.parametrize(
    ("unit", "time", "expected"),
    [
        (TimeUnit.MILLISECONDS, 500, ["2026-05-01T12:34:56.790", "2026-05-01T12:34:57.290"]),
        (TimeUnit.SECONDS, 2, ["2026-05-01T12:34:57", "2026-05-01T12:34:59"]),
        (TimeUnit.MINUTES, 5, ["2026-05-01T12:35", "2026-05-01T12:40"]),
        (TimeUnit.HOURS, 1, ["2026-05-01T13:00", "2026-05-01T14:00"]),
        (TimeUnit.DAYS, 1, ["2026-05-02T00:00", "2026-05-03T00:00"]),
    ],
)
def test_a_frequency_without_start_begins_at_the_next_exact_unit(
    unit: TimeUnit, time: int, expected: list[str]
) -> None:
    assert first_fires(FrequencyTrigger(time=time, unit=unit), MADE_NOW, NOW, 2) == show_same(expected)


def test_a_frequency_made_on_an_exact_unit_begins_at_the_following_one() -> None:
    exact = Progress(created_at=ms("2026-05-01T12:00"))

    assert next_nominal(FrequencyTrigger(time=1, unit=TimeUnit.HOURS), exact.created_at, exact) == ms(
        "2026-05-01T13:00"
    )


def test_a_frequency_uses_a_given_start_to_the_millisecond() -> None:
    future = FrequencyTrigger(time=1, unit=TimeUnit.DAYS, start=ms("2026-05-03T17:00:00.123"))
    past = FrequencyTrigger(time=2, unit=TimeUnit.HOURS, start=ms("2020-01-01T01:30"))

    assert next_nominal(future, NOW, MADE_NOW) == ms("2026-05-03T17:00:00.123")
    assert next_nominal(past, NOW, MADE_NOW) == ms("2026-05-01T13:30")


def test_once_fires_once() -> None:
    at, delayed = OnceTrigger(at=NOW + 10), OnceTrigger(delay_ms=1_000)

    assert next_nominal(at, NOW, MADE_NOW) == NOW + 10
    assert next_nominal(at, NOW + 10, MADE_NOW) is None
    assert list(nominals_between(delayed, NOW, NOW + 5_000, MADE_NOW)) == [NOW + 1_000]
    assert count_nominals(delayed, NOW, NOW + 999, MADE_NOW) == 0


@pytest.mark.parametrize(
    "trigger",
    [CronTrigger(cron="0 * * * *"), IntervalTrigger(every_ms=3_600_000), FrequencyTrigger(time=1, unit=TimeUnit.HOURS)],
)
def test_bounds_are_inclusive(trigger: Trigger) -> None:
    start, end = ms("2026-05-01T15:00"), ms("2026-05-01T18:00")
    bounded = msgspec.structs.replace(trigger, start=start, end=end)

    fires = list(nominals_between(bounded, NOW, NOW + 10**10, MADE_NOW))

    assert show(fires) == show_same([f"2026-05-01T{hour}:00" for hour in (15, 16, 17, 18)])
    assert next_nominal(bounded, NOW, MADE_NOW) == start
    assert next_nominal(bounded, end, MADE_NOW) is None
    assert count_nominals(bounded, NOW, NOW + 10**10, MADE_NOW) == 4
    assert last_nominal(bounded, NOW, NOW + 10**10, MADE_NOW) == end


TRIGGERS = st.one_of(
    st.sampled_from(["*/7 * * * *", "30 2 * * *", "0 0 1 * *", "*/20 * * * * *", "0 0 29 2 *", "45 1 * * SUN"]).map(
        lambda line: CronTrigger(cron=line, tz="America/New_York")
    ),
    st.integers(10_000, 10**9).map(lambda every: IntervalTrigger(every_ms=every)),
    st.integers(10_000, 10**9).map(lambda every: IntervalTrigger(every_ms=every, anchor=Anchor.EPOCH, phase_ms=77)),
    st.sampled_from([TimeUnit.MINUTES, TimeUnit.HOURS]).map(lambda unit: FrequencyTrigger(time=3, unit=unit)),
    st.integers(0, 10**9).map(lambda delay: OnceTrigger(delay_ms=delay)),
)


@given(TRIGGERS, st.integers(0, 4 * 10**9), st.integers(0, 2 * 10**8))
@settings(max_examples=200)
def test_next_last_count_and_list_tell_the_same(trigger: Trigger, offset: int, length: int) -> None:
    after, until = NOW + offset, NOW + offset + length

    listed = list(nominals_between(trigger, after, until, MADE_NOW))
    following = next_nominal(trigger, after, MADE_NOW)

    assert count_nominals(trigger, after, until, MADE_NOW) == len(listed)
    assert last_nominal(trigger, after, until, MADE_NOW) == (listed[-1] if listed else None)
    if listed:
        assert following == listed[0]
    else:
        assert following is None or following > until


@given(st.integers(1, 10**7), st.text(max_size=20), st.integers(0, 1000))
@settings(max_examples=200)
def test_jitter_is_fixed_and_stays_below_its_limit_and_the_next_fire(limit: int, schedule: str, steps: int) -> None:
    trigger = IntervalTrigger(every_ms=60_000, jitter_ms=limit)
    progress = Progress(schedule=schedule, created_at=NOW)
    nominal = NOW + 60_000 * (steps + 1)

    due = due_at(trigger, nominal, progress)

    assert nominal <= due < nominal + min(limit, 60_000)
    assert due == due_at(trigger, nominal, progress)


def test_jitter_spreads_schedules_and_ticks() -> None:
    trigger = CronTrigger(cron="0 0 * * *", jitter_ms=3_600_000)
    midnights = [ms(f"2026-05-{day:02}") for day in range(1, 31)]

    by_schedule = {due_at(trigger, midnights[0], Progress(schedule=f"s{number}")) for number in range(100)}
    by_tick = {due_at(trigger, midnight, MADE_NOW) - midnight for midnight in midnights}

    assert len(by_schedule) > 95
    assert len(by_tick) > 28


def test_jitter_of_a_known_schedule_never_changes() -> None:
    # Nodes of different releases must agree, so the value itself is pinned.
    trigger = CronTrigger(cron="0 0 * * *", jitter_ms=3_600_000)

    assert due_at(trigger, ms("2026-05-01"), Progress(schedule="nightly")) - ms("2026-05-01") == 1_203_088


def test_no_jitter_means_on_time() -> None:
    assert due_at(CronTrigger(cron="* * * * *"), ms("2026-05-01"), MADE_NOW) == ms("2026-05-01")


@pytest.mark.parametrize(
    "trigger",
    [
        CronTrigger(cron="0 0 * * *", tz="Europe/Berlin", dst=Dst.SKIP, start=1, end=2, jitter_ms=3),
        IntervalTrigger(every_ms=5, anchor=Anchor.ENDED),
        FrequencyTrigger(time=5, unit=TimeUnit.DAYS),
        OnceTrigger(at=5),
    ],
)
def test_a_trigger_survives_json(trigger: Trigger) -> None:
    encoded = msgspec.json.encode(trigger)

    assert msgspec.json.decode(encoded, type=Trigger) == trigger
    assert b'"kind"' in encoded
