"""The fields of a cron line: their names and limits, and what a field says once it is read."""

from enum import StrEnum

from msgspec import Struct

MONTH_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAY_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
FIRST_YEAR, LAST_YEAR = 1970, 2099
"""Quartz's limits of the year field. Without that field a line fires in any year."""


class FieldKind(Struct, frozen=True):
    """One position of a cron line: its name and the numbers and words that may be there."""

    name: str
    low: int
    high: int
    names: dict[str, int] = {}
    note: str = ""

    @property
    def allowed(self) -> str:
        """For messages: `0-23`, or `1-12 or JAN-DEC`."""
        words = list(self.names)
        spelled = f" or {words[0]}-{words[-1]}" if words else ""
        return f"{self.low}-{self.high}{self.note}{spelled}"


SECOND = FieldKind("second", 0, 59)
MINUTE = FieldKind("minute", 0, 59)
HOUR = FieldKind("hour", 0, 23)
DAY = FieldKind("day", 1, 31)
MONTH = FieldKind("month", 1, 12, {name: number for number, name in enumerate(MONTH_NAMES, 1)})
YEAR = FieldKind("year", FIRST_YEAR, LAST_YEAR)
UNIX_WEEKDAY = FieldKind(
    "weekday", 0, 7, {name: number for number, name in enumerate(WEEKDAY_NAMES)}, " (0 and 7 are Sunday)"
)
QUARTZ_WEEKDAY = FieldKind(
    "weekday", 1, 7, {name: number for number, name in enumerate(WEEKDAY_NAMES, 1)}, " (1 is Sunday)"
)


class Span(Struct, frozen=True):
    """Plain values: `*`, `5`, `9-17`, `*/15`, `5/15`, `H`. Weekdays are counted from Sunday = 0 in either dialect."""

    values: tuple[int, ...]
    """In the order of the text, so that a range that wraps begins with its first value."""
    step: int = 1
    is_star: bool = False
    """Written with `*`, with or without a step."""
    is_stepped: bool = False
    """Written with `/`. A range from a value to itself is that one value, whatever its step."""

    @property
    def is_rhythm(self) -> bool:
        """A `*`, a range or a step, as against single values."""
        return self.is_star or self.is_stepped or len(self.values) > 1


class RuleKind(StrEnum):
    """Days that depend on the month."""

    LAST_DAY = "L"
    """`L`, or `L-3`: so many days before the last day."""
    LAST_WORKDAY = "LW"
    """`LW`: the last day of the month from Monday to Friday. `L-3W`: the one nearest to 3 days before the last day."""
    NEAREST_WORKDAY = "W"
    """`15W`: the day from Monday to Friday nearest to the 15th, within the month."""
    LAST_OF_WEEKDAY = "nL"
    """`5L` or `L5`: the last Friday of the month."""
    NTH_OF_WEEKDAY = "#"
    """`5#2`: the second Friday of the month; a fifth one is not in every month."""


class DayRule(Struct, frozen=True):
    """A day that depends on the month."""

    kind: RuleKind
    number: int = 0
    """Day of the month, weekday from Sunday = 0, or days before the last one."""
    nth: int = 0


Part = Span | DayRule


class Field(Struct, frozen=True):
    """What one position of the line says: a list of parts."""

    text: str
    parts: tuple[Part, ...]
    values: tuple[int, ...]
    """All plain values, sorted."""
    is_full: bool
    """Its plain values are all there are: it restricts nothing."""

    @property
    def is_open(self) -> bool:
        """Begins with `*`, or is `?`. Then the other day field alone decides, or both must agree (the Vixie rule)."""
        return self.text[0] in "*?"

    @property
    def spans(self) -> tuple[Span, ...]:
        return tuple(part for part in self.parts if isinstance(part, Span))

    @property
    def rules(self) -> tuple[DayRule, ...]:
        return tuple(part for part in self.parts if isinstance(part, DayRule))

    @property
    def is_rhythm(self) -> bool:
        """Contains a `*`, a range or a step."""
        return any(span.is_rhythm for span in self.spans)
