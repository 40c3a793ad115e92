"""What becomes of ticks: one decision at a time, each with its rows and its state written out."""

import pytest
from msgspec import structs

from rota.model.schedules.schedule import Overlap, Schedule, ScheduleState, TickStatus
from rota.model.schedules.ticking import (
    AHEAD_MS,
    LOOK_MS,
    Decision,
    Situation,
    aimed,
    decide,
    first_state,
    is_ahead,
    is_excluded,
    looked_at_again,
    set_back,
)
from rota.model.triggers.catch_up import CatchUp, CatchUpMode
from rota.model.triggers.interval import Anchor
from rota.model.triggers.trigger import CronTrigger, IntervalTrigger, OnceTrigger, Trigger
from tests.model.triggers.instants import ms, show, show_same

EIGHT = ms("2026-05-01T08:00")
SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
HOURLY = CronTrigger(cron="0 * * * *")
EACH_MINUTE = CronTrigger(cron="* * * * *")
EACH_SECOND = CronTrigger(cron="* * * * * *")


def schedule(trigger: Trigger, **fields: object) -> Schedule:
    given: dict[str, object] = {"uuid": "s", "name": "s", "trigger": trigger, "queue": "q", "job_type": "t"}
    return Schedule(**given | {"overlap": Overlap.ALLOW} | fields)  # type: ignore[arg-type]


def state_at(one: Schedule, cursor: int = EIGHT, **fields: object) -> ScheduleState:
    """The state of a schedule that has come as far as the cursor and knows what is next."""
    return aimed(one, ScheduleState(version=7, cursor=cursor, **fields), cursor)  # type: ignore[arg-type]


def decided(one: Schedule, late: int, state: ScheduleState | None = None, **known: object) -> Decision:
    """What is decided so long after eight o'clock."""
    situation = Situation(now=EIGHT + late, node="n", **known)  # type: ignore[arg-type]
    return decide(one, state_at(one) if state is None else state, situation)


def rows(decision: Decision) -> list[str]:
    """`fired`, `skipped:overlap`, `missed:over_cap x3` ..., in the order of their instants."""
    told = []
    for tick in sorted(decision.ticks, key=lambda tick: tick.nominal):
        count = f" x{tick.count}" if tick.count > 1 else ""
        told.append(f"{tick.status}{f':{tick.reason}' if tick.reason else ''}{count}")
    return told


def catching_up(mode: CatchUpMode, **fields: object) -> dict[str, object]:
    return {"catch_up": CatchUp(mode=mode, **fields)}  # type: ignore[arg-type]


# Several ticks in one decision


@pytest.mark.parametrize(
    ("overlap", "live", "waiting", "expected", "cancels"),
    [
        ("skip", (), (), ["fired", "skipped:overlap", "skipped:overlap"], ()),
        ("skip", ("r",), (), ["skipped:overlap", "skipped:overlap", "skipped:overlap"], ()),
        ("skip", ("w",), ("w",), ["skipped:overlap", "skipped:overlap", "skipped:overlap"], ()),
        ("buffer_one", (), (), ["fired", "fired", "skipped:overlap"], ()),
        ("buffer_one", ("r",), (), ["fired", "skipped:overlap", "skipped:overlap"], ()),
        ("buffer_one", ("w",), ("w",), ["skipped:overlap", "skipped:overlap", "skipped:overlap"], ()),
        ("buffer_one", ("r", "w"), ("w",), ["skipped:overlap", "skipped:overlap", "skipped:overlap"], ()),
        ("buffer_all", (), (), ["fired", "fired", "fired"], ()),
        ("buffer_all", ("r", "w"), ("w",), ["fired", "fired", "fired"], ()),
        ("cancel_other", (), (), ["fired", "fired", "fired"], ()),
        ("cancel_other", ("r", "w"), ("w",), ["fired", "fired", "fired"], ("r", "w")),
        ("terminate_other", (), (), ["fired", "fired", "fired"], ()),
        ("terminate_other", ("r", "w"), ("w",), ["fired", "fired", "fired"], ("r", "w")),
        ("allow", (), (), ["fired", "fired", "fired"], ()),
        ("allow", ("r", "w"), ("w",), ["fired", "fired", "fired"], ()),
    ],
)
def test_each_of_several_ticks_sees_the_jobs_of_those_before_it(
    overlap: str, live: tuple[str, ...], waiting: tuple[str, ...], expected: list[str], cancels: tuple[str, ...]
) -> None:
    one = schedule(EACH_SECOND, overlap=Overlap(overlap))

    decision = decided(one, 3 * SECOND, live_jobs=live, waiting_jobs=waiting)

    assert rows(decision) == expected
    assert decision.cancels == cancels
    assert decision.state.cursor == EIGHT + 3 * SECOND
    assert decision.state.jobs == live, "whoever makes the new jobs adds them"
    assert decision.state.runs == expected.count("fired") == len(decision.fired)


