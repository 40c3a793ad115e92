"""A cron line once it is read: the tree of its fields, and the tables that find its matches in local time.

Local time here is a plain count of seconds since 1970-01-01 00:00 on the wall clock; `cron_fires` joins it to a zone.
"""

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from rota.model.triggers.cron.calendar import Calendar
from rota.model.triggers.cron.fields import Field
from rota.model.triggers.cron.times import DAY_SECONDS, TimesOfDay


class Dialect(StrEnum):
    """How weekdays are numbered. The rest of the grammar is the same."""

    AUTO = "auto"
    """Quartz if the line has a `?` or seven fields, else Unix."""
    UNIX = "unix"
    """0 and 7 are Sunday."""
    QUARTZ = "quartz"
    """1 is Sunday, 7 is Saturday."""


class Days(StrEnum):
    """What holds when day and weekday are both restricted."""

    EITHER = "either"
    """One of them is enough, as in Unix. A field that begins with `*` does not count as restricted: then both hold."""
    BOTH = "both"


class Cron(Struct, frozen=True, kw_only=True):
    """A cron line. The fields are for people, `times` and `calendar` for the search."""

    text: str
    dialect: Dialect
    """Unix or Quartz, never `auto`."""
    days: Days
    field_count: int
    second: Field
    minute: Field
    hour: Field
    day: Field
    month: Field
    weekday: Field
    year: Field | None
    times: TimesOfDay
    calendar: Calendar
    takes_itself_for_quartz: bool
    """Whether nobody said that it is Quartz; the form of the line decided."""
    is_interval_like: bool
    """Second, minute or hour has a `*`, a range or a step: the line follows real time through a clock change. Otherwise
    it names times of day, and fires once for each."""
    uses_hash: bool
    """It has an `H`, so its meaning depends on the name of its schedule."""

    def next_local(self, local: int) -> int | None:
        """The first match from this second on; None when there is none."""
        day, second = divmod(local, DAY_SECONDS)
        found = self.calendar.at_or_after(day)
        if found == day:
            time = self.times.at_or_after(second)
            if time < DAY_SECONDS:
                return day * DAY_SECONDS + time
            found = self.calendar.at_or_after(day + 1)
        return None if found is None else found * DAY_SECONDS + self.times.first

    def count_local(self, start: int, end: int) -> int:
        """How many matches lie from `start` to before `end`."""
        if start >= end:
            return 0
        first_day, first_second = divmod(start, DAY_SECONDS)
        last_day, last_second = divmod(end, DAY_SECONDS)
        whole = self.calendar.count_between(first_day, last_day) * self.times.per_day
        return whole + self._count_in_day(last_day, last_second) - self._count_in_day(first_day, first_second)

    def _count_in_day(self, day: int, second: int) -> int:
        if not second or self.calendar.at_or_after(day) != day:
            return 0
        return self.times.count_before(second)

    def local_between(self, start: int, end: int) -> Iterator[int]:
        """The matches from `start` to before `end`."""
        last_day = -(-end // DAY_SECONDS)
        for day in self.calendar.between(start // DAY_SECONDS, last_day):
            base = day * DAY_SECONDS
            for time in self.times.between(max(0, start - base), min(DAY_SECONDS, end - base)):
                yield base + time
