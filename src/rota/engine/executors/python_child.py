"""The child process of a Python job with `process: true`: reads the call, makes it, writes the outcome.

SIGTERM raises `SystemExit` in the function, so that its `finally` blocks run within the grace of a stop.
"""

import inspect
import logging
import os
import signal
import sys
import threading
from collections.abc import Coroutine
from contextvars import Context
from pathlib import Path
from typing import NoReturn

import msgspec

from rota.engine.executors.environment import RESULT_FD
from rota.engine.executors.executor import Run
from rota.engine.executors.function import Function, find_function, outcome_of_error, outcome_of_value
from rota.engine.executors.job_context import context_for, copy_logging_to_jobs, drive
from rota.engine.executors.python_call import Message, Request
from rota.model.outcome import Outcome


class _Pipe:
    """The result pipe. Threads of the job may log at the same time."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()
        self._encoder = msgspec.json.Encoder()

    def log(self, message: str, level: str) -> None:
        self.send(Message(log=message, level=level))

    def send(self, message: Message) -> None:
        line = self._encoder.encode(message) + b"\n"
        with self._lock:
            while line:
                line = line[os.write(self._fd, line) :]


def main() -> None:
    """The whole life of the process."""
    signal.signal(signal.SIGTERM, _stop)
    pipe = _Pipe(_take_result_fd())
    request = msgspec.json.decode(_take_input(), type=Request)
    _prepare_streams()
    pipe.send(Message(outcome=_run(request, pipe)))


def _run(request: Request, pipe: _Pipe) -> Outcome:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, "")
    function = find_function(str(request.job_type.metadata["function"]))
    if isinstance(function, Outcome):
        return function
    copy_logging_to_jobs()
    logging.root.setLevel(logging.INFO)
    return _call(function, Run(request.spec, request.job_type, request.attempt, pipe.log))


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


def _take_result_fd() -> int:
    """Our end of the result pipe, kept from programs that the job starts."""
    fd = int(os.environ.pop(RESULT_FD))
    os.set_inheritable(fd, False)
    return fd


def _take_input() -> bytes:
    """The request; from then on standard input is empty, as it is for every job."""
    with open(0, "rb", closefd=False) as stdin:
        request = stdin.read()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return request


def _prepare_streams() -> None:
    """Lines reach the live log as they are printed."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr]


def _stop(number: int, _frame: object) -> NoReturn:
    raise SystemExit(128 + number)
