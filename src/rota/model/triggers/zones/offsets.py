"""The offsets of a time zone as segments between its clock changes, so that a search asks the zone database seldom.

A segment knows what a schedule must know at a clock change: which local times were left out on entering it, and which
of its local times have been there before. Segments are found by probing the zone and kept in spans of about a year.
"""

from datetime import datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from msgspec import Struct

_SPAN_BITS = 25
_SPAN = 1 << _SPAN_BITS
_PROBE = 3 * 86_400
"""Nearer together than any two clock changes of a zone: the nearest on record are 167 hours apart."""
_LOOK_BACK = 3 * _PROBE
"""Farther back than any clock was ever set back, a whole day at the date line included."""
MIN_SECONDS = -62_072_000_000
MAX_SECONDS = 253_370_000_000
"""From the year 3 to the year 9998: within what `datetime` can count, with room for offsets."""
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 (what `fromutc` takes is UTC without saying so)


class Segment(Struct, frozen=True):
    """A stretch of time with one offset. Instants are seconds; local seconds are instants plus the offset."""

    start: int
    end: int
    """Exclusive. The next segment may have the same offset: spans are cut apart too."""
    offset: int
    fresh: int
    """The first local second that the clock had not shown before."""
    gap: int
    """The first local second that was left out on entering; the segment's first local second when none was."""

    @property
    def local_start(self) -> int:
        return self.start + self.offset

    @property
    def local_end(self) -> int:
        return self.end + self.offset


class ZoneOffsets:
    """The segments of one zone. Safe to share between threads: a span that two make at once is the same span."""

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone
        self._spans: dict[int, tuple[Segment, ...]] = {}

    def at(self, instant: int) -> Segment:
        """The segment that holds an instant, in seconds from `MIN_SECONDS` to `MAX_SECONDS`."""
        span = self._spans.get(instant >> _SPAN_BITS)
        if span is None:
            span = self._spans[instant >> _SPAN_BITS] = self._make_span(instant >> _SPAN_BITS << _SPAN_BITS)
        for segment in span:
            if instant < segment.end:
                return segment
        raise AssertionError(f"no segment holds {instant}")

    def _make_span(self, start: int) -> tuple[Segment, ...]:
        end = start + _SPAN
        changes = self._changes(start - _LOOK_BACK, end)
        segments = []
        shown = changes[0][0] + changes[0][1]
        for (since, offset), (until, _) in zip(changes, [*changes[1:], (end, 0)], strict=True):
            if until > start:
                begin = max(since, start)
                gap = min(shown, since + offset) if since >= start else begin + offset
                segments.append(Segment(begin, until, offset, fresh=max(shown, begin + offset), gap=gap))
            shown = max(shown, until + offset)
        return tuple(segments)

    def _changes(self, start: int, end: int) -> list[tuple[int, int]]:
        """(instant, offset from there on), the first at `start`."""
        offset = self._offset(start)
        changes = [(start, offset)]
        for probe in (*range(start + _PROBE, end, _PROBE), end - 1):
            there = self._offset(probe)
            if there != offset:
                changes.append((self._change_between(probe - _PROBE, probe), there))
                offset = there
        return changes

    def _change_between(self, before: int, after: int) -> int:
        """The first instant with the offset of `after`."""
        offset = self._offset(after)
        while after - before > 1:
            middle = (before + after) // 2
            if self._offset(middle) == offset:
                after = middle
            else:
                before = middle
        return after

    def _offset(self, instant: int) -> int:
        moment = self._zone.fromutc((_EPOCH + timedelta(seconds=instant)).replace(tzinfo=self._zone))
        shift = moment.utcoffset()
        return 0 if shift is None else shift.days * 86_400 + shift.seconds


@cache
def offsets_of(name: str) -> ZoneOffsets:
    """The segments of a zone, by its IANA name. There are some 600 names, so all are kept."""
    return ZoneOffsets(ZoneInfo(name))
