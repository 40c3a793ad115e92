"""Instants as people and programs write them: ISO 8601 text, with or without a zone, or epoch milliseconds."""

from datetime import UTC, datetime, timedelta

from rota.errors import InvalidInput
from rota.model.triggers.zones.offsets import MAX_SECONDS, MIN_SECONDS, offsets_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = _EPOCH.replace(tzinfo=None)
_MILLISECOND = timedelta(milliseconds=1)


def parse_instant(field: str, value: object, zone: str = "UTC") -> int:
    """Epoch milliseconds. Text without an offset is local time of `zone`; a date alone is its midnight there.

    A local time that the clock leaves out means the instant when the clock goes on; one that it shows twice, the first.
    """
    if isinstance(value, datetime):
        return _checked(field, value, _millis_of(value, zone))
    if isinstance(value, str):
        return _checked(field, value, _millis_of(_parse_iso(field, value), zone))
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput(field, f"must be ISO 8601 text or whole epoch milliseconds, got {value!r}")
    return _checked(field, value, value)


def _parse_iso(field: str, text: str) -> datetime:
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        reason = f'"{text[:40]}" is not an ISO 8601 date such as 2026-03-29T02:30:00Z or 2026-03-29 02:30'
        raise InvalidInput(field, reason) from None


def _checked(field: str, value: object, millis: int) -> int:
    if not MIN_SECONDS * 1000 <= millis < MAX_SECONDS * 1000:
        raise InvalidInput(field, f"{value} is out of range; must be within the years 3 to 9998")
    return millis


def _millis_of(moment: datetime, zone: str) -> int:
    if moment.tzinfo is not None:
        return (moment - _EPOCH) // _MILLISECOND
    local = (moment - _NAIVE_EPOCH) // _MILLISECOND
    return instant_of_local(local // 1000, zone) * 1000 + local % 1000 if _is_counted(local) else local


def _is_counted(local: int) -> bool:
    return (MIN_SECONDS + 86_400) * 1000 <= local < (MAX_SECONDS - 86_400) * 1000


def instant_of_local(local: int, zone: str) -> int:
    """The first instant, in seconds, at which a zone's clock shows this local second or has passed it."""
    offsets = offsets_of(zone)
    segment = offsets.at(local - 86_400)
    while segment.local_end <= local:
        segment = offsets.at(segment.end)
    return max(local - segment.offset, segment.start)