@pytest.mark.parametrize(
    ("waiting", "expected"),
    [
        (997, ["fired", "fired", "fired"]),
        (998, ["fired", "fired", "skipped:buffer_full"]),
        (999, ["fired", "skipped:buffer_full", "skipped:buffer_full"]),
        (1_000, ["skipped:buffer_full"] * 3),
    ],
)
def test_no_more_than_a_thousand_jobs_wait_however_many_ticks_come(waiting: int, expected: list[str]) -> None:
    one = schedule(EACH_SECOND, overlap=Overlap.BUFFER_ALL)
    jobs = tuple(f"w{number}" for number in range(waiting))

    decision = decided(one, 3 * SECOND, live_jobs=("r", *jobs), waiting_jobs=jobs)

    assert rows(decision) == expected


@pytest.mark.parametrize("overlap", ["cancel_other", "terminate_other"])
def test_nothing_gives_way_to_a_tick_that_is_left_out(overlap: str) -> None:
    one = schedule(EACH_SECOND, overlap=Overlap(overlap), excluded=("2026-05-01",))

    decision = decided(one, SECOND, live_jobs=("r",))

    assert rows(decision) == ["skipped:excluded"]
    assert decision.cancels == ()


@pytest.mark.parametrize(
    ("late", "count", "cursor"),
    [
        (249 * MINUTE, 249, 249 * MINUTE),
        (250 * MINUTE, 250, 250 * MINUTE),
        (251 * MINUTE, 250, 251 * MINUTE - 1),
        (700 * MINUTE, 250, 251 * MINUTE - 1),
    ],
)
def test_of_very_many_ticks_the_oldest_250_are_decided_at_once(late: int, count: int, cursor: int) -> None:
    one = schedule(EACH_MINUTE, **catching_up(CatchUpMode.ALL, max_fires=1_000))

    decision = decided(one, late)

    assert rows(decision) == ["fired"] * count
    assert decision.state.cursor == EIGHT + cursor
    assert decision.state.nominal == EIGHT + (count + 1) * MINUTE


def test_ticks_that_follow_each_other_by_the_millisecond_are_cut_between_two_of_them() -> None:
    one = schedule(IntervalTrigger(every_ms=1, start=EIGHT), **catching_up(CatchUpMode.ALL, max_fires=1_000))

    first = decided(one, 300)
    second = decided(one, 300, first.state)

    assert [tick.nominal - EIGHT for tick in (*first.fired, *second.fired)] == list(range(1, 301))


def test_a_row_of_missed_ticks_counts_as_one_of_the_250() -> None:
    one = schedule(EACH_MINUTE, **catching_up(CatchUpMode.ALL, max_fires=300))

    decision = decided(one, 310 * MINUTE)

    assert rows(decision) == ["missed:over_cap x10"] + ["fired"] * 249
    assert decision.state.nominal == EIGHT + 260 * MINUTE


# After downtime


@pytest.mark.parametrize(
    ("late", "expected"),
    [
        (4 * MINUTE, ["fired"] * 4),
        (5 * MINUTE, ["fired"] * 5),
        (6 * MINUTE, ["missed:over_cap", "fired", "fired", "fired", "fired", "fired"]),
        (7 * MINUTE, ["missed:over_cap x2", "fired", "fired", "fired", "fired", "fired"]),
    ],
)
def test_exactly_as_many_as_the_cap_are_made_up_for(late: int, expected: list[str]) -> None:
    one = schedule(EACH_MINUTE, **catching_up(CatchUpMode.ALL, max_fires=5))

    decision = decided(one, late)

    assert rows(decision) == expected
    assert show(tick.nominal for tick in decision.fired[-1:]) == show([EIGHT + late])


