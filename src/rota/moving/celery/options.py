"""The options of `@app.task` and of `apply_async`."""

import threading
from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from rota.errors import InvalidInput
from rota.model.runs.retry import MAX_ATTEMPTS, RetryPolicy
from rota.moving.celery.conf import Conf
from rota.moving.celery.exceptions import Ignore, Reject
from rota.moving.common.refusing import Options, refuse_value
from rota.sdk.tasks.options import TaskOptions

LINKS = "_celery"
"""The argument by which a job carries what follows it."""
_RETRYING = (
    *("max_retries", "default_retry_delay", "autoretry_for", "dont_autoretry_for", "retry_kwargs"),
    *("retry_backoff", "retry_backoff_max", "retry_jitter"),
)
_JSON = "arguments and results are JSON; leave it out"
_EVENTS = "schedules and configurations wait for the end of jobs; `rota event` has more"
TASK = Options(
    of="@app.task",
    carried=(
        "name",
        "bind",
        *_RETRYING,
        "time_limit",
        "soft_time_limit",
        "rate_limit",
        "priority",
        "queue",
        "expires",
        "serializer",
    ),
    harmless=(
        *("ignore_result", "acks_late", "reject_on_worker_lost", "acks_on_failure_or_timeout", "track_started"),
        *("send_events", "store_errors_even_if_ignored", "typing", "throws", "shared"),
    ),
    instead={
        "base": "write a function that does what the class does",
        "pydantic": "build the model in the task",
        "on_failure": _EVENTS,
        "on_success": _EVENTS,
    },
)
CALL = Options(
    of="apply_async",
    carried=("countdown", "eta", "expires", "queue", "priority", "time_limit", "serializer", "link", "link_error"),
    harmless=("retry", "retry_policy", "ignore_result", "producer", "connection", "add_to_parent"),
    instead={
        "soft_time_limit": "give it to @app.task",
        "routing_key": "give queue",
        "exchange": "give queue",
        "headers": "give what the task needs as an argument",
        "shadow": "give the task the name that you want to see",
    },
)


class TaskSettings(Struct, frozen=True, kw_only=True):
    """What is said of one task."""

    name: str | None = None
    bind: bool = False
    queue: str
    max_retries: int | None = 3
    default_retry_delay: float = 180
    autoretry_for: tuple[type[Exception], ...] = ()
    dont_autoretry_for: tuple[type[Exception], ...] = ()
    retry_countdown: float | None = None
    retry_backoff: float = 0
    retry_backoff_max: float = 600
    retry_jitter: bool = True
    time_limit: float | None = None
    soft_time_limit: float | None = None
    rate_limit: str | float | None = None
    priority: int = 0
    expires: float | timedelta | datetime | None = None

    def retries_after(self, error: Exception) -> bool:
        """Whether a task that raised this is tried again although it did not ask for it."""
        never = (*self.dont_autoretry_for, Ignore, Reject)
        return isinstance(error, self.autoretry_for) and not isinstance(error, never)

    def task_options(self) -> TaskOptions:
        options = TaskOptions(queue=self.queue, retries=self._policy(), priority=self.priority)
        if self.name is not None:
            options["name"] = self.name
        if self.time_limit is not None:
            options["timeout"] = self.time_limit
        if self.rate_limit:
            is_text = isinstance(self.rate_limit, str) and "/" in self.rate_limit
            options["rate"] = str(self.rate_limit) if is_text else f"{self.rate_limit}/s"
        return options

    def _policy(self) -> RetryPolicy:
        attempts = MAX_ATTEMPTS if self.max_retries is None else min(self.max_retries + 1, MAX_ATTEMPTS)
        if self.retry_backoff:
            first, most = round(self.retry_backoff * 1000), round(self.retry_backoff_max * 1000)
            return RetryPolicy(attempts, first, 2.0, most, 0.1 if self.retry_jitter else 0.0)
        wait_s = self.default_retry_delay if self.retry_countdown is None else self.retry_countdown
        wait_ms = round(wait_s * 1000)
        return RetryPolicy(attempts, wait_ms, 1.0, max(wait_ms, 1), 0.0)


def read_settings(given: Mapping[str, object], conf: Conf, default_name: str) -> TaskSettings:
    """What was given to `@app.task`, with what the app says of all tasks."""
    TASK.check(given)
    options = {name: value for name, value in given.items() if name not in TASK.harmless}
    refuse_value("serializer", options.pop("serializer", "json"), allowed=("json",), instead=_JSON)
    _merge_retry_kwargs(options)
    for name in ("autoretry_for", "dont_autoretry_for"):
        if name in options:
            options[name] = tuple(options[name])  # type: ignore[arg-type]
    options["retry_backoff"] = float(options.get("retry_backoff", 0) or 0)  # type: ignore[arg-type]
    named = str(options.get("name") or default_name)
    options.setdefault("queue", conf.queue_of(named))
    options.setdefault("time_limit", conf.task_time_limit)
    options.setdefault("soft_time_limit", conf.task_soft_time_limit)
    _check_soft_limit(options["soft_time_limit"])
    options.setdefault("priority", conf.task_default_priority or 0)
    return TaskSettings(**options)  # type: ignore[arg-type]


def _check_soft_limit(value: object) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and not (is_number and 0 < value <= threading.TIMEOUT_MAX):  # type: ignore[operator]
        raise InvalidInput("soft_time_limit", f"must be seconds, more than 0, got {value!r:.100}")


def _merge_retry_kwargs(options: dict[str, object]) -> None:
    found = options.pop("retry_kwargs", None) or {}
    if not isinstance(found, Mapping):
        raise InvalidInput("retry_kwargs", f"must be a dict, got {found!r:.100}")
    for name, value in found.items():
        if name not in ("max_retries", "countdown"):
            raise InvalidInput(f"retry_kwargs.{name}", "is not carried by Rota; give max_retries or countdown")
        options["retry_countdown" if name == "countdown" else name] = value
