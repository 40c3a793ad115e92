"""Reads one field of a cron line. Every error points at the field, quotes the text and says what is allowed."""

import re
from hashlib import blake2b
from itertools import chain

from msgspec import Struct

from rota.errors import InvalidInput
from rota.model.triggers.cron.fields import DayRule, Field, FieldKind, Part, RuleKind, Span

_SPAN = re.compile(
    r"(?:(?P<star>\*)|(?P<hash>H)(?:\((?P<low>\w+)-(?P<high>\w+)\))?|(?P<first>\w+)(?:-(?P<last>\w+))?)"
    r"(?:/(?P<step>\w*))?",
    re.ASCII,
)
_DAY_RULE = re.compile(
    r"(?P<last>L)(?:-(?P<before>\w+?))?(?P<workday>W)?|(?P<near>\d+)W",
    re.ASCII,
)
_WEEKDAY_RULE = re.compile(r"(?P<nth_of>\w+)#(?P<nth>\w+)|(?P<last_of>\w+)L|L(?P<last_of_too>\w+)", re.ASCII)
_SEVERAL_NTH = re.compile(r"(?P<first>\w+)-(?P<last>\w+?)(?:#(?P<nth>\w+))", re.ASCII)
_MAX_DIGITS = 6
_HASHED_DAYS = 28
"""`H` in the day field stays within the days that every month has."""


