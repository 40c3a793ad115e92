"""The segments of every zone, against the zone files themselves."""

from itertools import pairwise

import pytest

from rota.model.triggers.zones.offsets import Segment, ZoneOffsets, offsets_of
from tests.model.triggers.instants import ms
from tests.model.triggers.tzif import clock_changes, packaged_names, packaged_zone, zone_file

DAY = 86_400
FAR = ms("2040-01-01") // 1000


def within(changes: list[tuple[int, ...]], end: int) -> list[tuple[int, ...]]:
    return [change for change in changes if change[0] < end]


def segments_between(offsets: ZoneOffsets, start: int, end: int) -> list[Segment]:
    found = [offsets.at(start)]
    while found[-1].end < end:
        found.append(offsets.at(found[-1].end))
    return found


def changes_found(name: str, start: int, end: int) -> list[tuple[int, ...]]:
    segments = segments_between(ZoneOffsets(packaged_zone(name)), start, end)
    return [(b.start, a.offset, b.offset) for a, b in pairwise(segments) if a.offset != b.offset and b.start < end]


@pytest.mark.parametrize("initial", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
def test_every_clock_change_on_file_since_1980_is_found_to_the_second(initial: str) -> None:
    start = ms("1980-01-01") // 1000
    # Many names are links: one of each file is enough.
    zones = {zone_file(name): name for name in packaged_names() if name.startswith(initial)}.values()

    for name in zones:
        expected = [tuple(change) for change in clock_changes(name) if change.instant > start]
        if expected:
            assert changes_found(name, start, min(expected[-1][0] + 1, FAR)) == within(expected, FAR), name


@pytest.mark.parametrize("name", ["Europe/Berlin", "America/St_Johns", "Africa/Casablanca", "Asia/Manila", "Asia/Gaza"])
def test_every_clock_change_of_history_is_found(name: str) -> None:
    expected = [tuple(change) for change in clock_changes(name)]

    assert changes_found(name, ms("1800-01-01") // 1000, expected[-1][0] + 1) == expected


def test_changes_by_rule_are_found_far_in_the_future() -> None:
    # 2090: the last Sundays of March and October are the 26th and the 29th.
    found = changes_found("Europe/Berlin", ms("2090-01-01") // 1000, ms("2091-01-01") // 1000)

    assert found == [
        (ms("2090-03-26T01:00") // 1000, 3600, 7200),
        (ms("2090-10-29T01:00") // 1000, 7200, 3600),
    ]


def test_no_two_clock_changes_are_nearer_than_the_search_assumes() -> None:
    nearest = min(
        later.instant - earlier.instant for name in packaged_names() for earlier, later in pairwise(clock_changes(name))
    )

    assert nearest > 4 * DAY


def test_segments_follow_each_other_without_a_hole() -> None:
    segments = segments_between(offsets_of("Europe/Berlin"), 0, 10 * 365 * DAY)

    assert all(a.end == b.start for a, b in pairwise(segments))


def test_a_segment_knows_what_was_left_out_and_what_was_there_before() -> None:
    spring = offsets_of("Europe/Berlin").at(ms("2026-03-29T01:00") // 1000)
    autumn = offsets_of("Europe/Berlin").at(ms("2026-10-25T01:00") // 1000)

    assert (spring.local_start - spring.gap, spring.fresh - spring.local_start) == (3600, 0)
    assert (autumn.local_start - autumn.gap, autumn.fresh - autumn.local_start) == (0, 3600)