@pytest.mark.parametrize(
    ("mode", "late", "expected"),
    [
        # A tick at 9:00; the window is half an hour.
        ("all", HOUR + 30 * MINUTE, ["fired"]),
        ("all", HOUR + 30 * MINUTE + 1, ["missed:outside_window"]),
        ("last", HOUR + 30 * MINUTE, ["fired"]),
        ("last", HOUR + 30 * MINUTE + 1, ["missed:outside_window"]),
        # None: ten seconds of grace, for a scheduler that is only busy.
        ("none", HOUR + 10_000, ["fired"]),
        ("none", HOUR + 10_001, ["missed:no_catch_up"]),
        # Ticks at 9:00 and 10:00.
        ("all", 2 * HOUR, ["missed:outside_window", "fired"]),
        ("all", 2 * HOUR + 30 * MINUTE, ["missed:outside_window", "fired"]),
        ("all", 2 * HOUR + 30 * MINUTE + 1, ["missed:outside_window x2"]),
        ("last", 2 * HOUR + 30 * MINUTE, ["missed:outside_window", "fired"]),
        ("none", 2 * HOUR + 10_000, ["missed:no_catch_up", "fired"]),
        ("none", 2 * HOUR + 10_001, ["missed:no_catch_up x2"]),
    ],
)
def test_a_tick_is_made_up_for_up_to_the_very_end_of_its_window(mode: str, late: int, expected: list[str]) -> None:
    one = schedule(HOURLY, **catching_up(CatchUpMode(mode), window_ms=30 * MINUTE))

    assert rows(decided(one, late)) == expected


@pytest.mark.parametrize(
    ("mode", "late", "expected"),
    [
        # The first tick came at 1 s. Ten seconds later somebody still watches, so each tick counts.
        ("none", 11 * SECOND, ["fired"] * 11),
        ("none", 11 * SECOND + 1, ["missed:no_catch_up x10", "fired"]),
        ("last", 11 * SECOND, ["fired"] * 11),
        ("last", 11 * SECOND + 1, ["missed:superseded x10", "fired"]),
        ("all", 11 * SECOND + 1, ["fired"] * 11),
    ],
)
def test_whoever_is_ten_seconds_late_was_watching_and_leaves_nothing_out(
    mode: str, late: int, expected: list[str]
) -> None:
    one = schedule(EACH_SECOND, **catching_up(CatchUpMode(mode)))

    decision = decided(one, late)

    assert rows(decision) == expected
    assert sum(tick.count for tick in decision.ticks) == 11


def test_rows_of_missed_ticks_say_from_when_to_when() -> None:
    one = schedule(HOURLY, **catching_up(CatchUpMode.LAST, window_ms=150 * MINUTE))

    decision = decided(one, 6 * HOUR)

    told = {tick.reason: show([tick.nominal, tick.until or 0]) for tick in decision.ticks if tick.reason}
    assert told == {
        "outside_window": show_same(["2026-05-01T09:00", "2026-05-01T11:00"]),
        "superseded": show_same(["2026-05-01T12:00", "2026-05-01T13:00"]),
    }
    assert {tick.status for tick in decision.ticks if tick.reason} == {TickStatus.MISSED}
    assert {(tick.decided_at, tick.by) for tick in decision.ticks} == {(EIGHT + 6 * HOUR, "n")}


def test_a_row_of_a_single_missed_tick_has_no_end() -> None:
    decision = decided(schedule(HOURLY, **catching_up(CatchUpMode.NONE)), HOUR + MINUTE)

    assert [(tick.nominal, tick.until, tick.count) for tick in decision.ticks] == [(EIGHT + HOUR, None, 1)]


# What is remembered


