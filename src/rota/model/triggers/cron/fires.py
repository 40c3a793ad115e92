"""When a cron line fires in a time zone: the next time, all times of a range, and how many they are.

Matches are sought in local time, one segment of constant offset after another. At a clock change the rule decides:

| `dst`     | local time left out (gap)                | local time shown twice                            |
|-----------|------------------------------------------|---------------------------------------------------|
| `vixie`   | fixed times fire once, when the gap ends | fixed times fire the first time, others each time |
| `literal` | nothing fires                            | everything fires each time                        |
| `skip`    | nothing fires                            | everything fires the first time only              |

A line is *interval-like*, not *fixed*, if its second, minute or hour has a `*`, a range or a step. With `vixie` no
day's work is lost, however a line is spelled: if a gap takes all times that an interval-like line has on a day, as of
`*/30 2 * * *`, it fires once too, when the gap ends. One that has other times on that day just goes on.
"""

from collections.abc import Iterator
from enum import StrEnum

from rota.model.triggers.cron.cron import Cron
from rota.model.triggers.cron.times import DAY_SECONDS
from rota.model.triggers.zones.offsets import MAX_SECONDS, MIN_SECONDS, Segment, ZoneOffsets, offsets_of

_TWO_DAYS = 2 * 86_400
"""More than any clock was ever set back."""
_HORIZON = 42 * 366 * 86_400
"""A little more than `cron_calendar.MAX_WAIT_YEARS`."""


class Dst(StrEnum):
    """What a schedule does when the clock changes."""

    VIXIE = "vixie"
    LITERAL = "literal"
    SKIP = "skip"


def fires_once(cron: Cron, dst: Dst) -> bool:
    """Whether a local time that is shown twice counts the first time only."""
    return dst == "skip" or (dst == "vixie" and not cron.is_interval_like)


def makes_up(cron: Cron, dst: Dst, segment: Segment) -> bool:
    """Whether local times that are left out on entering a segment fire once, when it begins."""
    gap, end = segment.gap, segment.local_start
    if dst != "vixie" or gap >= end:
        return False
    if cron.is_interval_like:
        return any(_takes_all_of_day(cron, day, gap, end) for day in range(gap // DAY_SECONDS, end // DAY_SECONDS + 1))
    left_out = cron.next_local(gap)
    return left_out is not None and left_out < end


def _takes_all_of_day(cron: Cron, day: int, gap: int, end: int) -> bool:
    """Whether a gap in local time takes everything that a line has on a day."""
    first, last = day * DAY_SECONDS + cron.times.first, day * DAY_SECONDS + cron.times.last
    return gap <= first and last < end and cron.next_local(first) == first


def next_fire(cron: Cron, after_ms: int, zone: str = "UTC", dst: Dst = Dst.VIXIE) -> int | None:
    """The first fire strictly after an instant; None when there is none."""
    instant = max(after_ms // 1000 + 1, MIN_SECONDS)
    if instant >= MAX_SECONDS:
        return None
    segment = offsets_of(zone).at(instant)
    local = instant + segment.offset
    if segment.fresh > local and fires_once(cron, dst):
        local = segment.fresh
    found = cron.next_local(local)
    # The common case first: nothing was left out just now, and the match is in this segment.
    if found is not None and found < segment.end + segment.offset and instant != segment.start:
        return (found - segment.offset) * 1000
    search = _Search(cron, offsets_of(zone), dst)
    answer = search.run(instant)
    return None if answer is None else answer * 1000


class _Search:
    """A walk over segments for the first fire at or after an instant. Instants are seconds here.

    It keeps the last local match: until the clock shows an earlier time again, or passes it, it stays the next one.
    """

    def __init__(self, cron: Cron, offsets: ZoneOffsets, dst: Dst) -> None:
        self._cron = cron
        self._offsets = offsets
        self._once = fires_once(cron, dst)
        self._dst = dst
        self._sought_from = 0
        self._match: int | None = None
        self._is_fresh = False

    def run(self, instant: int) -> int | None:
        begin, limit = instant, MAX_SECONDS if self._cron.calendar.years else min(MAX_SECONDS, instant + _HORIZON)
        while instant < limit:
            segment = self._offsets.at(instant)
            found = self._first_in(segment, instant)
            if found is not None:
                return found
            instant = segment.end
            if instant - begin > _TWO_DAYS:
                # No clock goes back to where the search was, so the match found holds, and the way to it is empty.
                if self._match is None:
                    return None
                instant = max(instant, self._match - _TWO_DAYS)
        return None

    def _first_in(self, segment: Segment, instant: int) -> int | None:
        local = instant + segment.offset
        if instant == segment.start and makes_up(self._cron, self._dst, segment):
            return instant
        match = self._next_local(max(local, segment.fresh) if self._once else local)
        if match is None or match >= segment.local_end:
            return None
        return match - segment.offset

    def _next_local(self, local: int) -> int | None:
        is_known = self._is_fresh and self._sought_from <= local and (self._match is None or local <= self._match)
        if not is_known:
            self._match, self._sought_from, self._is_fresh = self._cron.next_local(local), local, True
        return self._match


def fires_between(
    cron: Cron, after_ms: int, until_ms: int, *, zone: str = "UTC", dst: Dst = Dst.VIXIE
) -> Iterator[int]:
    """Every fire after the first instant up to the second, which is included; made as they are asked for."""
    offsets, once = offsets_of(zone), fires_once(cron, dst)
    for segment, start, end in _pieces(offsets, after_ms, until_ms):
        local = start + segment.offset
        if start == segment.start and makes_up(cron, dst, segment):
            yield start * 1000
            local += 1
        if once:
            local = max(local, segment.fresh)
        for match in cron.local_between(local, end + segment.offset):
            yield (match - segment.offset) * 1000


def count_between(cron: Cron, after_ms: int, until_ms: int, *, zone: str = "UTC", dst: Dst = Dst.VIXIE) -> int:
    """How many fires there are after the first instant up to the second, which is included.

    Exact, and counted by the month and by the clock change, not by the fire: a century of seconds takes milliseconds.
    """
    offsets, once = offsets_of(zone), fires_once(cron, dst)
    count = 0
    for segment, start, end in _pieces(offsets, after_ms, until_ms):
        local = start + segment.offset
        if start == segment.start and makes_up(cron, dst, segment):
            count += 1
            local += 1
        if once:
            local = max(local, segment.fresh)
        count += cron.count_local(local, end + segment.offset)
    return count


def _pieces(offsets: ZoneOffsets, after_ms: int, until_ms: int) -> Iterator[tuple[Segment, int, int]]:
    """The segments of a range, each with its first second and the one after its last."""
    start = max(after_ms // 1000 + 1, MIN_SECONDS)
    end = min(until_ms // 1000 + 1, MAX_SECONDS)
    while start < end:
        segment = offsets.at(start)
        yield segment, start, min(end, segment.end)
        start = segment.end
