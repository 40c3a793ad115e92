"""What people are told of an event that was taken: who told of it, and what it meant to whom."""

from msgspec import Struct

from rota.model.events.evaluation import Verdict
from rota.model.events.event import Event

MAX_MEANINGS = 20
"""Kept of one event; it may have matched very many configurations."""


class Meaning(Struct, frozen=True, omit_defaults=True):
    """What an event meant to a configuration."""

    configuration: str
    """Its uuid."""
    name: str
    verdict: Verdict
    job: str | None = None
    """The job that it made, or for which it was not made."""


class EventRecord(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """An event that was taken."""

    id: str
    """In the order of their taking; the event has an id of its own."""
    event: Event
    matched: int = 0
    """How many configurations it hit."""
    meanings: tuple[Meaning, ...] = ()
    """The first of these."""
