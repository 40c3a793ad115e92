"""The `OPTIONS` of a backend in the settings of a Django project."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict, cast

from django.db import connections

from rota.errors import InvalidInput
from rota.model.limits import check_name
from rota.sdk.tasks.options import Duration, read_duration, read_retries, refuse_unknown
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
    outbox: str
    """The database, by its name in `DATABASES`, whose transactions tasks are part of."""


def check_options(options: Mapping[str, object], queues: "Iterable[str]") -> BackendOptions:
    """Refuse, as `InvalidInput`, what cannot be meant. Nobody is asked for that."""
    refuse_unknown(options, BackendOptions)
    found = cast(BackendOptions, options)
    if "store" in found:
        scheme_of(text("store", found["store"]))
    if "outbox" in found:
        _check_database(found["outbox"])
    request_fields(found)
    for queue in queues:
        check_name("QUEUES", queue)
    return found


def request_fields(options: BackendOptions) -> dict[str, object]:
    """What the request for a job of each task of the backend says."""
    found: dict[str, object] = {}
    if "retries" in options:
        found["retry"] = read_retries("retries", options["retries"])
    if "timeout" in options:
        found["timeout_ms"] = read_duration("timeout", options["timeout"])
    return found


def _check_database(name: object) -> None:
    if name not in connections.settings:
        raise InvalidInput("outbox", f"must be one of the DATABASES {sorted(connections.settings)}, got {name!r}")
