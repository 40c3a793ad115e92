"""Reads a cron line: 5 fields, 6 (seconds first) or 7 (seconds first, year last), a macro, `@every` or `@reboot`.

Quartz demands `?` in one of the two day fields; here it is welcome in either and needed in neither, because `*` says
the same. A line that restricts both follows the Unix rule in both dialects (see `cron.Days`).
"""

import re
from difflib import get_close_matches

from msgspec import Struct

from rota.errors import InvalidInput
from rota.model.triggers.cron.calendar import calendar_of
from rota.model.triggers.cron.cron import Cron, Days, Dialect
from rota.model.triggers.cron.field_reader import FieldReader
from rota.model.triggers.cron.fields import (
    DAY,
    HOUR,
    MINUTE,
    MONTH,
    QUARTZ_WEEKDAY,
    SECOND,
    UNIX_WEEKDAY,
    YEAR,
    Field,
    FieldKind,
)
from rota.model.triggers.cron.times import times_of_day
from rota.model.triggers.durations import parse_duration

MAX_LENGTH = 1024
MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_SHAPES = "5 (minute hour day month weekday), 6 (second first) or 7 (second first, year last)"
_HASH = re.compile(r"(?:^|[\s,])H(?:$|[\s,/(])", re.IGNORECASE)
_ZERO = FieldReader(SECOND, 1, "", "").read("0")


class Every(Struct, frozen=True):
    """`@every 90s`: an interval in the dress of a cron line."""

    every_ms: int


class Reboot(Struct, frozen=True):
    """`@reboot`: once when the machine starts. It has no instant; the crontab import decides what to make of it."""


def parse_cron_line(
    text: str, dialect: Dialect = Dialect.AUTO, *, seed: str = "", days: Days = Days.EITHER, where: str = "cron"
) -> Cron | Every | Reboot:
    """Whatever may be where a cron line is expected, or `InvalidInput` that names `where`."""
    line = _tidy(text, where)
    if not line.startswith("@"):
        return parse_cron(line, dialect, seed=seed, days=days, where=where)
    name, _, rest = line.partition(" ")
    name = name.lower()
    if name == "@every":
        return Every(parse_duration(where, rest))
    if rest:
        raise InvalidInput(where, f'"{name}" stands alone; remove "{rest[:40]}"')
    if name == "@reboot":
        return Reboot()
    if name in MACROS:
        return parse_cron(MACROS[name], Dialect.UNIX, where=where)
    raise InvalidInput(where, f'"{name[:40]}" is not known{_macro_hint(name)}')


def parse_cron(
    text: str, dialect: Dialect = Dialect.AUTO, *, seed: str = "", days: Days = Days.EITHER, where: str = "cron"
) -> Cron:
    """The fields of a cron line, or `InvalidInput` that points at the field. `seed` decides the values of `H`."""
    line = _tidy(text, where)
    if line.startswith("@"):
        return _parse_macro(line, where)
    if line.startswith(("TZ=", "CRON_TZ=")):
        raise InvalidInput(where, f'"{line[:60]}" carries a zone; give the zone apart, as tz')
    uses_hash = _HASH.search(line) is not None
    try:
        return _parse(line, dialect, seed if uses_hash else "", days, uses_hash)
    except InvalidInput as error:
        raise InvalidInput(where, error.reason) from None


def _parse_macro(line: str, where: str) -> Cron:
    match parse_cron_line(line, where=where):
        case Cron() as cron:
            return cron
        case Every():
            raise InvalidInput(where, f'"{line}" is an interval and has no fields; give it as an interval')
        case Reboot():
            raise InvalidInput(where, '"@reboot" names no time: it means once, when the machine starts')


def _tidy(text: str, where: str) -> str:
    if not isinstance(text, str):
        raise InvalidInput(where, f"must be text, got {text!r}")
    if len(text) > MAX_LENGTH:
        raise InvalidInput(where, f"has {len(text)} characters, the limit is {MAX_LENGTH}")
    line = " ".join(text.split())
    if not line:
        raise InvalidInput(where, f"is empty; the number of fields must be {_SHAPES}")
    return line


def _macro_hint(name: str) -> str:
    known = [*MACROS, "@every", "@reboot"]
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known are {', '.join(known)}"


def _parse(line: str, dialect: Dialect, seed: str, days: Days, uses_hash: bool) -> Cron:
    texts = line.split(" ")
    is_said = dialect != Dialect.AUTO
    dialect = _resolve(dialect, texts)
    kinds = _kinds_for(line, len(texts), dialect)
    fields = {
        kind.name: FieldReader(kind, position, seed, "cron").read(text)
        for position, (kind, text) in enumerate(zip(kinds, texts, strict=True), 1)
    }
    return _assemble(line, fields, dialect=dialect, is_said=is_said, days=days, uses_hash=uses_hash)


def _resolve(dialect: Dialect, texts: list[str]) -> Dialect:
    """Five fields are always Unix, whatever is in them: Quartz has no such lines."""
    if dialect != Dialect.AUTO:
        return Dialect(dialect)
    return Dialect.QUARTZ if len(texts) == 7 or (len(texts) == 6 and "?" in texts) else Dialect.UNIX


def _kinds_for(line: str, count: int, dialect: Dialect) -> tuple[FieldKind, ...]:
    weekday = QUARTZ_WEEKDAY if dialect is Dialect.QUARTZ else UNIX_WEEKDAY
    five = (MINUTE, HOUR, DAY, MONTH, weekday)
    shapes = {5: five, 6: (SECOND, *five), 7: (SECOND, *five, YEAR)}
    if count in shapes:
        return shapes[count]
    shown = f"{line[:60]}…" if len(line) > 60 else line
    raise InvalidInput("cron", f'{count} field{"s" * (count != 1)} in "{shown}"; must be {_SHAPES}')


def _assemble(
    line: str, fields: dict[str, Field], *, dialect: Dialect, is_said: bool, days: Days, uses_hash: bool
) -> Cron:
    second, year = fields.get("second", _ZERO), fields.get("year")
    minute, hour, day, month, weekday = (fields[name] for name in ("minute", "hour", "day", "month", "weekday"))
    return Cron(
        text=line,
        dialect=dialect,
        takes_itself_for_quartz=dialect is Dialect.QUARTZ and not is_said,
        days=days,
        field_count=len(fields),
        second=second,
        minute=minute,
        hour=hour,
        day=day,
        month=month,
        weekday=weekday,
        year=year,
        times=times_of_day(hour.values, minute.values, second.values),
        calendar=calendar_of(day, month, weekday=weekday, year=year, both=days == Days.BOTH),
        is_interval_like=second.is_rhythm or minute.is_rhythm or hour.is_rhythm,
        uses_hash=uses_hash,
    )
