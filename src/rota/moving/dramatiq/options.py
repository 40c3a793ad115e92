"""The options of `@actor` and of `send_with_options`."""

import math
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from msgspec import Struct

from rota.errors import InvalidInput
from rota.model.runs.retry import MAX_ATTEMPTS, MAX_DELAY_MS, RetryPolicy
from rota.moving.common.refusing import Options
from rota.sdk.tasks.options import CallOptions, TaskOptions

_EVENTS = "a configuration can wait for the end of a job type: docs/events.md"
_RETRYING = ("max_retries", "min_backoff", "max_backoff")
ACTOR = Options(
    of="@actor",
    carried=("actor_name", "queue_name", "priority", "broker", *_RETRYING, "time_limit", "max_age", "throws"),
    harmless=("store_results", "result_ttl"),
    instead={
        "actor_class": "write a function",
        "retry_when": "raise rota.GiveUp in the actor, or name exceptions in throws",
        **dict.fromkeys(("on_success", "on_failure", "on_retry_exhausted"), _EVENTS),
    },
)
CALL = Options(
    of="send_with_options",
    carried=("delay", *_RETRYING, "time_limit", "max_age", "pipe_ignore"),
    harmless=("store_results", "result_ttl"),
    instead=dict.fromkeys(("on_success", "on_failure"), _EVENTS),
)
_MIN_BACKOFF_MS, _MAX_BACKOFF_MS = 15_000, 7 * 24 * 3600 * 1000
_MAX_RETRIES = 20
_TIME_LIMIT_MS = 600_000


class ActorOptions(Struct, frozen=True, kw_only=True):
    """What is said of one actor."""

    actor_name: str | None = None
    queue_name: str = "default"
    priority: int = 0
    """Lower runs first, as in Dramatiq."""
    retrying: Mapping[str, Any] = {}
    """What was said of retries, for messages that say more."""
    time_limit_ms: float = _TIME_LIMIT_MS
    max_age_ms: float | None = None
    throws: tuple[type[BaseException], ...] = ()

    def task_options(self, default_name: str) -> TaskOptions:
        options = TaskOptions(
            name=self.actor_name or default_name,
            queue=self.queue_name,
            retries=_policy(self.retrying),
            priority=-self.priority,
        )
        if math.isfinite(self.time_limit_ms):
            options["timeout"] = self.time_limit_ms / 1000
        return options


def read_actor(given: Mapping[str, Any]) -> ActorOptions:
    ACTOR.check(given)
    throws = given.get("throws") or ()
    return ActorOptions(
        actor_name=given.get("actor_name"),
        queue_name=given.get("queue_name", "default"),
        priority=given.get("priority", 0),
        retrying={name: given[name] for name in _RETRYING if name in given},
        time_limit_ms=_TIME_LIMIT_MS if given.get("time_limit") is None else given["time_limit"],
        max_age_ms=given.get("max_age"),
        throws=throws if isinstance(throws, tuple) else (throws,),
    )


def read_call(given: Mapping[str, Any], retrying: Mapping[str, Any]) -> CallOptions:
    """Of one message. What it leaves open of its retries is as its actor says, which is `retrying`."""
    options = {name: value for name, value in given.items() if value is not None}
    CALL.check(options)
    fields: dict[str, object] = {}
    delay = options.get("delay")
    if delay:
        fields["delay"] = delay if isinstance(delay, timedelta) else delay / 1000
    if any(name in options for name in _RETRYING):
        fields["retries"] = _policy({**retrying, **options})
    if "time_limit" in options:
        if not math.isfinite(options["time_limit"]):
            raise InvalidInput("time_limit", "of one message must be finite; give its actor time_limit=float('inf')")
        fields["timeout"] = options["time_limit"] / 1000
    if "max_age" in options:
        fields["expires"] = options["max_age"] / 1000
    return fields  # type: ignore[return-value]


def _policy(given: Mapping[str, Any]) -> RetryPolicy:
    most = given.get("max_retries", _MAX_RETRIES)
    first = given.get("min_backoff") or _MIN_BACKOFF_MS
    longest = given.get("max_backoff") or _MAX_BACKOFF_MS
    attempts = MAX_ATTEMPTS if most is None else min(most + 1, MAX_ATTEMPTS)
    return RetryPolicy(attempts, min(first, longest), 2.0, min(longest, MAX_DELAY_MS))
