"""The times of day at which a cron line matches, as tables: the next match is found by three look-ups."""

from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

DAY_SECONDS = 86_400


class TimesOfDay(Struct, frozen=True):
    """Every second of the day whose hour, minute and second all match."""

    hours: tuple[int, ...]
    minutes: tuple[int, ...]
    seconds: tuple[int, ...]
    next_hour: tuple[int, ...]
    """By hour: the first matching one from there on, 24 when there is none. Minutes and seconds likewise."""
    next_minute: tuple[int, ...]
    next_second: tuple[int, ...]
    first: int
    last: int
    per_day: int

    def at_or_after(self, second: int) -> int:
        """The first match from this second of the day on; `DAY_SECONDS` when the day has no more."""
        hour, rest = divmod(second, 3600)
        next_hour = self.next_hour[hour]
        if next_hour == hour:
            found = self._within_hour(rest)
            if found < 3600:
                return hour * 3600 + found
            next_hour = self.next_hour[hour + 1]
        if next_hour == 24:
            return DAY_SECONDS
        return next_hour * 3600 + self.minutes[0] * 60 + self.seconds[0]

    def _within_hour(self, rest: int) -> int:
        """The first match from this second of the hour on; 3600 when the hour has no more."""
        minute, second = divmod(rest, 60)
        next_minute = self.next_minute[minute]
        if next_minute == minute:
            next_second = self.next_second[second]
            if next_second < 60:
                return minute * 60 + next_second
            next_minute = self.next_minute[minute + 1]
        return next_minute * 60 + (self.seconds[0] if next_minute < 60 else 0)

    def count_before(self, second: int) -> int:
        """How many matches of a day lie before this second."""
        hour, minute, second = second // 3600, second // 60 % 60, second % 60
        hours, minutes = bisect_left(self.hours, hour), bisect_left(self.minutes, minute)
        count = hours * len(self.minutes) * len(self.seconds)
        if self.next_hour[hour] == hour:
            count += minutes * len(self.seconds)
            if self.next_minute[minute] == minute:
                count += bisect_left(self.seconds, second)
        return count

    def between(self, start: int, end: int) -> Iterator[int]:
        """The matches from `start` to before `end`, both seconds of the day."""
        for hour in self.hours[bisect_left(self.hours, start // 3600) :]:
            for minute in self.minutes:
                base = hour * 3600 + minute * 60
                if base + 60 <= start:
                    continue
                if base >= end:
                    return
                for second in self.seconds:
                    if start <= base + second < end:
                        yield base + second


def times_of_day(hours: tuple[int, ...], minutes: tuple[int, ...], seconds: tuple[int, ...]) -> TimesOfDay:
    """The tables for these values, each sorted and not empty."""
    return TimesOfDay(
        hours=hours,
        minutes=minutes,
        seconds=seconds,
        next_hour=next_table(hours, 24),
        next_minute=next_table(minutes, 60),
        next_second=next_table(seconds, 60),
        first=hours[0] * 3600 + minutes[0] * 60 + seconds[0],
        last=hours[-1] * 3600 + minutes[-1] * 60 + seconds[-1],
        per_day=len(hours) * len(minutes) * len(seconds),
    )


@lru_cache(maxsize=4096)
def next_table(values: tuple[int, ...], size: int) -> tuple[int, ...]:
    """For each number up to `size`: the first of the values from there on, or `size`."""
    table: list[int] = []
    for value in (*values, size):
        table.extend([value] * (value + 1 - len(table)))
    return tuple(table)
