"""Types of fields that several bodies and queries have. The OpenAPI document tells their bounds too."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from rota.engine.jobs.intake import MAX_DELAY_MS, MAX_INSTANT
from rota.model.job import MAX_PRIORITY
from rota.model.job_type import MAX_TIMEOUT_MS
from rota.model.limits import MAX_NAME_LENGTH
from rota.model.node import MAX_THREADS
from rota.model.runs.retry import MAX_ATTEMPTS, RetryPolicy
from rota.model.runs.retry import MAX_DELAY_MS as MAX_RETRY_DELAY_MS
from rota.model.triggers.durations import read_duration

_JSON_NAME = {"pattern": r"^[^\x00-\x20\x7f-\xa0./-]([^\x00-\x1f\x7f-\xa0]*[^\x00-\x20\x7f-\xa0])?$"}
"""For readers of the OpenAPI document: `check_name` decides, and says more than a pattern can."""
_UUID = {"format": "uuid"}

Name = Annotated[
    str,
    Meta(min_length=1, max_length=MAX_NAME_LENGTH, description="Visible characters.", extra_json_schema=_JSON_NAME),
]
Reference = Annotated[str, Meta(min_length=1, max_length=MAX_NAME_LENGTH, description="A uuid or a name.")]
UUID_PATTERN = r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
Uuid = Annotated[str, Meta(pattern=UUID_PATTERN, extra_json_schema=_UUID)]
Instant = Annotated[int, Meta(ge=0, le=MAX_INSTANT, description="Epoch milliseconds.")]
DurationText = Annotated[str, Meta(min_length=2, max_length=40, description="With a unit, such as 90s or 1h30m.")]
Delay = Annotated[int, Meta(ge=0, le=MAX_DELAY_MS, description="Milliseconds.")] | DurationText
Expiry = Annotated[int, Meta(ge=1, le=MAX_DELAY_MS, description="Milliseconds.")] | DurationText
Timeout = Annotated[int, Meta(ge=1, le=MAX_TIMEOUT_MS, description="Milliseconds.")] | DurationText
Priority = Annotated[int, Meta(ge=-MAX_PRIORITY, le=MAX_PRIORITY, description="Higher runs first.")]
Threads = Annotated[int, Meta(ge=1, le=MAX_THREADS)]
UniqueKey = Annotated[str, Meta(min_length=1, max_length=512)]
Search = Annotated[
    str, Meta(min_length=1, max_length=256, description="Text in the id, unique key, arguments, results or errors.")
]
Cursor = Annotated[str, Meta(max_length=512, description="From the answer before, for the next page.")]
Attempts = Annotated[int, Meta(ge=1, le=MAX_ATTEMPTS)]
Factor = Annotated[float, Meta(ge=1, le=100)]
Jitter = Annotated[float, Meta(ge=0, le=1)]
RetryDelay = Annotated[int, Meta(ge=0, le=MAX_RETRY_DELAY_MS, description="Milliseconds.")]


UPPER_BOUNDS = {
    MAX_TIMEOUT_MS: "365 days",
    MAX_DELAY_MS: "ten years",
    MAX_RETRY_DELAY_MS: "30 days",
    MAX_INSTANT: "the year 2100, in epoch milliseconds",
}
"""Numbers that nobody recognises, in words for errors."""


def timeout_ms(given: Timeout | None) -> int | None:
    return None if given is None else read_duration("timeout", given, 1, MAX_TIMEOUT_MS)


def delay_ms(given: Delay | None) -> int | None:
    return None if given is None else read_duration("delay", given, 0, MAX_DELAY_MS)


def expires_ms(given: Expiry | None) -> int | None:
    return None if given is None else read_duration("expires", given, 1, MAX_DELAY_MS)


class Retries(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """When a failed attempt is tried again: attempts in all, and growing waits between them."""

    attempts: Attempts = 1
    delay_ms: RetryDelay = 1_000
    factor: Factor = 2.0
    max_delay_ms: RetryDelay = 3_600_000
    jitter: Jitter = 0.1

    def policy(self) -> RetryPolicy:
        return RetryPolicy(self.attempts, self.delay_ms, self.factor, self.max_delay_ms, self.jitter)


class RetriesChange(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What to change of when a failed attempt is tried again; the rest stays."""

    attempts: Attempts | UnsetType = UNSET
    delay_ms: RetryDelay | UnsetType = UNSET
    factor: Factor | UnsetType = UNSET
    max_delay_ms: RetryDelay | UnsetType = UNSET
    jitter: Jitter | UnsetType = UNSET

    def changed(self, policy: RetryPolicy) -> RetryPolicy:
        given = {name: value for name, value in structs.asdict(self).items() if value is not UNSET}
        return structs.replace(policy, **given)
