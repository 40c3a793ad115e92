"""How a worker calls the functions of a program of arq's: by the name under which they were enqueued."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from rota.clock import as_datetime
from rota.engine.executors.python.job_context import current_run
from rota.errors import GiveUp, TryAgain
from rota.model.runs.retry import MAX_ATTEMPTS, RetryPolicy
from rota.sdk.tasks.options import TaskOptions

OWNER = "arq"
"""The name of the app that all programs of arq's on a store are."""
DEFAULT_QUEUE = "arq:queue"
MAX_TRIES = 5
TIMEOUT_S = 300.0
_functions: dict[str, Callable[..., Any]] = {}
_context: dict[Any, Any] = {}


class Retry(RuntimeError):
    """Raised by a function: try again, after `defer` seconds if they are given."""

    def __init__(self, defer: float | timedelta | None = None) -> None:
        super().__init__("the function asked to be tried again")
        seconds = defer.total_seconds() if isinstance(defer, timedelta) else defer
        self.defer_ms = None if seconds is None else round(seconds * 1000)


def provide(functions: Mapping[str, Callable[..., Any]], context: dict[Any, Any]) -> None:
    """Have these functions called in this process, with this context."""
    global _context
    _functions.update(functions)
    _context = context


async def call(args: list[Any] | None = None, kwargs: dict[str, Any] | None = None) -> Any:
    """What every job calls. As in arq, only `Retry` has it tried again."""
    run = current_run()
    function = _functions.get(run.job_type.name)
    if function is None:
        raise GiveUp(f"this worker has no function {run.job_type.name!r}; name it in WorkerSettings.functions")
    own = {"job_id": run.spec.id, "job_try": run.attempt, "enqueue_time": as_datetime(run.spec.enqueued_at)}
    try:
        return await function({**_context, **own}, *(args or ()), **(kwargs or {}))
    except Retry as again:
        raise TryAgain(str(again), delay_ms=again.defer_ms or 0) from again
    except Exception as error:
        raise GiveUp from error


def queue_of(name: str | None) -> str:
    """arq's own default is Rota's."""
    return "default" if name in (None, DEFAULT_QUEUE) else str(name)


def task_options(name: str, *, queue: str, timeout_s: float | None = None, max_tries: int | None = None) -> TaskOptions:
    """What is said of a function; whoever only enqueues it knows no more than its name."""
    attempts = min(MAX_TRIES if max_tries is None else max_tries, MAX_ATTEMPTS)
    timeout = TIMEOUT_S if timeout_s is None else timeout_s
    return TaskOptions(name=name, queue=queue, timeout=timeout, retries=RetryPolicy(attempts, 0, 1.0, 1, 0.0))
