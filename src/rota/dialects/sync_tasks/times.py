"""Instants in the original's words: ISO 8601 in UTC with six digits, and whole seconds in scores."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

from rota.errors import InvalidInput

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def iso(millis: int | None) -> str:
    """Empty while there is none."""
    return "" if millis is None else iso_micros(millis * 1000)


def iso_micros(micros: int) -> str:
    second, rest = divmod(micros, 1_000_000)
    return f"{_iso_second(second)}.{rest:06d}Z"


@lru_cache(maxsize=64)
def _iso_second(second: int) -> str:
    """Of the lines of a log very many have the same."""
    return (_EPOCH + timedelta(seconds=second)).isoformat(timespec="seconds")[:-6]


def read_micros(field: str, text: str) -> int:
    """An ISO timestamp; one without a zone is UTC. A `+` that was not escaped in a query arrives as a space."""
    try:
        found = datetime.fromisoformat(text.strip().replace(" ", "+") if "T" in text else text.strip())
        # In UTC, as it is shown: with an offset it may be of a year that there is not.
        aware = found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise InvalidInput(field, f"{text!r} is not an ISO timestamp such as 2026-01-31T12:00:00.000000Z") from None
    return (aware - _EPOCH) // _MICROSECOND
