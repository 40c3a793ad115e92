"""What a worker calls for a job of RQ's: its function, and what is to be called after that."""

import inspect
import sys
from collections.abc import Callable
from typing import Any

from rota.errors import TryAgain
from rota.moving.common.imports import function_of, named_function
from rota.moving.rq.apps import FunctionApp, Known, app_of_worker
from rota.moving.rq.extras import Extras, split_arguments
from rota.moving.rq.job import get_current_job
from rota.sdk.tasks.current_job import current_job
from rota.sdk.tasks.options import TaskOptions
from rota.sdk.tasks.parameters import Parameters
from rota.sdk.tasks.plan import place_of


def call_function(**arguments: object) -> Any:
    """Run a plain function, in a thread."""
    own, extras = split_arguments(arguments)
    try:
        value = named_function(current_job().task)(**own)
        _call_back(extras.on_success, value)
        return value
    except Exception as error:
        _fail(extras, error)
        raise


async def await_function(**arguments: object) -> Any:
    """Run an `async def`, on the loop of the worker."""
    own, extras = split_arguments(arguments)
    try:
        value = await named_function(current_job().task)(**own)
        _call_back(extras.on_success, value)
        return value
    except Exception as error:
        _fail(extras, error)
        raise


def known_task(app: FunctionApp, function: Callable[..., Any]) -> Known:
    """A function becomes a task of an app when it is first met."""
    found = app.known.get(function)
    if found is None:
        name = place_of(function).replace(":", ".")
        parameters = Parameters(name, function)
        runs = await_function if inspect.iscoroutinefunction(function) else call_function
        found = app.known[function] = Known(app.rota.add_task(runs, TaskOptions(name=name)), parameters)
    return found


def _call_back(place: str | None, *results: object) -> None:
    """As RQ calls it: with the job, the connection, and the result or the exception."""
    if place is not None:
        function_of("callback", place)(get_current_job(), app_of_worker().connection, *results)


def _fail(extras: Extras, error: Exception) -> None:
    """Tell of a failure, and have the next try begin in the job's own time. As in RQ, what is raised by who is told
    counts instead of it."""
    _call_back(extras.on_failure, *sys.exc_info())
    if extras.waits_ms:
        number = min(current_job().attempt, len(extras.waits_ms)) - 1
        raise TryAgain(delay_ms=extras.waits_ms[number]) from error
