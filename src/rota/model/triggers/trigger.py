"""A trigger: cron, interval, frequency or once, with its bounds, zone and jitter. All kinds answer the same questions.

A nominal instant is when the trigger says; the due instant is later by the jitter. Identity is by the nominal one.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Protocol

from msgspec import Struct

from rota.model.triggers.cron.cron import Cron, Days, Dialect
from rota.model.triggers.cron.fires import Dst, count_between, fires_between, next_fire
from rota.model.triggers.cron.parser import parse_cron
from rota.model.triggers.interval import Anchor, TimeUnit, count_in_series, next_in_series, next_unit
from rota.model.triggers.jitter import jitter_of
from rota.model.triggers.once import instant_of_once, next_once


class Progress(Struct, frozen=True, kw_only=True):
    """What a trigger must know of its schedule."""

    schedule: str = ""
    """Its id. `H` and the jitter are hashed from it."""
    created_at: int = 0
    last_scheduled: int | None = None
    """When it last made a job."""
    last_ended: int | None = None
    """When the last run of such a job ended."""


class TriggerBase(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    """What every kind has. Bounds are inclusive."""

    start: int | None = None
    end: int | None = None
    tz: str = "UTC"
    utc: bool = False
    """True makes the zone UTC, whatever `tz` says."""
    jitter_ms: int = 0
    """Each fire is late by a fixed share of this, and never as late as the next one."""

    @property
    def zone(self) -> str:
        return "UTC" if self.utc else self.tz

    @property
    def is_series(self) -> bool:
        """All fires are known beforehand. The others know only the next one, which stays due until it is fired."""
        return True


class CronTrigger(TriggerBase, frozen=True, kw_only=True, tag="cron"):
    """At the times of a cron line, in a zone."""

    cron: str
    dialect: Dialect = Dialect.AUTO
    days: Days = Days.EITHER
    dst: Dst = Dst.VIXIE

    def parsed(self, progress: Progress) -> Cron:
        return _cron_of(self.cron, self.dialect, self.days, progress.schedule)

    def next_after(self, after: int, progress: Progress) -> int | None:
        return next_fire(self.parsed(progress), after, self.zone, self.dst)

    def count(self, after: int, until: int, progress: Progress) -> int:
        return count_between(self.parsed(progress), after, until, zone=self.zone, dst=self.dst)

    def between(self, after: int, until: int, progress: Progress) -> Iterator[int]:
        return fires_between(self.parsed(progress), after, until, zone=self.zone, dst=self.dst)


class _Series(Protocol):
    def _series(self, after: int, progress: Progress) -> tuple[int, int]:
        """(first instant, period)."""
        ...


class _Periodic(TriggerBase, frozen=True, kw_only=True):
    """Kinds whose fires are a series of equal steps, or a single one: they know an anchor and a period. Each kind has a
    series of its own; a struct cannot be an abstract class."""

    def next_after(self: _Series, after: int, progress: Progress) -> int | None:
        first, period = self._series(after, progress)
        return next_in_series(first, period, after)

    def count(self: _Series, after: int, until: int, progress: Progress) -> int:
        first, period = self._series(after, progress)
        return count_in_series(first, period, after_ms=after, until_ms=until)

    def between(self: _Series, after: int, until: int, progress: Progress) -> Iterator[int]:
        first, period = self._series(after, progress)
        return iter(range(next_in_series(first, period, after), until + 1, period))


class IntervalTrigger(_Periodic, frozen=True, kw_only=True, tag="interval"):
    """Every so many milliseconds."""

    every_ms: int
    anchor: Anchor = Anchor.START
    phase_ms: int = 0
    """With the anchor `epoch`: this long after each multiple of the period."""

    @property
    def is_series(self) -> bool:
        return self.anchor.is_series

    def _series(self, after: int, progress: Progress) -> tuple[int, int]:
        if self.anchor is Anchor.EPOCH:
            return after - (after - self.phase_ms) % self.every_ms, self.every_ms
        first = progress.created_at + self.every_ms if self.start is None else self.start
        return first, self.every_ms

    def next_after(self, after: int, progress: Progress) -> int | None:
        """None also while a pause between runs cannot be counted yet, because the run goes on."""
        if self.is_series:
            return super().next_after(after, progress)
        due = self._due(progress)
        return None if due is None else next_in_series(due, self.every_ms, after)

    def _due(self, progress: Progress) -> int | None:
        scheduled, ended = progress.last_scheduled, progress.last_ended
        if scheduled is None:
            return progress.created_at if self.start is None else self.start
        if self.anchor is Anchor.SCHEDULED:
            return scheduled + self.every_ms
        return None if ended is None or ended < scheduled else ended + self.every_ms

    def count(self, after: int, until: int, progress: Progress) -> int:
        if self.is_series:
            return super().count(after, until, progress)
        return sum(1 for _ in self.between(after, until, progress))

    def between(self, after: int, until: int, progress: Progress) -> Iterator[int]:
        if self.is_series:
            return super().between(after, until, progress)
        due = self.next_after(after, progress)
        return iter(() if due is None or due > until else (due,))


class FrequencyTrigger(_Periodic, frozen=True, kw_only=True, tag="frequency"):
    """Every n units, from the start, or from the next exact unit after the schedule was made (light scheduler)."""

    time: int
    unit: TimeUnit

    def _series(self, after: int, progress: Progress) -> tuple[int, int]:
        first = next_unit(progress.created_at, self.unit) if self.start is None else self.start
        return first, self.time * self.unit.millis


class OnceTrigger(TriggerBase, frozen=True, kw_only=True, tag="once"):
    """At one instant, or this long after the schedule was made."""

    at: int | None = None
    delay_ms: int | None = None

    def next_after(self, after: int, progress: Progress) -> int | None:
        return next_once(instant_of_once(self.at, self.delay_ms, progress.created_at), after)

    def count(self, after: int, until: int, progress: Progress) -> int:
        return sum(1 for _ in self.between(after, until, progress))

    def between(self, after: int, until: int, progress: Progress) -> Iterator[int]:
        instant = self.next_after(after, progress)
        return iter(() if instant is None or instant > until else (instant,))


Trigger = CronTrigger | IntervalTrigger | FrequencyTrigger | OnceTrigger
"""What a schedule holds; in JSON the field `kind` tells which."""


@lru_cache(maxsize=8192)
def _parsed(text: str, dialect: Dialect, days: Days, schedule: str) -> Cron:
    return parse_cron(text, dialect, seed=schedule, days=days)


def _cron_of(text: str, dialect: Dialect, days: Days, schedule: str) -> Cron:
    """Schedules with the same line share one tree, unless the line has an `H`."""
    cron = _parsed(text, dialect, days, "")
    return _parsed(text, dialect, days, schedule) if cron.uses_hash else cron


def next_nominal(trigger: Trigger, after: int, progress: Progress) -> int | None:
    """The first nominal instant strictly after another, within the bounds; None when none is known.

    To let a new schedule fire at the very instant of its creation, ask from the millisecond before.
    """
    if trigger.start is not None:
        after = max(after, trigger.start - 1)
    found = trigger.next_after(after, progress)
    return None if found is None or (trigger.end is not None and found > trigger.end) else found


def count_nominals(trigger: Trigger, after: int, until: int, progress: Progress) -> int:
    """How many nominal instants lie in (after, until], within the bounds. Never iterates over them."""
    after, until = _bounded(trigger, after, until)
    return trigger.count(after, until, progress) if after < until else 0


def nominals_between(trigger: Trigger, after: int, until: int, progress: Progress) -> Iterator[int]:
    """The nominal instants in (after, until], within the bounds; made as they are asked for."""
    after, until = _bounded(trigger, after, until)
    return trigger.between(after, until, progress) if after < until else iter(())


def _bounded(trigger: Trigger, after: int, until: int) -> tuple[int, int]:
    after = after if trigger.start is None else max(after, trigger.start - 1)
    return after, until if trigger.end is None else min(until, trigger.end)


def last_nominal(trigger: Trigger, after: int, until: int, progress: Progress) -> int | None:
    """The latest nominal instant in (after, until], found by halving the range."""
    low = next_nominal(trigger, after, progress)
    if low is None or low > until:
        return None
    if not trigger.is_series:
        return low
    high = until
    while low < high:
        middle = (low + high) // 2
        found = next_nominal(trigger, middle, progress)
        if found is not None and found <= high:
            low = found
        else:
            high = middle
    return low


def due_at(trigger: Trigger, nominal: int, progress: Progress) -> int:
    """When a tick is due: its nominal instant plus a jitter that stays below the distance to the next."""
    if not trigger.jitter_ms:
        return nominal
    following = next_nominal(trigger, nominal, progress) if trigger.is_series else None
    limit = trigger.jitter_ms if following is None else min(trigger.jitter_ms, following - nominal)
    return nominal + jitter_of(progress.schedule, nominal, limit)
