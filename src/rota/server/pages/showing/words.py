"""What templates say: lengths of time, instants, numbers and JSON, in the words that the model has."""

from urllib.parse import quote

import msgspec
from jinja2 import pass_context
from jinja2.runtime import Context

from rota.model.triggers.durations import short_duration
from rota.model.triggers.zones.moments import moment
from rota.server.pages.showing.readable import field_value, readable_json
from rota.shapes.schedules import fire_shape

_LONGEST_JSON = 100_000
_LONGEST_LINE = 500
_JUST_NOW_MS = 1_000


@pass_context
def ago(context: Context, ms: int | None) -> str:
    """`2 min ago`, `in 14 min`."""
    if ms is None:
        return ""
    distance = int(context["now"]) - ms
    if abs(distance) >= _JUST_NOW_MS:
        distance = int(distance / 1000) * 1000  # a tenth of a second is no news
    if abs(distance) < _JUST_NOW_MS:
        return "now"
    return f"{short_duration(distance)} ago" if distance > 0 else f"in {short_duration(-distance)}"


@pass_context
def since(context: Context, ms: int) -> str:
    """How long it is ago: `4 min 10 s`."""
    return short_duration(max(int(context["now"]) - ms, 0))


def iso(ms: int | None) -> str:
    return "" if ms is None else fire_shape(ms, "UTC").utc


def exact(ms: int | None, zone: str = "UTC") -> str:
    """`2026-11-15 20:30:00 UTC`."""
    return "" if ms is None else moment(ms, zone)


def clock_time(ms: int) -> str:
    """`20:30:00.125`, in UTC."""
    return moment(ms, "UTC", timespec="milliseconds").split()[1]


def typed(ms: int | None) -> str:
    """A length of time as somebody types it: `90s`, `1h`."""
    sizes = ((3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms"))
    return "" if not ms else next(f"{ms // size}{unit}" for size, unit in sizes if ms % size == 0)


def number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def cut(text: str | None, most: int = _LONGEST_LINE) -> str:
    """The beginning of what may be very long: a page has many of them."""
    return "" if text is None else text if len(text) <= most else f"{text[:most]}…"


def as_json(value: object, *, is_whole: bool = False) -> str:
    """Indented; cut where it is very long, unless it is to be changed and sent back."""
    text = readable_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
    return (
        text
        if is_whole or len(text) <= _LONGEST_JSON
        else f"{text[:_LONGEST_JSON]}\n... cut: {len(text):,} characters in all"
    )


def compact_json(value: object) -> str:
    return readable_json(msgspec.json.encode(value).decode())


def segment(text: str) -> str:
    """A name as one part of a path."""
    return quote(text, safe="")


def short_id(uuid: str | None) -> str:
    """The end of an id, by which it is told apart and found too."""
    return (uuid or "")[-8:]


FILTERS = {
    "ago": ago,
    "since": since,
    "iso": iso,
    "exact": exact,
    "clock_time": clock_time,
    "span": lambda ms: "" if ms is None else short_duration(ms),
    "typed": typed,
    "number": number,
    "cut": cut,
    "as_json": as_json,
    "compact_json": compact_json,
    "segment": segment,
    "field_value": field_value,
    "short_id": short_id,
}