def test_a_decision_moves_everything_that_a_state_knows() -> None:
    one = schedule(HOURLY, overlap=Overlap.SKIP, **catching_up(CatchUpMode.ALL))
    before = state_at(one, runs=3, counts={"fired": 3, "skipped:overlap": 1}, last_scheduled_at=EIGHT, jobs=("old",))

    after = decided(one, 2 * HOUR + MINUTE, before).state

    assert after == ScheduleState(
        version=8,
        cursor=EIGHT + 2 * HOUR,
        nominal=EIGHT + 3 * HOUR,
        due=EIGHT + 3 * HOUR,
        runs=4,
        last_scheduled_at=EIGHT + 2 * HOUR + MINUTE,
        last_scheduled_by="n",
        counts={"fired": 4, "skipped:overlap": 2},
    )


def test_a_decision_that_fires_nothing_leaves_who_fired_last() -> None:
    one = schedule(HOURLY, overlap=Overlap.SKIP)
    before = state_at(one, runs=3, last_scheduled_at=EIGHT, last_scheduled_by="other")

    after = decided(one, HOUR, before, live_jobs=("r",)).state

    assert (after.version, after.runs, after.counts) == (8, 3, {"skipped:overlap": 1})
    assert (after.last_scheduled_at, after.last_scheduled_by) == (EIGHT, "other")
    assert after.jobs == ("r",)


def test_missed_ticks_are_counted_each_and_not_by_the_row() -> None:
    after = decided(schedule(HOURLY, **catching_up(CatchUpMode.LAST)), 5 * HOUR).state

    assert after.counts == {"missed:superseded": 4, "fired": 1}


@pytest.mark.parametrize("back", [1, HOUR, 30 * 24 * HOUR])
def test_a_clock_that_is_set_back_decides_nothing_and_holds_the_cursor(back: int) -> None:
    one = schedule(HOURLY, **catching_up(CatchUpMode.ALL, window_ms=None))

    decision = decided(one, -back)

    assert decision.ticks == ()
    assert (decision.state.cursor, decision.state.nominal, decision.state.due) == (EIGHT, EIGHT + HOUR, EIGHT + HOUR)


def test_a_clock_that_is_set_back_and_goes_on_doubles_no_tick_and_loses_none() -> None:
    one = schedule(EACH_MINUTE)
    state, told = state_at(one), []

    for second in (*range(300), *range(120, 600)):
        decision = decided(one, second * SECOND, state)
        told += [tick.nominal for tick in decision.ticks]
        state = decision.state
        assert state.cursor is not None
        assert state.cursor >= max(told, default=EIGHT)

    assert told == [EIGHT + minute * MINUTE for minute in (1, 2, 3, 4, 5, 6, 7, 8, 9)]


def test_a_decision_before_the_tick_is_due_decides_nothing() -> None:
    decision = decided(schedule(HOURLY), HOUR - 1)

    assert decision.ticks == ()
    assert (decision.state.cursor, decision.state.nominal) == (EIGHT, EIGHT + HOUR)


# Runs to count


@pytest.mark.parametrize(
    ("max_runs", "runs", "expected", "following"),
    [
        (5, 1, ["fired"] * 3, EIGHT + 4 * SECOND),
        (4, 1, ["fired"] * 3, None),
        (3, 1, ["fired"] * 2, None),
        (2, 1, ["fired"], None),
        (1, 0, ["fired"], None),
        (None, 10**9, ["fired"] * 3, EIGHT + 4 * SECOND),
    ],
)
def test_a_schedule_makes_exactly_as_many_jobs_as_it_may(
    max_runs: int | None, runs: int, expected: list[str], following: int | None
) -> None:
    one = schedule(EACH_SECOND, max_runs=max_runs)

    decision = decided(one, 3 * SECOND, state_at(one, runs=runs))

    assert rows(decision) == expected
    assert (decision.state.nominal, decision.state.due) == (following, following)


def test_ticks_that_are_left_out_are_not_runs() -> None:
    one = schedule(EACH_SECOND, max_runs=2, overlap=Overlap.SKIP)

    decision = decided(one, 3 * SECOND, live_jobs=("r",))

    assert decision.state.runs == 0
    assert decision.state.nominal == EIGHT + 4 * SECOND


@pytest.mark.parametrize(("runs", "following"), [(2, EIGHT + HOUR), (3, None), (4, None)])
def test_a_schedule_that_ran_often_enough_has_no_next_tick(runs: int, following: int | None) -> None:
    one = schedule(HOURLY, max_runs=3)

    state = state_at(one, runs=runs)

    assert (state.nominal, state.due) == (following, following)


