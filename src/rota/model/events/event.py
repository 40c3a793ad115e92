"""An event: something that happened to a resource, such as a file that arrived or a table that was filled.

Event times are epoch *microseconds*, the precision of the event specification's own format: of two events within a
millisecond one is still later than the other. The time of reception comes from a clock and is in milliseconds, as
everywhere.
"""

import re
from collections.abc import Collection
from datetime import UTC, datetime, timedelta, timezone

from msgspec import Struct

from rota.errors import InvalidInput

FILE, TABLE, TIME_BASED, JOB = "FILE", "TABLE", "TIME_BASED", "JOB"
EVENT_TYPES = (FILE, TABLE, TIME_BASED, JOB)
"""What every installation knows. Further types are a setting; `*` there means any."""
ANY_TYPE = "*"
MAX_RESOURCE = 1_024
MAX_EVENT_ID = 256
_MAX_SHOWN = 80

_TYPE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_TIMESTAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{0,9}))?\s?(?:(Z)|([+-])(\d\d):?(\d\d)?)?", re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Event(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What happened, to what, and when."""

    id: str
    type: str
    resource: str
    time: int
    """Epoch microseconds; never after its reception, so that a clock running ahead neither blocks nor prolongs."""
    received_at: int
    """Epoch milliseconds."""
    has_own_id: bool = False
    """Its sender named it, so that a repeated delivery is recognised."""
    outcome: str | None = None
    """How a job ended, for events of the type JOB."""
    stated_time: int | None = None
    """What its sender stated, if that was after its reception."""
    by: str = ""
    """Who told of it: the name of a key, or a user; empty where Rota saw it itself."""
    is_always_newer: bool = False
    """Than the last execution of whoever it concerns: its time is that of its taking, by a clock of several."""


class EventRef(Struct, frozen=True, omit_defaults=True):
    """What evidence and evaluations keep of an event."""

    id: str
    resource: str
    time: int
    received_at: int
    stated_time: int | None = None
    """What its sender stated, if that was after its reception."""


def ref_of(event: Event) -> EventRef:
    return EventRef(event.id, event.resource, event.time, event.received_at, event.stated_time)


def make_event(
    *,
    id: str,
    type: str,
    resource: str,
    stated_time: int,
    received_at: int,
    has_own_id: bool = False,
    outcome: str | None = None,
    by: str = "",
) -> Event:
    """An event whose time is what its sender stated, but not later than the end of the millisecond of its reception."""
    time = min(stated_time, received_at * 1_000 + 999)
    return Event(
        id=id,
        type=type,
        resource=resource,
        time=time,
        received_at=received_at,
        has_own_id=has_own_id,
        outcome=outcome,
        stated_time=stated_time if stated_time > time else None,
        by=by,
    )


def check_event_type(field: str, value: object, known: Collection[str] = ()) -> str:
    """The type in its one spelling: `time based`, `TIME-BASED` and `TIME_BASED_CRON` are all TIME_BASED."""
    if not isinstance(value, str):
        raise InvalidInput(field, f"must be a string, got {value!r}")
    name = re.sub(r"[\s-]+", "_", value.strip()).upper()
    if name.startswith(TIME_BASED):
        return TIME_BASED
    if name in EVENT_TYPES or name in known or (ANY_TYPE in known and _TYPE.fullmatch(name)):
        return name
    words = ", ".join([*EVENT_TYPES, *(one for one in known if one != ANY_TYPE)])
    hint = "the setting event_types adds more"
    raise InvalidInput(field, f"{value[:_MAX_SHOWN]!r} is not a known event type; known are {words}; {hint}")


def check_type_name(field: str, value: object) -> str:
    """The name of a further event type, as the setting has it."""
    name = re.sub(r"[\s-]+", "_", value.strip()).upper() if isinstance(value, str) else ""
    if name != ANY_TYPE and not _TYPE.fullmatch(name):
        raise InvalidInput(field, f"{value!r} is no event type: letters, digits and _, first a letter; or * for any")
    return name


def check_resource(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInput(field, f"must be a string, got {value!r}")
    if not 1 <= len(value) <= MAX_RESOURCE:
        raise InvalidInput(field, f"must have 1 to {MAX_RESOURCE} characters, got {len(value)}")
    if _CONTROL.search(value):
        raise InvalidInput(field, "holds a control character")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInput(field, "holds a lone surrogate, which is not valid Unicode text") from None
    return value


def check_event_id(field: str, value: object) -> str:
    """The id that a sender gives an event."""
    found = check_resource(field, value)
    if len(found) > MAX_EVENT_ID:
        raise InvalidInput(field, f"must have 1 to {MAX_EVENT_ID} characters, got {len(found)}")
    return found


def parse_timestamp(field: str, value: object) -> int:
    """Epoch microseconds of ISO 8601 with `T` or a space, up to nine digits of a second, and Z, an offset or nothing,
    which is UTC. Digits beyond microseconds are cut."""
    found = _TIMESTAMP.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        shown = f"{value[:_MAX_SHOWN]!r}" if isinstance(value, str) else repr(value)[:_MAX_SHOWN]
        raise InvalidInput(field, f"{shown} is not a timestamp such as 2021-01-01T12:30:00.000000Z")
    year, month, day, hour, minute, second = (int(found[number]) for number in range(1, 7))
    try:
        # In UTC, as it is shown: with an offset it may be of a year that there is not.
        moment = datetime(year, month, day, hour, minute, second, tzinfo=_zone(found)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(field, f"{found[0]!r} is not a timestamp: {error}") from None
    micros = int((found[7] or "")[:6].ljust(6, "0"))
    return (moment - _EPOCH) // timedelta(microseconds=1) + micros


def _zone(found: "re.Match[str]") -> timezone:
    if not found[9]:
        return UTC
    offset = timedelta(hours=int(found[10]), minutes=int(found[11] or 0))
    return timezone(offset if found[9] == "+" else -offset)


def shown_time(micros: int) -> str:
    """ISO 8601 in UTC, with six digits, as the event specification writes it."""
    # Not by `strftime`, whose years before 1000 have fewer than four digits, which nobody reads back.
    return (_EPOCH + timedelta(microseconds=micros)).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
