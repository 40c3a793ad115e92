"""Refuses a cron line that never fires, and says why it does not."""

from datetime import UTC, datetime, timedelta

from rota.errors import InvalidInput
from rota.model.triggers.cron.calendar import EPOCH_ORDINAL
from rota.model.triggers.cron.cron import Cron
from rota.model.triggers.cron.fires import Dst, next_fire
from rota.model.triggers.words.lists import MONTHS
from rota.model.triggers.zones.offsets import MAX_SECONDS, MIN_SECONDS

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def check_fires(cron: Cron, after_ms: int, *, zone: str = "UTC", dst: Dst = Dst.VIXIE, where: str = "cron") -> int:
    """The first fire after an instant, or `InvalidInput` with the reason why there is none."""
    fire = next_fire(cron, after_ms, zone, dst)
    if fire is None:
        raise InvalidInput(where, f'"{cron.text}" never fires: {_why_never(cron, after_ms, zone)}')
    return fire


def _why_never(cron: Cron, after_ms: int, zone: str) -> str:
    after = _EPOCH + timedelta(milliseconds=_clamped(after_ms))
    if cron.year is not None and cron.year.values[-1] < after.year:
        return f"its last year is {cron.year.values[-1]}"
    if cron.calendar.at_or_after(1 - EPOCH_ORDINAL + 366) is None:
        return _why_no_day(cron)
    if cron.next_local(_clamped(after_ms) // 1000) is not None:
        return f"in {zone} the clock leaves that time out; choose dst vixie or another time"
    return f"nothing matches after {after:%Y-%m-%d %H:%M} UTC"


def _clamped(millis: int) -> int:
    return max(MIN_SECONDS * 1000, min(millis, MAX_SECONDS * 1000))


def _why_no_day(cron: Cron) -> str:
    months = " or ".join(MONTHS[month - 1] for month in cron.month.values[:3])
    if len(cron.day.values) == 1 and not cron.day.rules and len(cron.month.values) <= 3 and cron.weekday.is_full:
        return f"day {cron.day.values[0]} does not exist in {months}" + _in_years(cron)
    return "no day has the month, day and weekday it asks for" + _in_years(cron)


def _in_years(cron: Cron) -> str:
    return f" of {cron.year.text}" if cron.year and not cron.year.is_full else ""
