"""What a job of RQ's says beyond what jobs of Rota say. It is carried as an argument of its own."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from rota.errors import InvalidInput
from rota.moving.common.imports import function_of
from rota.moving.rq.retry import Retry
from rota.sdk.tasks.plan import place_of

ARGUMENT = "_rq"


class Extras(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Of one job."""

    on_success: str | None = None
    """Where a worker finds what to call after a success: `module:name`."""
    on_failure: str | None = None
    waits_ms: list[int] = []
    """Before each further try, if no policy has them."""
    meta: dict[str, Any] = {}
    after: list[str] = []
    """The ids of the jobs that it depends on, also of such as had ended when it was enqueued."""


class Callback:
    """What is called after a job: `Callback(report)`. A time-out is not carried: the job's own counts for both."""

    def __init__(self, func: Callable[..., object] | str, timeout: object = None) -> None:
        if timeout is not None:
            raise InvalidInput("timeout", "of Callback is not carried by Rota; job_timeout counts for both")
        self.place = place_of(function_of("func", func))


def make_extras(options: Mapping[str, Any], after: Sequence[str]) -> Extras:
    retry = options.get("retry")
    return Extras(
        on_success=_place("on_success", options.get("on_success")),
        on_failure=_place("on_failure", options.get("on_failure")),
        waits_ms=retry.waits_ms if isinstance(retry, Retry) else [],
        meta=dict(options.get("meta") or {}),
        after=list(after),
    )


def carried(extras: Extras) -> dict[str, object]:
    """As an argument; nothing if there is nothing to say."""
    found = msgspec.to_builtins(extras)
    return {ARGUMENT: found} if found else {}


def split_arguments(arguments: Mapping[str, object]) -> tuple[dict[str, Any], Extras]:
    """The arguments of the function, and the rest."""
    own = dict(arguments)
    return own, msgspec.convert(own.pop(ARGUMENT, {}), Extras)


def _place(field: str, given: object) -> str | None:
    if given is None:
        return None
    return given.place if isinstance(given, Callback) else place_of(function_of(field, given))
