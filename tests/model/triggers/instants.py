"""Instants for tests, written with their offset so that no zone rule of ours is needed to read them."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def ms(text: str) -> int:
    """`2026-03-29T03:00+02:00` in epoch milliseconds; without an offset it is UTC."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round((moment - EPOCH) / timedelta(milliseconds=1))


def show(instants: Iterable[int]) -> list[str]:
    """Instants as text, so that a failure can be read."""
    return [(EPOCH + timedelta(milliseconds=instant)).isoformat() for instant in instants]


def show_same(texts: Iterable[str]) -> list[str]:
    """What `show` makes of the same instants written by hand."""
    return show(ms(text) for text in texts)
