"""Values on the command line that are more than text: durations, sizes, instants, JSON, key=value pairs.

Each is a callback of a click option, so that a bad value is a usage error that names the option.
"""

import re
from datetime import datetime

import click
import msgspec

from rota.clock import as_millis
from rota.errors import InvalidInput
from rota.model.triggers.durations import parse_duration

_SHIFT = {"K": 10, "M": 20, "G": 30}
_SIZE = re.compile(r"([1-9][0-9]{0,9})([KMG])(?:I?B)?", re.ASCII)


def duration(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """500ms, 5s, 1h30m, 1d, always with a unit. Gives milliseconds."""
    if value is None:
        return None
    try:
        return parse_duration(param.name or "", value, least_ms=0)
    except InvalidInput as error:
        raise click.BadParameter(error.reason, ctx, param) from None


def size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """500M, 2G, 64K, always with a unit. Gives bytes."""
    if value is None:
        return None
    found = _SIZE.fullmatch(value.strip().upper())
    if found is None:
        raise click.BadParameter(f"{value!r} is not a size such as 500M or 2G", ctx, param)
    return int(found[1]) << _SHIFT[found[2]]


def instant(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Epoch milliseconds, or ISO 8601, which is UTC unless it has an offset."""
    if value is None:
        return None
    if value.isascii() and value.isdigit() and len(value) > 8:
        return int(value[:18])
    try:
        return as_millis(datetime.fromisoformat(value))
    except (ValueError, OverflowError):
        message = f"{value!r} is neither ISO 8601 such as 2030-01-31T12:00:00Z nor epoch milliseconds"
        raise click.BadParameter(message, ctx, param) from None


def json_object(ctx: click.Context, param: click.Parameter, value: str | None) -> dict[str, object] | None:
    """A JSON object."""
    if value is None:
        return None
    try:
        found: object = msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise click.BadParameter(f"is not valid JSON: {error}", ctx, param) from None
    if not isinstance(found, dict):
        raise click.BadParameter(f'must be a JSON object such as {{"key": 1}}, got {value[:60]!r}', ctx, param)
    return found


def pairs(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, object]:
    """key=value words; a value that reads as JSON is taken as such, any other is text."""
    found: dict[str, object] = {}
    for word in value:
        key, equals, text = word.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{word!r} is not key=value", ctx, param)
        if key in found:
            raise click.BadParameter(f"the key {key!r} stands twice", ctx, param)
        found[key] = json_or_text(text)
    return found


def json_or_text(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text
