"""Fields of definitions for people: lengths of time with their units, instants by the clock of their zone."""

from collections.abc import Mapping

from rota.cli.show import compact
from rota.model.triggers.durations import duration_words
from rota.model.triggers.zones.moments import moment
from rota.model.triggers.zones.zones import UTC

_INSTANTS = ("start", "end", "at")
_MS = "_ms"


def field_name(name: str) -> str:
    """`timeout` for `timeout_ms`: its value is told with a unit."""
    return name.removesuffix(_MS)


def field_words(name: str, value: object) -> str:
    """The value of a field on one line."""
    if value is None:
        return "none"
    if isinstance(value, int) and name.endswith(_MS):
        return duration_words(value)
    if isinstance(value, dict) and ("kind" in value or any(key.endswith(_MS) for key in value)):
        return parts_words(value)
    return compact(value) or ""


def parts_words(parts: Mapping[str, object]) -> str:
    """A trigger or a policy: `interval, jitter 5 seconds, every 1 minute 30 seconds`."""
    zone = UTC if parts.get("utc") else str(parts.get("tz", UTC))
    told = [f"{field_name(name)} {_part(name, value, zone)}" for name, value in parts.items() if name != "kind"]
    return ", ".join([str(parts["kind"]), *told] if "kind" in parts else told)


def _part(name: str, value: object, zone: str) -> str:
    if isinstance(value, int) and name in _INSTANTS:
        return moment(value, zone)
    if isinstance(value, str) and name != "cron":
        return value
    return field_words(name, value)