# The first tick and the last


def test_the_first_tick_may_be_the_instant_at_which_a_schedule_is_made() -> None:
    state = first_state(schedule(HOURLY, created_at=EIGHT), EIGHT, version=4)

    assert state == ScheduleState(version=4, cursor=EIGHT - 1, nominal=EIGHT, due=EIGHT)
    assert first_state(schedule(HOURLY), EIGHT + 1) == ScheduleState(
        version=1, cursor=EIGHT, nominal=EIGHT + HOUR, due=EIGHT + HOUR
    )


@pytest.mark.parametrize(
    ("start", "first"),
    [(EIGHT - 1, EIGHT), (EIGHT, EIGHT), (EIGHT + 1, EIGHT + HOUR), (EIGHT + HOUR, EIGHT + HOUR)],
)
def test_a_schedule_begins_with_the_very_instant_of_its_start(start: int, first: int) -> None:
    one = schedule(structs.replace(HOURLY, start=start))

    assert first_state(one, EIGHT - HOUR).nominal == first


@pytest.mark.parametrize(
    ("end", "expected", "following"),
    [
        (EIGHT + 3 * HOUR, ["fired", "fired"], EIGHT + 3 * HOUR),
        (EIGHT + 3 * HOUR - 1, ["fired", "fired"], None),
        (EIGHT + 2 * HOUR, ["fired", "fired"], None),
        (EIGHT + 2 * HOUR - 1, ["fired"], None),
        (EIGHT + HOUR, ["fired"], None),
    ],
)
def test_a_schedule_ends_with_the_very_instant_of_its_end(end: int, expected: list[str], following: int | None) -> None:
    one = schedule(structs.replace(HOURLY, end=end), **catching_up(CatchUpMode.ALL))

    decision = decided(one, 2 * HOUR)

    assert rows(decision) == expected
    assert decision.state.nominal == following


def test_a_paused_schedule_has_no_next_tick() -> None:
    state = state_at(schedule(HOURLY, paused=True))

    assert (state.cursor, state.nominal, state.due) == (EIGHT, None, None)


def test_a_schedule_that_was_never_decided_begins_with_this_instant() -> None:
    one = schedule(HOURLY)

    assert aimed(one, ScheduleState(), EIGHT).nominal == EIGHT
    assert rows(decide(one, ScheduleState(), Situation(now=EIGHT, node="n"))) == ["fired"]


def test_once_is_decided_once() -> None:
    decision = decided(schedule(OnceTrigger(at=EIGHT + 5)), 5)

    assert rows(decision) == ["fired"]
    assert (decision.state.cursor, decision.state.nominal, decision.state.due) == (EIGHT + 5, None, None)


# Jitter


def test_a_tick_is_due_by_its_jitter_and_known_by_its_nominal_instant() -> None:
    one = schedule(structs.replace(HOURLY, jitter_ms=10 * MINUTE))
    state, jitter = state_at(one), 540_971

    before, after = decided(one, HOUR + jitter - 1), decided(one, HOUR + jitter)

    assert (state.nominal, state.due) == (EIGHT + HOUR, EIGHT + HOUR + jitter)
    assert (before.ticks, before.state.cursor, before.state.due) == ((), EIGHT, EIGHT + HOUR + jitter)
    assert [tick.nominal for tick in after.fired] == [EIGHT + HOUR]
    assert after.state.cursor == EIGHT + HOUR


# Excluded days


@pytest.mark.parametrize(
    ("zone", "utc", "first_out", "last_out"),
    [
        ("UTC", False, "2026-12-25T00:00:00Z", "2026-12-25T23:59:59.999Z"),
        ("Pacific/Auckland", False, "2026-12-25T00:00:00+13:00", "2026-12-25T23:59:59.999+13:00"),
        ("America/Los_Angeles", False, "2026-12-25T00:00:00-08:00", "2026-12-25T23:59:59.999-08:00"),
        ("Asia/Kathmandu", False, "2026-12-25T00:00:00+05:45", "2026-12-25T23:59:59.999+05:45"),
        ("Pacific/Auckland", True, "2026-12-25T00:00:00Z", "2026-12-25T23:59:59.999Z"),
    ],
)
def test_an_excluded_day_is_the_day_of_the_zone_from_its_first_instant_to_its_last(
    zone: str, utc: bool, first_out: str, last_out: str
) -> None:
    one = schedule(structs.replace(EACH_MINUTE, tz=zone, utc=utc), excluded=("2026-12-25",))

    inside = (ms(first_out), ms(first_out) + 1, ms(last_out) - 1, ms(last_out))
    assert [is_excluded(one, instant) for instant in inside] == [True, True, True, True]
    assert [is_excluded(one, instant) for instant in (ms(first_out) - 1, ms(last_out) + 1)] == [False, False]


