"""Events as others send them, in every spelling that the event specification uses: read and checked here.

An error names the field. In a list of events each is read by itself, so that one bad event does not spoil the others.
"""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from rota.engine.access.audit.actor import current_actor
from rota.errors import InvalidInput
from rota.model.events.event import (
    JOB,
    Event,
    check_event_id,
    check_event_type,
    check_resource,
    make_event,
    parse_timestamp,
)
from rota.model.ids import new_id
from rota.model.job import FINAL_STATES

MAX_EVENTS = 10_000
"""In one call."""
_ALIASES = {"eventResourceld": "eventResourceId"}
"""With the letter l: so it is spelled in the event specification's own table, and who copies the row sends it."""
_NEEDED = ("eventType", "eventTimestamp", "eventResourceId")
_KEYS = (*_NEEDED, "eventId", "outcome")


class BadEvent(Struct, frozen=True):
    """An event of a list that was refused."""

    index: int
    field: str
    error: str


def read_event(raw: object, received_at: int, event_types: Collection[str] = ()) -> Event:
    """One event, or `InvalidInput` that names the field."""
    found = _fields(raw)
    kind = check_event_type("eventType", found["eventType"], event_types)
    own_id = found.get("eventId")
    return make_event(
        id=new_id(received_at) if own_id is None else check_event_id("eventId", own_id),
        type=kind,
        resource=check_resource("eventResourceId", found["eventResourceId"]),
        stated_time=parse_timestamp("eventTimestamp", found["eventTimestamp"]),
        received_at=received_at,
        has_own_id=own_id is not None,
        outcome=_outcome(kind, found.get("outcome")),
        by=current_actor().who,
    )


def read_events(
    raw: Sequence[object], received_at: int, event_types: Collection[str] = ()
) -> tuple[list[tuple[int, Event]], list[BadEvent]]:
    """The good ones of a list with their numbers, and what is wrong with the others."""
    if not raw:
        raise InvalidInput("events", "are none; give at least one")
    if len(raw) > MAX_EVENTS:
        raise InvalidInput("events", f"are {len(raw)} in one call, the limit is {MAX_EVENTS}")
    good: list[tuple[int, Event]] = []
    bad: list[BadEvent] = []
    for index, one in enumerate(raw):
        try:
            good.append((index, read_event(one, received_at, event_types)))
        except InvalidInput as error:
            bad.append(BadEvent(index, error.field, error.reason))
    return good, bad


def _fields(raw: object) -> dict[str, object]:
    if not isinstance(raw, Mapping):
        raise InvalidInput("event", f"must be an object with {', '.join(_NEEDED)}, got {type(raw).__name__}")
    found: dict[str, object] = {}
    for key, value in raw.items():
        name = _ALIASES.get(key, key)
        if name not in _KEYS:
            raise InvalidInput(str(key)[:80], f"is not a known field; known are {', '.join(_KEYS)}")
        if found.get(name, value) != value:
            raise InvalidInput(name, "is given twice, with different values")
        found[name] = value
    for name in _NEEDED:
        if name not in found:
            raise InvalidInput(name, "is missing")
    return found


def _outcome(kind: str, value: object) -> str | None:
    if value is None:
        return None
    words = sorted(FINAL_STATES)
    if kind != JOB or value not in words:
        raise InvalidInput("outcome", f"is for events of the type JOB, and one of {', '.join(words)}")
    return str(value)
