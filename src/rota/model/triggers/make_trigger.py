"""Makes triggers from what users write, and refuses what cannot be meant; errors name the user's own field."""

from enum import StrEnum
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rota.errors import InvalidInput
from rota.model.limits import check_range
from rota.model.triggers.cron.check import check_fires
from rota.model.triggers.cron.cron import Days, Dialect
from rota.model.triggers.cron.fires import Dst
from rota.model.triggers.cron.parser import Every, Reboot, parse_cron_line
from rota.model.triggers.durations import MAX_INTERVAL_MS, check_duration
from rota.model.triggers.interval import Anchor, TimeUnit
from rota.model.triggers.trigger import CronTrigger, FrequencyTrigger, IntervalTrigger, OnceTrigger, Progress, Trigger
from rota.model.triggers.zones.dates import parse_instant
from rota.model.triggers.zones.moments import moment
from rota.model.triggers.zones.offsets import MIN_SECONDS
from rota.model.triggers.zones.zones import UTC, parse_zone

MAX_JITTER_MS = 24 * 3600 * 1000
_BEGINNING = MIN_SECONDS * 1000

AnyTrigger = TypeVar("AnyTrigger", CronTrigger, IntervalTrigger, FrequencyTrigger, OnceTrigger)
Choice = TypeVar("Choice", bound=StrEnum)


class Bounds(Struct, frozen=True, kw_only=True):
    """Dates, zone and jitter, read and checked: the same for every kind."""

    start: int | None = None
    end: int | None = None
    tz: str = UTC
    utc: bool = False
    jitter_ms: int = 0

    @property
    def zone(self) -> str:
        return UTC if self.utc else self.tz

    def around(self, trigger: AnyTrigger) -> AnyTrigger:
        """The trigger within these bounds."""
        return replace(trigger, start=self.start, end=self.end, tz=self.tz, utc=self.utc, jitter_ms=self.jitter_ms)


NO_BOUNDS = Bounds()


def read_bounds(
    *, start: object = None, end: object = None, tz: object = None, utc: bool = False, jitter_ms: object = 0
) -> Bounds:
    """Dates are ISO 8601 text or epoch milliseconds; text without an offset is in `tz`, or in UTC."""
    zone = UTC if tz is None or (utc and tz == "") else parse_zone("tz", tz)
    read_in = UTC if utc else zone
    bounds = Bounds(
        start=None if start is None else parse_instant("startDate", start, read_in),
        end=None if end is None else parse_instant("endDate", end, read_in),
        tz=zone,
        utc=utc,
        jitter_ms=check_duration("jitter", jitter_ms, 0, MAX_JITTER_MS),
    )
    _check_order(bounds.start, bounds.end, bounds.zone)
    return bounds


def make_cron(
    line: str,
    bounds: Bounds = NO_BOUNDS,
    *,
    dialect: object = Dialect.AUTO,
    dst: object = Dst.VIXIE,
    days: object = Days.EITHER,
    now: int | None = None,
    where: str = "cron",
) -> CronTrigger | IntervalTrigger:
    """A cron line, or the interval of `@every`. See `check_cron` for what is refused."""
    numbering = parse_choice("dialect", Dialect, dialect)
    read = parse_cron_line(line, numbering, where=where)
    if isinstance(read, Reboot):
        raise InvalidInput(where, '"@reboot" names no time: it means once, when the machine starts')
    if isinstance(read, Every):
        return make_interval(read.every_ms, bounds, where=where)
    trigger = CronTrigger(
        cron=line, dialect=numbering, days=parse_choice("days", Days, days), dst=parse_choice("dst", Dst, dst)
    )
    return check_cron(bounds.around(trigger), now=now, where=where)


def make_interval(
    every_ms: object,
    bounds: Bounds = NO_BOUNDS,
    *,
    anchor: object = Anchor.START,
    phase_ms: object = 0,
    where: str = "interval",
) -> IntervalTrigger:
    """Every so many milliseconds."""
    trigger = IntervalTrigger(
        every_ms=check_duration(where, every_ms, 1, MAX_INTERVAL_MS),
        anchor=parse_choice("anchor", Anchor, anchor),
        phase_ms=check_duration("phase", phase_ms, 0, MAX_INTERVAL_MS),
    )
    return bounds.around(trigger)


def make_frequency(time: object, unit: object, bounds: Bounds = NO_BOUNDS) -> FrequencyTrigger:
    """Every n units."""
    known = parse_choice("timeUnit", TimeUnit, unit)
    count = check_range("time", time, 1, MAX_INTERVAL_MS // known.millis)
    return bounds.around(FrequencyTrigger(time=count, unit=known))


def make_once(bounds: Bounds = NO_BOUNDS, *, at: object = None, delay_ms: object = None) -> OnceTrigger:
    """At an instant (ISO 8601 text or epoch milliseconds), or after a delay in milliseconds."""
    if (at is None) == (delay_ms is None):
        raise InvalidInput("at", "give an instant or a delay, and not both")
    trigger = OnceTrigger(
        at=None if at is None else parse_instant("at", at, bounds.zone),
        delay_ms=None if delay_ms is None else check_duration("delay", delay_ms, 0, MAX_INTERVAL_MS),
    )
    return bounds.around(trigger)


def check_trigger(trigger: Trigger, *, now: int | None = None) -> None:
    """Refuse a trigger, such as one decoded from JSON, that the makers above would not have made."""
    parse_zone("tz", trigger.tz)
    _check_order(trigger.start, trigger.end, trigger.zone)
    check_duration("jitter", trigger.jitter_ms, 0, MAX_JITTER_MS)
    match trigger:
        case CronTrigger():
            check_cron(trigger, now=now)
        case IntervalTrigger():
            make_interval(trigger.every_ms, anchor=trigger.anchor, phase_ms=trigger.phase_ms)
        case FrequencyTrigger():
            make_frequency(trigger.time, trigger.unit)
        case OnceTrigger():
            make_once(at=trigger.at, delay_ms=trigger.delay_ms)


def check_cron(trigger: CronTrigger, *, now: int | None = None, where: str = "cron") -> CronTrigger:
    """Refuse a line that cannot fire: ever, or, when `now` is given, from then on within the bounds.

    Without `now` a line whose time is over is fine: a configuration file must not stop loading when a year ends.
    """
    cron = trigger.parsed(Progress())
    after = _BEGINNING if now is None else max(now, _BEGINNING if trigger.start is None else trigger.start - 1)
    first = check_fires(cron, after, zone=trigger.zone, dst=trigger.dst, where=where)
    if now is not None and trigger.end is not None and first > trigger.end:
        at = moment(first, trigger.zone)
        raise InvalidInput(where, f'"{cron.text}" never fires before its end; its next time would be {at}')
    return trigger


def parse_choice(field: str, kind: type[Choice], value: object) -> Choice:
    """A member of an enumeration by its value, in any case."""
    for member in kind:
        if isinstance(value, str) and member.value.lower() == value.lower():
            return member
    raise InvalidInput(field, f"must be one of {', '.join(kind)}, got {value!r}")


def _check_order(start: int | None, end: int | None, zone: str) -> None:
    if start is not None and end is not None and end < start:
        raise InvalidInput("endDate", f"{moment(end, zone)} is before the start, {moment(start, zone)}")
