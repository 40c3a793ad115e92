"""A rate: how many jobs with the same key may start within a period, whatever the node, and which starts count.

Within any stretch of time as long as the period no more than `limit` starts are allowed. Starts are remembered as
groups: the instant at which the last of a group may have been, and how many they are. Up to `_EXACT` starts each is a
group of its own; more share groups of a 64th of the period, which frees a start at most that much later than need be.
"""

import hashlib
import re

import msgspec
from msgspec import Struct

from rota.errors import InvalidInput
from rota.model.triggers.durations import DAY_MS, SECOND_MS, check_duration, duration_words, parse_duration

MAX_LIMIT = 1_000_000
MAX_PERIOD_MS = 30 * DAY_MS
MAX_KEY = 200
_EXACT = 64
_LATE_MS = 60_000
"""A caller that is further behind the store's clock goes by a time of its own, as tests do."""
_UNITS = ("s", "m", "h", "d")
_RATE = re.compile(r"([0-9]{1,9})/(.+)", re.ASCII)
_ARGUMENT = re.compile(r"\{([^{}]+)\}")


class Rate(Struct, frozen=True):
    """So many starts within a period."""

    limit: int
    period_ms: int

    def check(self, field: str) -> None:
        if not isinstance(self.limit, int) or not 1 <= self.limit <= MAX_LIMIT:
            raise InvalidInput(field, f"must allow 1 to {MAX_LIMIT} starts, got {self.limit}")
        check_duration(field, self.period_ms, SECOND_MS, MAX_PERIOD_MS)

    @property
    def group_ms(self) -> int:
        """How long starts share a group."""
        return 1 if self.limit <= _EXACT else max(self.period_ms // _EXACT, 1)

    @property
    def text(self) -> str:
        """As people write it: `10/m`, `100/90s`."""
        period = duration_words(self.period_ms).split()
        is_one_unit = len(period) == 2 and period[0] == "1" and period[1][0] in _UNITS
        return f"{self.limit}/{period[1][0] if is_one_unit else f'{self.period_ms // SECOND_MS}s'}"

    @property
    def words(self) -> str:
        """`10 within 1 minute`."""
        return f"{self.limit} within {duration_words(self.period_ms)}"


def parse_rate(field: str, text: object) -> Rate:
    """A rate as people write it: `10/m`, `100/s`, `5/90s`, `1000/1h30m`."""
    match = _RATE.fullmatch(text.strip().lower()) if isinstance(text, str) else None
    if match is None:
        raise InvalidInput(
            field, f"must be a number of starts and a period, such as 10/m or 100/90s, got {text!r:.100}"
        )
    number, period = match.groups()
    period_ms = parse_duration(field, f"1{period}" if period in _UNITS else period)
    if period_ms % SECOND_MS:
        raise InvalidInput(field, f"must have a period of whole seconds, got {text!r:.100}")
    rate = Rate(int(number), period_ms)
    rate.check(field)
    return rate


# -- keys: jobs of one key and one rate share it -----------------------------------------------------------------------


def check_key_template(field: str, template: str) -> None:
    """A key may name arguments: `{customer}`, `mail:{host}`."""
    if not isinstance(template, str) or len(template) > MAX_KEY:
        raise InvalidInput(field, f"must be text of at most {MAX_KEY} characters, such as {{customer}}")
    if set(_ARGUMENT.sub("", template)) & set("{}"):
        raise InvalidInput(field, f"has a brace that names no argument; write {{customer}}, got {template!r}")


def arguments_of_key(template: str) -> list[str]:
    """The arguments that a key names."""
    return _ARGUMENT.findall(template)


def rate_key(rate: Rate, template: str, arguments: dict[str, object]) -> str:
    """What starts are counted by: `10/60000/acme`. An argument that a job does not have counts as empty."""
    name = _ARGUMENT.sub(lambda found: _as_text(arguments.get(found[1])), template)
    if len(name) > MAX_KEY:
        name = hashlib.sha256(name.encode()).hexdigest()
    return f"{rate.limit}/{rate.period_ms}/{name}"


def _as_text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()


def rate_of_key(key: str) -> Rate:
    limit, period_ms, _ = key.split("/", 2)
    return Rate(int(limit), int(period_ms))


def name_of_key(key: str) -> str:
    """What the rate of a key is for."""
    return key.split("/", 2)[2]


# -- starts: what stores remember of a key -----------------------------------------------------------------------------

Starts = list[tuple[int, int]]
"""Groups of starts, oldest first: when the last of them may have been, and how many."""


def judged_at(now: int, clock: int) -> int:
    """The instant of a start: by the store's clock, because a caller may have read its own some time ago, or be ahead.
    A caller that is far behind goes by a time of its own."""
    return clock if clock < now + _LATE_MS else now


def counted(starts: Starts, rate: Rate, now: int, clock: int) -> Starts:
    """Those that count against a rate. What lies ahead counts too, unless it is so far ahead of the store's clock that
    it was written by one that was wrong."""
    return [one for one in starts if now - rate.period_ms < one[0] < clock + rate.period_ms]


def left_of(starts: Starts, rate: Rate) -> int:
    """How many more may start, if these count."""
    return max(rate.limit - sum(number for _, number in starts), 0)


def with_start(starts: Starts, rate: Rate, now: int) -> Starts:
    """These and one more."""
    group = (now // rate.group_ms + 1) * rate.group_ms - 1
    if starts and starts[-1][0] >= group:
        return [*starts[:-1], (starts[-1][0], starts[-1][1] + 1)]
    return [*starts, (group, 1)]


def next_start_at(starts: Starts, rate: Rate, now: int) -> int:
    """When the first of these counts no more."""
    return (starts[0][0] if starts else now) + rate.period_ms
