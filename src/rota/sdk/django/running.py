"""What a worker calls for a job of Django's: finds the task, tells the signals, and calls its function.

Any worker of Rota's can do it if `DJANGO_SETTINGS_MODULE` names the settings of the project. A run that is stopped from
outside, by its timeout, a cancellation or the death of its node, sends no signal of its end.
"""

from collections.abc import Sequence
from typing import Any

import django
from asgiref.sync import sync_to_async
from django.apps import apps
from django.db import close_old_connections
from django.tasks import Task, TaskContext, TaskResult, TaskResultStatus, task_backends
from django.tasks.base import TaskError
from django.tasks.signals import task_finished, task_started
from django.utils.module_loading import import_string

from rota.clock import SystemClock
from rota.engine.executors.executor import Run
from rota.engine.executors.python.function import outcome_of_error
from rota.engine.executors.python.job_context import current_run
from rota.errors import GiveUp
from rota.model.job_type import JobType
from rota.model.runs.retry import RetryPolicy
from rota.sdk.django.arguments import plain
from rota.sdk.django.results import error_of, instant, set_facts

_ONCE = RetryPolicy()
_FAILURES = (Exception, SystemExit)
"""What a task raises. Anything else stops the run, and Django's tasks have no word for that."""


def call_task(args: list[Any], kwargs: dict[str, Any], backend: str) -> object:
    """Run a task that is a plain function, in a thread."""
    run = current_run()
    _prepare()
    try:
        result = _begin(run, backend)
        sender = type(result.task.get_backend())
        task_started.send_robust(sender, task_result=result)
        try:
            value = plain("the return value", result.task.call(*_call_args(result), **result.kwargs))
        except _FAILURES as error:
            if _fail(run, result, error):
                task_finished.send_robust(sender, task_result=result)
            raise
        _succeed(result, value)
        task_finished.send_robust(sender, task_result=result)
        return value
    finally:
        close_old_connections()


async def await_task(args: list[Any], kwargs: dict[str, Any], backend: str) -> object:
    """Run a task that is an `async def`, on the loop of the worker."""
    run = current_run()
    await sync_to_async(_prepare)()
    try:
        result = await sync_to_async(_begin)(run, backend)
        sender = type(result.task.get_backend())
        await task_started.asend_robust(sender, task_result=result)
        try:
            value = plain("the return value", await result.task.acall(*_call_args(result), **result.kwargs))
        except _FAILURES as error:
            if _fail(run, result, error):
                await task_finished.asend_robust(sender, task_result=result)
            raise
        _succeed(result, value)
        await task_finished.asend_robust(sender, task_result=result)
        return value
    finally:
        await sync_to_async(close_old_connections)()


_FUNCTIONS = tuple(f"{__name__}:{function.__name__}" for function in (call_task, await_task))


def is_of_django(job_type: JobType) -> bool:
    return job_type.metadata.get("function") in _FUNCTIONS


def find_task(path: str) -> Task:
    """The task that a job type is named after."""
    try:
        found = import_string(path)
    except ImportError as error:
        raise GiveUp(f"the task {path!r} is not in the code of this project: {error}") from None
    if not isinstance(found, Task):
        raise GiveUp(f"{path!r} is not a task in the code of this project; decorate it with @task")
    return found


def _prepare() -> None:
    """What Django does before a request: it is set up, and no database connection is older than it may be."""
    if not apps.ready:
        django.setup()
    close_old_connections()


def _begin(run: Run, backend: str) -> TaskResult:
    """The result as it is while the task runs."""
    return task_backends[backend].begun_result(run.spec.id, SystemClock().now())


def _call_args(result: TaskResult) -> Sequence[Any]:
    return [TaskContext(task_result=result), *result.args] if result.task.takes_context else result.args


def _succeed(result: TaskResult, value: object) -> None:
    finished_at = instant(SystemClock().now())
    set_facts(result, status=TaskResultStatus.SUCCESSFUL, finished_at=finished_at, _return_value=value)


def _fail(run: Run, result: TaskResult, error: BaseException) -> bool:
    """Note a failure; True if the task is not tried again."""
    result.errors.append(_error_of(error))
    policy = run.spec.retry or run.job_type.retry or _ONCE
    if run.attempt < policy.attempts and not isinstance(error, GiveUp):
        return False
    set_facts(result, status=TaskResultStatus.FAILED, finished_at=instant(SystemClock().now()))
    return True


def _error_of(error: BaseException) -> TaskError:
    return error_of(outcome_of_error(error).errors)
