"""Executor `python`: calls a function with the job's arguments as keyword arguments.

Metadata: `function` (`package.module:name`), `process`, `retry_beside`. An `async def` is awaited on the node's loop
and must not block it; a `def` runs in a thread. Neither can be killed: a cancelled coroutine may catch its
cancellation, and a thread that is given up runs on with nobody listening; unless `retry_beside` is true, no retry
follows then. Use `process: true` for work that must be killable: it costs the start of an interpreter. Functions are
imported once; changed code needs a new node.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from contextvars import Context

from rota.engine.executors.executor import RETRY_BESIDE, ExecutorOptions, Run
from rota.engine.executors.interpreter.interpreter import Interpreter
from rota.engine.executors.metadata import check_flag, check_keys
from rota.engine.executors.process.keeper import retire_keeper
from rota.engine.executors.process.limits import LIMITS, NONE, read_limits
from rota.engine.executors.python.function import (
    SUCCEEDED,
    Function,
    check_function_name,
    find_function,
    outcome_of_error,
    outcome_of_value,
)
from rota.engine.executors.python.job_context import (
    context_for,
    copy_logging_to_jobs,
    current_run,
    drive,
    lead_prints_to_jobs,
)
from rota.engine.executors.python.printing import finish_prints
from rota.engine.executors.threads import Threads
from rota.errors import InvalidInput
from rota.model.job_type import JobType
from rota.model.runs.outcome import Outcome, failed, refused

__all__ = ["PythonExecutor", "current_run"]

_KEYS = ("function", LIMITS, "process", RETRY_BESIDE)
_CHILD = "rota.engine.executors.python.python_child"


class PythonExecutor:
    """Calls functions."""

    def __init__(self, options: ExecutorOptions = ExecutorOptions()) -> None:  # noqa: B008 a frozen value
        self._options = options
        self._provided: dict[str, Function] = {}
        """Of job types, by their names."""
        self._functions: dict[object, Function] = {}
        """By their place."""
        self._threads = Threads()

    def provide(self, name: str, function: Callable[..., object]) -> None:
        """Call this function for a place, instead of importing one: the program that runs the node has it already."""
        _lead_output_to_jobs()
        self._functions[name] = Function(name, function)

    def provide_for(self, job_type: str, function: Callable[..., object]) -> None:
        """Call this function for jobs of the type of this name, whatever its place: two decorated functions may have
        one."""
        _lead_output_to_jobs()
        self._provided[job_type] = Function(job_type, function)

    def check(self, job_type: JobType) -> None:
        check_keys(job_type.metadata, _KEYS)
        check_function_name("metadata.function", job_type.metadata.get("function"))
        is_process = check_flag(job_type.metadata, "process")
        if read_limits(job_type.metadata) != NONE and not is_process:
            raise InvalidInput(
                f"metadata.{LIMITS}", "needs process: true; a function in the node has the node's limits"
            )
        check_flag(job_type.metadata, RETRY_BESIDE)

    async def run(self, run: Run) -> Outcome:
        metadata = run.job_type.metadata
        if metadata.get("process"):
            return await self._run_in_process(run)
        function = self._provided.get(run.job_type.name) or self._functions.get(metadata.get("function"))
        if function is None:
            found = await self._find(run)
            if isinstance(found, Outcome):
                return found
            function = found
        context = context_for(run)
        try:
            if not function.is_async:
                return await self._run_in_thread(function, run, context)
            coroutine = _begin(function, run)
            return coroutine if isinstance(coroutine, Outcome) else await _run_coroutine(coroutine, context)
        finally:
            finish_prints(run)

    async def close(self) -> None:
        self._threads.close()
        retire_keeper()

    async def _find(self, run: Run) -> Function | Outcome:
        """Import the function of a run, away from the loop, since a module may take seconds to import."""
        try:
            self.check(run.job_type)
        except InvalidInput as error:
            return refused("function", str(error))
        name = str(run.job_type.metadata["function"])
        _lead_output_to_jobs()
        found = await self._threads.call(find_function, name)
        if isinstance(found, Function):
            self._functions[name] = found
        return found

    async def _run_in_thread(self, function: Function, run: Run, context: Context) -> Outcome:
        run.can_be_stopped = False
        outcome = await self._threads.call(_call, function, run.spec.arguments, context)
        run.can_be_stopped = True
        if isinstance(outcome, Outcome):
            return outcome
        return await _run_coroutine(outcome, context)

    async def _run_in_process(self, run: Run) -> Outcome:
        try:
            self.check(run.job_type)
            limits = read_limits(run.job_type.metadata)
            interpreter = Interpreter(run, _CHILD, self._options, limits=limits)
        except InvalidInput as error:
            return refused("function", str(error))
        try:
            return await interpreter.run() or _died(interpreter)
        except OSError as error:
            return failed({"type": "spawn", "message": f"cannot start {sys.executable!r}: {error}"})


def _lead_output_to_jobs() -> None:
    copy_logging_to_jobs()
    lead_prints_to_jobs()


def _begin(function: Function, run: Run) -> Coroutine[object, object, object] | Outcome:
    """Call an `async def`. Arguments that do not fit it are seen here, before any of its code runs."""
    try:
        return function.call(**run.spec.arguments)  # type: ignore[return-value]
    except Exception as error:
        return outcome_of_error(error, function, run.spec.arguments)


async def _run_coroutine(coroutine: Coroutine[object, object, object], context: Context) -> Outcome:
    try:
        value = await drive(coroutine, context)
    except asyncio.CancelledError as error:
        if _was_asked_to_stop():
            raise
        return outcome_of_error(error)  # the job's own code raised it, perhaps by awaiting something cancelled
    except BaseException as error:
        return outcome_of_error(error)
    return SUCCEEDED if value is None else outcome_of_value(value)


def _was_asked_to_stop() -> bool:
    """Whether a `CancelledError` in this task is a request, and not just something the job's own code raised."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _call(
    function: Function, arguments: dict[str, object], context: Context
) -> Outcome | Coroutine[object, object, object]:
    """Call a function in this thread. If it returns a coroutine, as decorated ones may, that goes back to the loop."""
    try:
        value = context.run(function.call, **arguments)
    except BaseException as error:
        return outcome_of_error(error, function, arguments)
    if value is None:
        return SUCCEEDED
    return value if asyncio.iscoroutine(value) else outcome_of_value(value)


def _died(interpreter: Interpreter) -> Outcome:
    """The child ended without an outcome: killed, or `os._exit` in the job's code."""
    message = f"its process ended with {interpreter.how_it_ended()} before it had a result"
    return failed({"type": "process", "message": message, "exit_code": interpreter.exit_code})
