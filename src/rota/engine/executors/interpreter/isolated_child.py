"""The process of an isolated run: makes the executor, has it run the attempt, and tells the node what came of it.

SIGTERM reaches the executor as a cancellation, like any stop.
"""

import asyncio
import logging
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

from rota.engine.executors.executor import Run, checked
from rota.engine.executors.interpreter.interpreter_child import ResultPipe, open_call, run_of
from rota.engine.executors.interpreter.messages import Message, Request
from rota.engine.executors.python.function import outcome_of_error
from rota.engine.executors.registry import ExecutorRegistry
from rota.errors import InvalidInput, NodeStrained
from rota.model.runs.outcome import refused, succeeded

_CLOSE_S = 1.0


def main() -> None:
    """The whole life of the process."""
    request, pipe = open_call()
    asyncio.run(_live(request, pipe))


async def _live(request: Request, pipe: ResultPipe) -> NoReturn:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    executors = ExecutorRegistry(options=request.options)
    with suppress(asyncio.CancelledError):
        pipe.send(await _execute(run_of(request, pipe), executors, pipe))
    with suppress(Exception, asyncio.CancelledError):
        await asyncio.wait_for(executors.close(), _CLOSE_S)
    _leave()


async def _execute(run: Run, executors: ExecutorRegistry, pipe: ResultPipe) -> Message:
    """What there is to tell at the end."""
    try:
        executor = executors.get(run.job_type.executor)
        pipe.send(Message(has_begun=True))
        return Message(outcome=checked(await executor.run(run)))
    except asyncio.CancelledError as error:
        if not _was_asked_to_stop():
            return Message(outcome=outcome_of_error(error))
        results = checked(succeeded(run.partial_results)).results
        return Message(was_stopped=True, partial_results=results, survivors=run.survivors)
    except InvalidInput as error:
        return Message(outcome=refused("definition", str(error)))
    except NodeStrained as error:
        return Message(lacks=error.what)
    except (Exception, SystemExit) as error:
        return Message(outcome=outcome_of_error(error))


def _was_asked_to_stop() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _leave() -> NoReturn:
    """End now. What the job left behind, a thread or a task that will not stop, must not hold the process."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(0)
