"""Cron in UTC against two other engines. Their known faults are left out of the lines, one by one and named."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from croniter import CroniterBadDateError, croniter  # type: ignore[import-untyped]
from cronsim import CronSim, CronSimError
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rota.model.triggers.cron.fields import MONTH_NAMES, WEEKDAY_NAMES
from rota.model.triggers.cron.fires import count_between, fires_between, next_fire
from rota.model.triggers.cron.parser import parse_cron
from tests.model.triggers.instants import EPOCH, ms, show

SECOND = timedelta(seconds=1)
FIRES = 25
STARTS = st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2090, 1, 1)).map(  # noqa: DTZ001
    lambda moment: moment.replace(tzinfo=UTC, microsecond=0)
)


def ranges(low: int, high: int, *, wrap: bool = False) -> st.SearchStrategy[str]:
    """`a-b` without `a-a`: croniter takes that for the whole field."""
    pairs = st.tuples(st.integers(low, high), st.integers(low, high)).filter(lambda pair: pair[0] != pair[1])
    ordered = pairs if wrap else pairs.map(lambda pair: (min(pair), max(pair)))
    return ordered.map(lambda pair: f"{pair[0]}-{pair[1]}")


def fields(
    low: int, high: int, *, star_steps: bool = True, open_steps: bool = True, wrap: bool = False
) -> st.SearchStrategy[str]:
    steps = st.integers(1, high - low)
    spans = ranges(low, high)
    parts = [
        st.integers(low, high).map(str),
        ranges(low, high, wrap=wrap),
        st.builds("{}/{}".format, spans, steps),
    ]
    if open_steps:
        parts.append(st.builds("{}/{}".format, st.integers(low, high - 1), steps))
    lists = st.lists(st.one_of(parts), min_size=1, max_size=3).map(",".join)
    stars = st.builds("*/{}".format, steps) if star_steps else st.just("*")
    return st.one_of(st.just("*"), stars, lists)


def names(words: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(words), min_size=1, max_size=3, unique=True).map(",".join)


def lines(*, seconds: bool = False, wrap: bool = False, open_weekdays: bool = False) -> st.SearchStrategy[str]:
    """`*/n` for day and weekday is left out: croniter takes it for a restriction, Vixie's rule and cronsim do not.
    `1/2` for the weekday is left out for cronsim, which counts on to 7, so that Sunday ends the week it began."""
    parts = [
        fields(0, 59, wrap=wrap),
        fields(0, 23, wrap=wrap),
        fields(1, 31, star_steps=False),
        st.one_of(fields(1, 12, wrap=wrap), names(MONTH_NAMES)),
        st.one_of(fields(0, 6, star_steps=False, open_steps=open_weekdays, wrap=wrap), names(WEEKDAY_NAMES)),
    ]
    if seconds:
        parts.insert(0, fields(0, 59))
    return st.tuples(*parts).map(" ".join)


def by_croniter(line: str, start: datetime) -> list[int]:
    iterator = croniter(line, start, second_at_beginning=True)
    try:
        return [millis(iterator.get_next(datetime)) for _ in range(FIRES)]
    except CroniterBadDateError:
        return []


def by_cronsim(line: str, start: datetime) -> list[int]:
    try:
        return [millis(moment) for moment in islice(CronSim(line, start), FIRES)]
    except (CronSimError, StopIteration):
        return []


def by_us(line: str, start: datetime) -> list[int]:
    cron = parse_cron(line)
    found: list[int] = []
    instant = next_fire(cron, millis(start))
    while instant is not None and len(found) < FIRES:
        found.append(instant)
        instant = next_fire(cron, instant)
    return found


def millis(moment: datetime) -> int:
    return (moment - EPOCH) // SECOND * 1000


def assert_same(line: str, start: datetime, oracle: Callable[[str, datetime], list[int]]) -> None:
    expected = oracle(line, start)
    assume(expected)  # An engine that gives up early is no witness; lines that never fire have their own tests.
    ours = by_us(line, start)
    assert show(ours[: len(expected)]) == show(expected)


@given(lines(open_weekdays=True), STARTS)
@settings(max_examples=300)
def test_five_fields_fire_as_with_croniter(line: str, start: datetime) -> None:
    assert_same(line, start, by_croniter)


@given(lines(), STARTS)
@settings(max_examples=300)
def test_five_fields_fire_as_with_cronsim(line: str, start: datetime) -> None:
    assert_same(line, start, by_cronsim)


@given(lines(wrap=True), STARTS)
@settings(max_examples=150)
def test_ranges_that_wrap_fire_as_with_croniter(line: str, start: datetime) -> None:
    assert_same(line, start, by_croniter)


@given(lines(seconds=True), STARTS)
@settings(max_examples=150)
def test_six_fields_fire_as_with_cronsim(line: str, start: datetime) -> None:
    assert_same(line, start, by_cronsim)


@given(
    st.tuples(fields(0, 59), fields(0, 23), fields(1, 31), fields(1, 12), fields(0, 6, open_steps=False)).map(" ".join),
    STARTS,
)
@settings(max_examples=150)
def test_steps_of_a_star_for_day_and_weekday_follow_the_vixie_rule_as_with_cronsim(line: str, start: datetime) -> None:
    assert_same(line, start, by_cronsim)


@pytest.mark.parametrize(
    "line", ["0 5 L * *", "0 5 LW * *", "0 5 * * 5L", "0 5 * * FRI#2", "0 5 * * 1#5", "0 5 * * 0L"]
)
@given(start=STARTS)
@settings(max_examples=15)
def test_last_days_fire_as_with_cronsim(line: str, start: datetime) -> None:
    assert_same(line, start, by_cronsim)


@pytest.mark.parametrize("line", ["0 5 15W * *", "0 5 1W * *", "0 5 * * L5", "0 5 * * L1", "0 5 * * 3#4"])
@given(start=STARTS)
@settings(max_examples=15)
def test_working_days_and_last_weekdays_fire_as_with_croniter(line: str, start: datetime) -> None:
    assert_same(line, start, by_croniter)


@given(lines(seconds=True), STARTS, st.integers(0, 3 * 86_400))
@settings(max_examples=200)
def test_listing_counting_and_walking_agree(line: str, start: datetime, length: int) -> None:
    cron, begin, end = parse_cron(line), millis(start), millis(start) + length * 1000

    listed = list(islice(fires_between(cron, begin, end), 2000))

    assert listed[:FIRES] == [instant for instant in by_us(line, start) if instant <= end]
    if len(listed) < 2000:
        assert count_between(cron, begin, end) == len(listed)


@given(lines(seconds=True), STARTS, st.integers(1, 40 * 365 * 86_400), st.floats(0, 1))
@settings(max_examples=150)
def test_the_count_of_a_range_is_the_sum_of_its_parts(line: str, start: datetime, length: int, share: float) -> None:
    cron, begin = parse_cron(line), millis(start)
    middle, end = begin + int(length * share) * 1000, begin + length * 1000

    whole = count_between(cron, begin, end, zone="Europe/Berlin")
    parts = [count_between(cron, a, b, zone="Europe/Berlin") for a, b in ((begin, middle), (middle, end))]

    assert whole == sum(parts)


def test_a_century_of_seconds_is_counted_at_once() -> None:
    cron = parse_cron("* * * * * *")

    count = count_between(cron, ms("2000-01-01") - 1, ms("2100-01-01") - 1, zone="America/New_York")

    assert count == (ms("2100-01-01") - ms("2000-01-01")) // 1000
