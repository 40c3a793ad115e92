"""The child process of a Python job with `process: true`: reads the call, makes it, writes the outcome.

SIGTERM raises `SystemExit` in the function, so that its `finally` blocks run within the grace of a stop. If it comes
just as the function begins to wait for something, Python learns of it with the next signal only, which is a reminder.
"""

import inspect
import signal
from collections.abc import Coroutine
from contextvars import Context
from typing import NoReturn

from rota.engine.executors.executor import Run
from rota.engine.executors.interpreter.interpreter_child import open_call, run_of
from rota.engine.executors.interpreter.messages import REMINDER, Message
from rota.engine.executors.process.limits import may_run_short
from rota.engine.executors.python.function import Function, find_function, outcome_of_error, outcome_of_value
from rota.engine.executors.python.job_context import context_for, copy_logging_to_jobs, drive
from rota.errors import NodeStrained
from rota.model.runs.outcome import Outcome


def main() -> None:
    """The whole life of the process."""
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(REMINDER, _do_nothing)
    request, pipe = open_call()
    try:
        outcome = _run(run_of(request, pipe))
    except NodeStrained as error:
        if may_run_short(request.job_type.metadata):
            pipe.send(Message(outcome=outcome_of_error(error.__cause__ or error)))
        else:
            pipe.send(Message(lacks=error.what))
    else:
        pipe.send(Message(outcome=outcome))


def _run(run: Run) -> Outcome:
    function = find_function(str(run.job_type.metadata["function"]))
    if isinstance(function, Outcome):
        return function
    copy_logging_to_jobs()
    return _call(function, run)


def _call(function: Function, run: Run) -> Outcome:
    context = context_for(run)
    try:
        value = context.run(function.call, **run.spec.arguments)
        if inspect.iscoroutine(value):
            value = _await(value, context)
    except BaseException as error:
        return outcome_of_error(error, function, run.spec.arguments)
    return outcome_of_value(value)


def _await(coroutine: Coroutine[object, object, object], context: Context) -> object:
    import asyncio  # only here: it takes a third of the start of the process, and most functions do not need it

    async def work() -> object:
        return await drive(coroutine, context)

    return asyncio.run(work())


def _stop(number: int, _frame: object) -> NoReturn:
    raise SystemExit(128 + number)


def _do_nothing(_number: int, _frame: object) -> None:
    """There has to be a handler, or the signal would interrupt nothing."""
