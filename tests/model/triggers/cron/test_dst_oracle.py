"""Clock changes against a slow and simple engine: it asks the zone database about every minute, and about every local
time that may be missing. It shares no code with the engine under test, not even the reading of lines."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.model.triggers.cron.fires import Dst, count_between, fires_between, next_fire
from rota.model.triggers.cron.parser import parse_cron
from tests.model.triggers.instants import show
from tests.model.triggers.tzif import Change, changes_by_rule, clock_changes

ZONES = [
    "Africa/Cairo",
    "Africa/Casablanca",
    "Africa/El_Aaiun",
    "America/Argentina/San_Luis",
    "America/Asuncion",
    "America/Caracas",
    "America/Godthab",
    "America/Havana",
    "America/New_York",
    "America/Santiago",
    "America/Scoresbysund",
    "America/St_Johns",
    "Antarctica/Casey",
    "Antarctica/Troll",
    "Asia/Amman",
    "Asia/Gaza",
    "Asia/Kathmandu",
    "Asia/Pyongyang",
    "Asia/Tehran",
    "Atlantic/Azores",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Europe/Dublin",
    "Europe/Istanbul",
    "Europe/London",
    "Europe/Moscow",
    "Pacific/Apia",
    "Pacific/Auckland",
    "Pacific/Chatham",
    "Pacific/Fakaofo",
    "Pacific/Kwajalein",
]


class Line(NamedTuple):
    """A cron line and, apart from it, what it means."""

    minute: str
    hour: str
    day: str
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]

    @property
    def text(self) -> str:
        return f"{self.minute} {self.hour} {self.day} * *"

    @property
    def is_fixed(self) -> bool:
        return not any(mark in f"{self.minute} {self.hour}" for mark in "*-/")

    def matches(self, local: datetime) -> bool:
        return local.minute in self.minutes and local.hour in self.hours and local.day in self.days


class Written(NamedTuple):
    """The text of a field and its values."""

    text: str
    values: frozenset[int]


def written(low: int, high: int) -> st.SearchStrategy[Written]:
    numbers = st.integers(low, high)
    steps = st.integers(2, 20)
    whole = range(low, high + 1)
    return st.one_of(
        st.sets(numbers, min_size=1, max_size=4).map(lambda some: Written(",".join(map(str, some)), frozenset(some))),
        st.just(Written("*", frozenset(whole))),
        steps.map(lambda step: Written(f"*/{step}", frozenset(whole[::step]))),
        st.builds(lambda a, n: Written(f"{a}/{n}", frozenset(range(a, high + 1, n))), numbers, steps),
        st.lists(numbers, min_size=2, max_size=2, unique=True)
        .map(sorted)
        .map(lambda pair: Written(f"{pair[0]}-{pair[1]}", frozenset(range(pair[0], pair[1] + 1)))),
    )


def make_line(minute: Written, hour: Written, day: Written) -> Line:
    return Line(minute.text, hour.text, day.text, minute.values, hour.values, day.values)


# Hours near midnight and before dawn, where clocks change; now and then any.
NEAR_HOURS = st.sets(st.sampled_from([23, 0, 1, 2, 3, 4]), min_size=1, max_size=4).map(
    lambda some: Written(",".join(map(str, sorted(some))), frozenset(some))
)
ALL_DAYS = Written("*", frozenset(range(1, 32)))
LINES = st.builds(make_line, written(0, 59), NEAR_HOURS | written(0, 23), st.just(ALL_DAYS) | written(1, 31))


class Window(NamedTuple):
    zone: str
    change: Change


def windows(name: str) -> list[Window]:
    """Changes at full minutes between offsets of full minutes, which is what minutes can tell apart."""
    changes = sorted({*clock_changes(name), *changes_by_rule(name)})
    whole = [change for change in changes if all(number % 60 == 0 for number in change)]
    return [Window(name, change) for change in whole]


WINDOWS = st.sampled_from(ZONES).flatmap(lambda name: st.sampled_from(windows(name)))


def slow_fires(line: Line, zone: ZoneInfo, *, start: datetime, end: datetime, rule: Dst) -> list[int]:
    """Every fire from `start` to `end`, both included."""
    fires: set[datetime] = set()
    for instant in minutes_between(start, end):
        local = instant.astimezone(zone)
        is_second_time = local.fold == 1
        once = rule is Dst.SKIP or (rule is Dst.VIXIE and line.is_fixed)
        if line.matches(local) and not (is_second_time and once):
            fires.add(instant)
    if rule is Dst.VIXIE:
        fires.update(made_up_fires(line, zone, start, end))
    return sorted(round(fire.timestamp()) * 1000 for fire in fires)


def made_up_fires(line: Line, zone: ZoneInfo, start: datetime, end: datetime) -> Iterator[datetime]:
    """For each change forward in the range: its instant, if a local time that it leaves out matches; for lines that are
    not fixed only if it leaves out all of a day."""
    before = (start - timedelta(minutes=1)).astimezone(zone).replace(tzinfo=None)
    for instant in minutes_between(start, end):
        after = instant.astimezone(zone).replace(tzinfo=None)
        left_out = list(minutes_between(before + timedelta(minutes=1), after - timedelta(minutes=1)))
        matches = [local for local in left_out if line.matches(local)]
        if matches and (line.is_fixed or any(is_whole_day(line, local, matches) for local in matches)):
            yield instant
        before = after


def is_whole_day(line: Line, local: datetime, matches: list[datetime]) -> bool:
    """Whether these are all matches of their day."""
    midnight = local.replace(hour=0, minute=0)
    day = minutes_between(midnight, midnight + timedelta(hours=23, minutes=59))
    return {one for one in day if line.matches(one)} <= set(matches)


def minutes_between(start: datetime, end: datetime) -> Iterator[datetime]:
    while start <= end:
        yield start
        start += timedelta(minutes=1)


def check(line: Line, window: Window, rule: Dst, shift: int) -> None:
    instant = datetime.fromtimestamp(window.change.instant, UTC)
    margin = timedelta(seconds=abs(window.change.after - window.change.before)) + timedelta(hours=2)
    start, end = instant - margin + timedelta(minutes=shift), instant + margin
    cron, begin, until = parse_cron(line.text), round(start.timestamp() * 1000) - 1, round(end.timestamp() * 1000)

    expected = slow_fires(line, ZoneInfo(window.zone), start=start, end=end, rule=rule)
    listed = list(fires_between(cron, begin, until, zone=window.zone, dst=rule))
    walked, found = [], next_fire(cron, begin, window.zone, rule)
    while found is not None and found <= until:
        walked.append(found)
        found = next_fire(cron, found, window.zone, rule)

    assert show(listed) == show(expected)
    assert walked == listed
    assert count_between(cron, begin, until, zone=window.zone, dst=rule) == len(listed)


@pytest.mark.parametrize("rule", Dst)
@given(line=LINES, window=WINDOWS, shift=st.integers(0, 180))
@settings(max_examples=250)
def test_fires_around_a_clock_change_are_those_of_the_slow_engine(
    rule: Dst, line: Line, window: Window, shift: int
) -> None:
    check(line, window, rule, shift)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("rule", Dst)
def test_a_fixed_and_a_steady_line_at_the_latest_changes_of_each_zone(zone: str, rule: Dst) -> None:
    every_quarter = Written("*/15", frozenset({0, 15, 30, 45}))
    any_hour = Written("*", frozenset(range(24)))
    fixed = Written("10,40", frozenset({10, 40}))
    near = Written("0,1,2,3,23", frozenset({0, 1, 2, 3, 23}))

    for window in windows(zone)[-4:]:
        check(make_line(every_quarter, any_hour, ALL_DAYS), window, rule, 0)
        check(make_line(fixed, near, ALL_DAYS), window, rule, 0)