@pytest.mark.parametrize(
    ("day", "first_out", "last_out"),
    [
        # A day of 23 hours and one of 25.
        ("2026-03-29", "2026-03-29T00:00:00+01:00", "2026-03-29T23:59:59.999+02:00"),
        ("2026-10-25", "2026-10-25T00:00:00+02:00", "2026-10-25T23:59:59.999+01:00"),
    ],
)
def test_an_excluded_day_is_as_long_as_the_clock_makes_it(day: str, first_out: str, last_out: str) -> None:
    one = schedule(structs.replace(EACH_MINUTE, tz="Europe/Berlin"), excluded=(day,))

    assert [is_excluded(one, ms(text)) for text in (first_out, last_out)] == [True, True]
    assert [is_excluded(one, instant) for instant in (ms(first_out) - 1, ms(last_out) + 1)] == [False, False]


def test_a_tick_on_an_excluded_day_of_its_zone_is_skipped_with_a_row() -> None:
    nightly = CronTrigger(cron="30 0 * * *", tz="Asia/Tokyo")
    one = schedule(nightly, excluded=("2026-05-03",), **catching_up(CatchUpMode.ALL, window_ms=None))

    decision = decided(one, 4 * 24 * HOUR)

    assert [(show([tick.nominal])[0], tick.status.value, tick.reason) for tick in decision.ticks] == [
        ("2026-05-01T15:30:00+00:00", "fired", ""),
        ("2026-05-02T15:30:00+00:00", "skipped", "excluded"),
        ("2026-05-03T15:30:00+00:00", "fired", ""),
        ("2026-05-04T15:30:00+00:00", "fired", ""),
    ]
    assert decision.state.counts == {"fired": 3, "skipped:excluded": 1}


def test_an_excluded_tick_is_told_as_such_also_while_a_job_is_alive() -> None:
    one = schedule(EACH_SECOND, overlap=Overlap.SKIP, excluded=("2026-05-01",))

    assert rows(decided(one, SECOND, live_jobs=("r",))) == ["skipped:excluded"]


def test_the_latest_missed_tick_that_is_not_excluded_is_made_up_for() -> None:
    one = schedule(HOURLY, excluded=("2026-05-02", "2026-05-03"), **catching_up(CatchUpMode.LAST, window_ms=None))

    decision = decided(one, 41 * HOUR)

    assert rows(decision) == ["missed:superseded x14", "fired", "skipped:excluded x26"]
    assert show([decision.fired[0].nominal]) == show_same(["2026-05-01T23:00"])
    told = decision.ticks[-1]
    assert show([told.nominal, told.until or 0]) == show_same(["2026-05-02T00:00", "2026-05-03T01:00"])
    assert decision.state.cursor == EIGHT + 41 * HOUR
    assert decision.state.counts == {"missed:superseded": 14, "fired": 1, "skipped:excluded": 26}


def test_excluded_ticks_are_told_once_although_those_before_them_are_decided_in_several_rounds() -> None:
    policy = catching_up(CatchUpMode.ALL, window_ms=None, max_fires=1_000)
    one = schedule(EACH_MINUTE, excluded=("2026-05-02",), **policy)

    first = decided(one, 17 * HOUR)
    second = decided(one, 17 * HOUR, first.state)
    third = decided(one, 17 * HOUR, second.state)
    fourth = decided(one, 17 * HOUR, third.state)

    assert [len(decision.fired) for decision in (first, second, third, fourth)] == [250, 250, 250, 209]
    assert fourth.state.counts == {"fired": 959, "skipped:excluded": 61}
    assert rows(decided(one, 17 * HOUR, fourth.state)) == []


