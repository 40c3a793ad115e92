"""The days on which a cron line matches. A month's days depend only on its length and on the weekday of its first day,
so 28 bit masks answer for every month there is."""

from bisect import bisect_left
from collections.abc import Iterator
from datetime import date
from functools import lru_cache

from msgspec import Struct

from rota.model.triggers.cron.fields import DayRule, Field, RuleKind
from rota.model.triggers.cron.times import next_table

EPOCH_ORDINAL = 719_163
"""Proleptic ordinal of 1970-01-01; days here are counted from it."""
MAX_WAIT_YEARS = 41
"""Within 40 years every kind of year occurs: a leap year or not, beginning on each weekday. So what does not match
within them never will, unless the years are limited."""
_LAST_YEAR = 9999
_MONTH_LENGTHS = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_ALL_DAYS = 0xFFFF_FFFE


class Calendar(Struct, frozen=True):
    """Every day that matches. Bit n of a mask is day n of the month."""

    masks: tuple[int, ...]
    next_month: tuple[int, ...]
    """By month: the first matching one from there on, 13 when there is none."""
    years: tuple[int, ...] | None
    """None for every year."""
    weekday_waits: tuple[int, ...] | None
    """When weekdays alone decide: by weekday from Thursday, as 1970-01-01 was, the days until the next match."""

    def at_or_after(self, day: int) -> int | None:
        """The first matching day from this one on; None when there is none."""
        if self.weekday_waits:
            return day + self.weekday_waits[day % 7]
        moment = date.fromordinal(day + EPOCH_ORDINAL)
        year, month, least = moment.year, moment.month, moment.day
        last_year = self.years[-1] if self.years else min(year + MAX_WAIT_YEARS, _LAST_YEAR)
        while year <= last_year:
            found = self._in_year(year, month, least)
            if found is not None:
                return found
            year, month, least = self._year_from(year + 1), 1, 1
        return None

    def _in_year(self, year: int, month: int, least: int) -> int | None:
        if self._year_from(year) != year:
            return None
        next_month = self.next_month[month]
        if next_month != month:
            month, least = next_month, 1
        while month <= 12:
            days = self.days_of(year, month) >> least
            if days:
                first = least + (days & -days).bit_length() - 1
                return date(year, month, first).toordinal() - EPOCH_ORDINAL
            month, least = self.next_month[month + 1], 1
        return None

    def _year_from(self, year: int) -> int:
        """The first matching year from this one on, beyond all years when there is none."""
        if self.years is None:
            return year
        index = bisect_left(self.years, year)
        return self.years[index] if index < len(self.years) else _LAST_YEAR + 1

    def days_of(self, year: int, month: int) -> int:
        """The mask of a month that matches itself."""
        length = _month_length(year, month)
        return self.masks[(length - 28) * 7 + date(year, month, 1).isoweekday() % 7]

    def count_between(self, start: int, end: int) -> int:
        """How many days match from `start` to before `end`."""
        if self.weekday_waits and not any(self.weekday_waits):
            return max(0, end - start)
        return sum(mask.bit_count() for _, mask in self._months_between(start, end))

    def between(self, start: int, end: int) -> Iterator[int]:
        """The matching days from `start` to before `end`."""
        for base, mask in self._months_between(start, end):
            while mask:
                yield base + (mask & -mask).bit_length() - 1
                mask &= mask - 1

    def _months_between(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """For each matching month, cut to the range: the day before its first, and its mask."""
        day = self.at_or_after(start)
        while day is not None and day < end:
            moment = date.fromordinal(day + EPOCH_ORDINAL)
            base = day - moment.day
            mask = self.days_of(moment.year, moment.month) >> moment.day << moment.day
            yield base, mask & ((1 << min(end - base, 32)) - 1)
            day = self.at_or_after(base + _month_length(moment.year, moment.month) + 1)


def _month_length(year: int, month: int) -> int:
    is_leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return _MONTH_LENGTHS[month] + is_leap


def calendar_of(day: Field, month: Field, *, weekday: Field, year: Field | None, both: bool) -> Calendar:
    """The days on which these fields match. `both` makes day and weekday agree also where Unix takes either."""
    years = None if year is None or year.is_full else year.values
    is_plain = day.is_full and month.is_full and years is None and not weekday.rules and day.is_open
    return Calendar(
        masks=_masks(day, weekday, both),
        next_month=next_table(month.values, 13),
        years=years,
        weekday_waits=_weekday_waits(weekday.values) if is_plain else None,
    )


def _weekday_waits(weekdays: tuple[int, ...]) -> tuple[int, ...]:
    """Days to wait from each weekday, from Thursday on."""
    return tuple(min((weekday - today) % 7 for weekday in weekdays) for today in (4, 5, 6, 0, 1, 2, 3))


@lru_cache(maxsize=1024)
def _masks(day: Field, weekday: Field, both: bool) -> tuple[int, ...]:
    """By length of the month from 28, then by weekday of its first day from Sunday."""
    either = not (both or day.is_open or weekday.is_open)
    masks = []
    for length in range(28, 32):
        for first in range(7):
            by_day, by_weekday = _day_mask(day, length, first), _weekday_mask(weekday, length, first)
            masks.append(by_day | by_weekday if either else by_day & by_weekday)
    return tuple(masks)


def _day_mask(field: Field, length: int, first: int) -> int:
    mask = sum(1 << value for value in field.values)
    for rule in field.rules:
        mask |= 1 << _day_of_rule(rule, length, first)
    return mask & _ALL_DAYS & ((2 << length) - 1)


def _day_of_rule(rule: DayRule, length: int, first: int) -> int:
    """The day of the month; 0 or less when this month has no such day."""
    if rule.kind is RuleKind.LAST_DAY:
        return max(0, length - rule.number)
    if rule.kind is RuleKind.LAST_WORKDAY:
        return _nearest_workday(length - rule.number, length, first) if rule.number < length else 0
    return _nearest_workday(rule.number, length, first) if rule.number <= length else 0


def _nearest_workday(day: int, length: int, first: int) -> int:
    """The nearest day from Monday to Friday that is in the same month."""
    weekday = (first + day - 1) % 7
    if weekday == 6:
        return day - 1 if day > 1 else day + 2
    if weekday == 0:
        return day + 1 if day < length else day - 2
    return day


def _weekday_mask(field: Field, length: int, first: int) -> int:
    mask = 0
    for weekday in field.values:
        for day in range(1 + (weekday - first) % 7, length + 1, 7):
            mask |= 1 << day
    for rule in field.rules:
        days = range(1 + (rule.number - first) % 7, length + 1, 7)
        if rule.kind is RuleKind.LAST_OF_WEEKDAY:
            mask |= 1 << days[-1]
        elif rule.nth <= len(days):
            mask |= 1 << days[rule.nth - 1]
    return mask