class FieldReader(Struct, frozen=True):
    """Reads the text at one position."""

    kind: FieldKind
    position: int
    seed: str
    """What `H` is hashed from."""
    where: str
    """The name of the input, for errors."""

    def read(self, text: str) -> Field:
        """The field, or `InvalidInput`."""
        if text == "?":
            parts: tuple[Part, ...] = (self._read_question_mark(),)
        else:
            parts = tuple(self._read_part(part) for part in text.split(","))
        values = tuple(sorted(set(chain.from_iterable(part.values for part in parts if isinstance(part, Span)))))
        return Field(text, parts, values, is_full=len(values) == self._count)

    @property
    def _is_weekday(self) -> bool:
        return self.kind.name == "weekday"

    @property
    def _top(self) -> int:
        """The highest number that is not another name of a lower one: Unix has Sunday as 0 and as 7."""
        return self.kind.low + 6 if self._is_weekday else self.kind.high

    @property
    def _count(self) -> int:
        return self._top - self.kind.low + 1

    def _read_question_mark(self) -> Span:
        if self.kind.name not in ("day", "weekday"):
            raise self._error("?", f"only day and weekday may be ?; must be {self.kind.allowed} or *")
        return self._span(tuple(range(self.kind.low, self._top + 1)), is_star=True)

    def _read_part(self, text: str) -> Part:
        rule = self._read_rule(text)
        return rule if rule else self._read_span(text)

    def _read_rule(self, text: str) -> Part | None:
        if self.kind.name == "day" and (found := _DAY_RULE.fullmatch(text.upper())):
            return self._day_rule(text, found)
        if self._is_weekday and text.upper() == "L":
            return self._last_weekday_alone()
        if self._is_weekday and (found := _WEEKDAY_RULE.fullmatch(text.upper())):
            return self._weekday_rule(text, found)
        return None

    def _day_rule(self, text: str, found: re.Match[str]) -> DayRule:
        if found["near"]:
            return DayRule(RuleKind.NEAREST_WORKDAY, self._number(text, found["near"]))
        kind = RuleKind.LAST_WORKDAY if found["workday"] else RuleKind.LAST_DAY
        before = found["before"]
        return DayRule(kind, 0 if before is None else self._bounded(text, before, 1, 30, "days before the last one"))

    def _weekday_rule(self, text: str, found: re.Match[str]) -> DayRule:
        if found["nth_of"]:
            nth = self._bounded(text, found["nth"], 1, 5, "the number after #")
            return DayRule(RuleKind.NTH_OF_WEEKDAY, self._weekday(text, found["nth_of"]), nth)
        return DayRule(RuleKind.LAST_OF_WEEKDAY, self._weekday(text, found["last_of"] or found["last_of_too"]))

    def _last_weekday_alone(self) -> Span:
        """Quartz reads a lone `L` as the last day of its week. Unix has no such day, and guessing would be wrong."""
        if self.kind.low == 0:
            raise self._error("L", "needs a weekday, such as 5L for the last Friday of the month; Saturday is 6")
        return self._span((7,))

    def _weekday(self, text: str, value: str) -> int:
        return (self._number(text, value) - self.kind.low) % 7

    def _read_span(self, text: str) -> Span:
        found = _SPAN.fullmatch(text.upper())
        if not found and self._is_weekday and (several := _SEVERAL_NTH.fullmatch(text.upper())):
            each = f"{several['first']}#{several['nth']},{several['last']}#{several['nth']}"
            raise self._error(text, f"# takes one weekday; list them, such as {each}")
        if not found:
            raise self._error(text, f"must be {self.kind.allowed}, or *, a-b, a/n, a-b/n, or a list of these")
        step = self._step(text, found["step"])
        if found["star"]:
            everything = range(self.kind.low, self._top + 1)
            return self._span(tuple(everything[:: step or 1]), step, is_star=True)
        if found["hash"]:
            return self._hashed(text, found, step)
        first = self._number(text, found["first"])
        if found["last"] is None and step is None:
            return self._span((first,))
        last = self._top if found["last"] is None else self._number(text, found["last"])
        if found["last"] is not None and first == last:
            return self._span((first,))
        return self._span(self._range(text, first, last)[:: step or 1], step)

    def _range(self, text: str, first: int, last: int) -> tuple[int, ...]:
        """From `first` to `last`, over the end of the field if it must."""
        if first > self._top >= last:
            first -= self._count
        if first <= last:
            return tuple(range(first, last + 1))
        if self.kind.name == "year":
            raise self._error(text, f"ends before it begins; must be {self.kind.allowed}")
        return (*range(first, self._top + 1), *range(self.kind.low, last + 1))

    def _hashed(self, text: str, found: re.Match[str], step: int | None) -> Span:
        """`H` is one value, `H/n` a rhythm with a hashed beginning, both within the given range or the whole field."""
        if self.kind.name == "year":
            raise self._error(text, f"a year cannot be hashed; must be {self.kind.allowed}")
        low, high = self.kind.low, min(self._top, _HASHED_DAYS) if self.kind.name == "day" else self._top
        if found["low"]:
            low, high = self._number(text, found["low"]), self._number(text, found["high"])
        choices = self._range(text, low, high)
        if step is None:
            return self._span((choices[self._hash() % len(choices)],))
        return self._span(choices[self._hash() % min(step, len(choices)) :: step], step)

    def _hash(self) -> int:
        digest = blake2b(f"{self.kind.name}\0{self.seed}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big")

    def _span(self, values: tuple[int, ...], step: int | None = None, *, is_star: bool = False) -> Span:
        if self._is_weekday:
            values = tuple(dict.fromkeys((value - self.kind.low) % 7 for value in values))
        return Span(values, step or 1, is_star, is_stepped=step is not None)

    def _step(self, text: str, step: str | None) -> int | None:
        if step is None:
            return None
        return self._bounded(text, step, 1, 10**_MAX_DIGITS - 1, "a step")

    def _bounded(self, text: str, value: str, low: int, high: int, what: str) -> int:
        if not value.isdigit() or len(value) > _MAX_DIGITS or not low <= int(value) <= high:
            limit = f"{low}-{high}" if high < 100 else f"a whole number from {low}"
            raise self._error(text, f"{what} must be {limit}")
        return int(value)

    def _number(self, text: str, value: str) -> int:
        """A number or a name, within the limits."""
        if value in self.kind.names:
            return self.kind.names[value]
        if not value.isdigit() or len(value) > _MAX_DIGITS or not self.kind.low <= int(value) <= self.kind.high:
            raise self._error(text, f"must be {self.kind.allowed}")
        return int(value)

    def _error(self, text: str, reason: str) -> InvalidInput:
        shown = text if len(text) <= 40 else f"{text[:40]}…"
        return InvalidInput(self.where, f'field {self.position} ({self.kind.name}) "{shown}": {reason}')
