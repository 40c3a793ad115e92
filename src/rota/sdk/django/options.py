"""The `OPTIONS` of a backend in the settings of a Django project."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict, cast

from rota.model.limits import check_name
from rota.sdk.tasks.options import CallOptions, Duration, read_duration, read_retries, refuse_unknown
from rota.settings.values import text
from rota.store.open import scheme_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.model.runs.retry import RetryPolicy


class BackendOptions(TypedDict, total=False):
    """Of one entry of `TASKS`."""

    store: str
    """The URL of the store; without it, the environment or Rota's configuration file names one."""
    retries: "int | RetryPolicy"
    """How often a task is tried again after a failure, or a policy with its waits."""
    timeout: Duration
    """How long an attempt may take."""


def check_options(options: Mapping[str, object], queues: "Iterable[str]") -> BackendOptions:
    """Refuse, as `InvalidInput`, what cannot be meant. Nobody is asked for that."""
    refuse_unknown(options, BackendOptions)
    found = cast(BackendOptions, options)
    if "store" in found:
        scheme_of(text("store", found["store"]))
    call_options(found)
    for queue in queues:
        check_name("QUEUES", queue)
    return found


def call_options(options: BackendOptions) -> CallOptions:
    """What each task of the backend is enqueued with."""
    found = CallOptions()
    if "retries" in options:
        found["retries"] = read_retries("retries", options["retries"])
    if "timeout" in options:
        found["timeout"] = read_duration("timeout", options["timeout"]) / 1000
    return found