def test_a_schedule_that_is_over_tells_nothing_of_excluded_ticks_that_would_follow() -> None:
    policy = catching_up(CatchUpMode.ALL, window_ms=None)
    one = schedule(HOURLY, excluded=("2026-05-02",), max_runs=2, **policy)

    assert rows(decided(one, 18 * HOUR)) == ["fired", "fired"]


# Jobs with a unique key


def test_a_decision_says_how_far_it_comes_if_its_job_is_not_made() -> None:
    one = schedule(EACH_MINUTE, max_runs=1)
    before = state_at(one, last_scheduled_at=EIGHT - 5, last_scheduled_by="m", counts={"fired": 4})

    decision = decided(one, MINUTE, before, is_unique=True)

    assert rows(decision) == ["fired"]
    assert (decision.state.runs, decision.state.nominal) == (1, None)
    assert decision.otherwise == structs.replace(
        before,
        version=8,
        cursor=EIGHT + MINUTE,
        nominal=EIGHT + 2 * MINUTE,
        due=EIGHT + 2 * MINUTE,
        counts={"fired": 4, "skipped:unique": 1},
    )


def test_of_the_ticks_of_one_decision_one_makes_a_unique_job() -> None:
    one = schedule(EACH_MINUTE, max_runs=2, **catching_up(CatchUpMode.ALL))

    decision = decided(one, 3 * MINUTE, is_unique=True)

    assert rows(decision) == ["fired", "skipped:unique", "skipped:unique"]
    assert decision.state.counts == {"fired": 1, "skipped:unique": 2}
    assert decision.otherwise is not None
    assert decision.otherwise.counts == {"skipped:unique": 3}
    assert (decision.state.runs, decision.otherwise.runs) == (1, 0)


def test_ticks_after_the_last_run_are_decided_if_that_was_not_made() -> None:
    one = schedule(EACH_MINUTE, max_runs=1, **catching_up(CatchUpMode.ALL))

    decision = decided(one, 3 * MINUTE, is_unique=True)

    assert rows(decision) == ["fired"]
    assert decision.otherwise is not None
    assert decision.otherwise.nominal == EIGHT + 2 * MINUTE


@pytest.mark.parametrize(
    ("late", "known"), [(MINUTE, {}), (SECOND, {"is_unique": True}), (MINUTE, {"is_unique": True, "live_jobs": ("r",)})]
)
def test_a_decision_that_makes_no_job_that_could_be_refused_has_one_end(late: int, known: dict[str, object]) -> None:
    one = schedule(EACH_MINUTE, overlap=Overlap.SKIP)

    assert decided(one, late, **known).otherwise is None  # type: ignore[arg-type]


# Intervals that are counted from a job


@pytest.mark.parametrize("late", [30 * SECOND, 31 * SECOND, 50 * SECOND, 24 * HOUR])
def test_a_least_distance_is_counted_from_when_the_last_job_was_made(late: int) -> None:
    one = schedule(IntervalTrigger(every_ms=MINUTE, anchor=Anchor.SCHEDULED))
    before = state_at(one, last_scheduled_at=EIGHT - 30 * SECOND)

    decision = decided(one, late, before)

    assert before.nominal == EIGHT + 30 * SECOND
    assert [tick.nominal for tick in decision.ticks] == [EIGHT + 30 * SECOND]
    assert rows(decision) == ["fired"]
    assert decision.state.nominal == EIGHT + late + MINUTE


def test_a_pause_between_runs_is_known_only_when_the_run_has_ended() -> None:
    one = schedule(IntervalTrigger(every_ms=MINUTE, anchor=Anchor.ENDED))
    before = state_at(one, last_scheduled_at=EIGHT - HOUR, last_ended=EIGHT - 2 * HOUR)

    running = decided(one, 10 * SECOND, before, live_jobs=("r",))
    ended = decided(one, 10 * SECOND, before, last_ended=EIGHT)

    assert (before.nominal, before.due) == (None, None)
    assert (running.ticks, running.state.nominal, running.state.last_ended) == ((), None, EIGHT - 2 * HOUR)
    assert (ended.ticks, ended.state.nominal, ended.state.last_ended) == ((), EIGHT + MINUTE, EIGHT)


