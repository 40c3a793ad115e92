"""Reads the zone files of the tzdata package, to have clock changes from another source than the code under test."""

import struct
from datetime import date, datetime
from functools import cache
from importlib.resources import files
from typing import NamedTuple
from zoneinfo import ZoneInfo


class Change(NamedTuple):
    """One clock change, in seconds."""

    instant: int
    before: int
    after: int


def zone_file(name: str) -> bytes:
    return files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()


def packaged_zone(name: str) -> ZoneInfo:
    """The zone of the package, whatever the machine has."""
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def packaged_names() -> list[str]:
    return files("tzdata").joinpath("zones").read_text().split()


@cache
def clock_changes(name: str) -> tuple[Change, ...]:
    """Every change of the offset in the file's 64-bit part; those by rule, after the last one, are not here."""
    content = zone_file(name)
    _, _, _, times, kinds, _, begin = _header(content, _end_of_first_part(content))
    instants = struct.unpack_from(f">{times}q", content, begin)
    indexes = content[begin + 8 * times : begin + 9 * times]
    offsets = [struct.unpack_from(">l", content, begin + 9 * times + 6 * kind)[0] for kind in range(kinds)]
    changes, before = [], offsets[0]
    for instant, index in zip(instants, indexes, strict=True):
        if offsets[index] != before:
            changes.append(Change(instant, before, offsets[index]))
            before = offsets[index]
    return tuple(changes)


def _end_of_first_part(content: bytes) -> int:
    utc_flags, std_flags, leaps, times, kinds, letters, begin = _header(content, 0)
    return begin + 5 * times + 6 * kinds + letters + 8 * leaps + std_flags + utc_flags


def _header(content: bytes, at: int) -> tuple[int, ...]:
    """The six counts, and where the part's content begins."""
    return (*struct.unpack_from(">6l", content, at + 20), at + 44)


@cache
def changes_by_rule(name: str) -> tuple[Change, ...]:
    """The changes of 2024 to 2028 as the zone database tells them, found minute by minute."""
    zone = ZoneInfo(name)
    days = range(_offset_days(2024), _offset_days(2029))
    return tuple(change for day in days for change in _changes_of_day(zone, day))


def _offset_days(year: int) -> int:
    return date(year, 1, 1).toordinal() - date(1970, 1, 1).toordinal()


def _changes_of_day(zone: ZoneInfo, day: int) -> list[Change]:
    start = day * 86_400
    if _offset(zone, start) == _offset(zone, start + 86_400):
        return []
    minutes = range(start, start + 86_400, 60)
    pairs = [(minute + 60, _offset(zone, minute), _offset(zone, minute + 60)) for minute in minutes]
    return [Change(instant, before, after) for instant, before, after in pairs if before != after]


def _offset(zone: ZoneInfo, instant: int) -> int:
    shift = datetime.fromtimestamp(instant, zone).utcoffset()
    assert shift is not None
    return round(shift.total_seconds())