def test_a_least_distance_is_over_when_its_jitter_is_and_not_before() -> None:
    one = schedule(IntervalTrigger(every_ms=MINUTE, anchor=Anchor.SCHEDULED, jitter_ms=30 * SECOND))
    before = state_at(one, last_scheduled_at=EIGHT)
    assert before.nominal is not None
    assert before.due is not None
    assert before.due > before.nominal

    early = decided(one, before.due - EIGHT - 1, before)
    on_time = decided(one, before.due - EIGHT, early.state)

    assert (early.ticks, early.state.cursor, early.state.due) == ((), before.cursor, before.due)
    assert [tick.nominal for tick in on_time.fired] == [before.nominal]


# A run whose end is not known yet


@pytest.mark.parametrize("ended", [None, EIGHT - HOUR - 1])
def test_a_schedule_that_counts_from_ends_is_looked_at_again_while_the_end_of_its_last_run_is_not_known(
    ended: int | None,
) -> None:
    one = schedule(IntervalTrigger(every_ms=MINUTE, anchor=Anchor.ENDED), max_runs=3)
    state = state_at(one, last_scheduled_at=EIGHT - HOUR, last_ended=ended, runs=2)

    assert looked_at_again(one, state, EIGHT) == structs.replace(state, due=EIGHT + LOOK_MS)


@pytest.mark.parametrize(
    ("fields", "known"),
    [
        ({"paused": True}, {"last_scheduled_at": EIGHT - HOUR}),
        ({"max_runs": 2}, {"last_scheduled_at": EIGHT - HOUR, "runs": 2}),
        ({}, {"last_scheduled_at": EIGHT - HOUR, "last_ended": EIGHT - HOUR}),
        ({}, {}),
    ],
)
def test_a_schedule_that_counts_from_ends_is_not_looked_at_in_vain(
    fields: dict[str, object], known: dict[str, object]
) -> None:
    over = IntervalTrigger(every_ms=MINUTE, anchor=Anchor.ENDED, end=EIGHT - 2 * HOUR)
    one = schedule(over, **fields)
    state = state_at(one, EIGHT, **known)

    assert state.due is None
    assert looked_at_again(one, state, EIGHT) == state


# A clock that was ahead

INSTANTS = ["cursor", "last_scheduled_at", "last_ended"]


@pytest.mark.parametrize("known", INSTANTS)
def test_any_instant_that_is_more_than_a_day_away_was_told_by_a_clock_that_was_ahead(known: str) -> None:
    one = schedule(HOURLY, created_at=EIGHT)
    told = structs.replace(ScheduleState(cursor=EIGHT - HOUR), **{known: EIGHT + AHEAD_MS})

    assert not is_ahead(one, told, EIGHT)
    assert is_ahead(one, told, EIGHT - 1)


def test_a_schedule_that_was_made_more_than_a_day_from_now_was_made_by_a_clock_that_was_ahead() -> None:
    one = schedule(HOURLY, created_at=EIGHT + AHEAD_MS)

    assert not is_ahead(one, ScheduleState(), EIGHT)
    assert is_ahead(one, ScheduleState(), EIGHT - 1)


def test_what_is_set_back_forgets_what_is_yet_to_come() -> None:
    one = schedule(HOURLY, created_at=EIGHT + HOUR)
    state = ScheduleState(cursor=EIGHT + HOUR, last_scheduled_at=EIGHT + 2 * HOUR, last_ended=EIGHT + 3 * HOUR, runs=4)

    made, come = set_back(one, state, EIGHT)

    assert made == structs.replace(one, created_at=EIGHT)
    assert come == ScheduleState(cursor=EIGHT, last_scheduled_at=EIGHT, last_ended=EIGHT, runs=4)


def test_what_is_set_back_keeps_what_has_come() -> None:
    one = schedule(HOURLY, created_at=EIGHT - 3 * HOUR)
    come = ScheduleState(cursor=EIGHT - HOUR, last_scheduled_at=EIGHT - 2 * HOUR, last_ended=EIGHT)

    assert set_back(one, come, EIGHT) == (one, come)
    assert set_back(one, ScheduleState(), EIGHT) == (one, ScheduleState())
