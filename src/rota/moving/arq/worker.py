"""`WorkerSettings`, which `rota worker module:WorkerSettings` runs."""

import inspect
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta, tzinfo
from typing import Any

from msgspec import Struct

from rota.errors import InvalidInput
from rota.model.schedules.request import ScheduleRequest
from rota.moving.arq.calls import Retry, call, provide, queue_of, task_options
from rota.moving.arq.connections import ArqRedis, app_of_settings
from rota.moving.arq.cron import CronJob
from rota.moving.common.imports import function_of
from rota.moving.common.refusing import Options
from rota.sdk.tasks.app import Rota
from rota.sdk.tasks.loading import RECOGNISERS
from rota.sdk.tasks.options import read_zone
from rota.settings.machine_zone import machine_zone

__all__ = ["Function", "Retry", "func", "run_worker"]

_EVENTS = "write it into the functions, or let a configuration wait for the end of jobs: docs/events.md"
_JSON = "arguments and results are JSON; leave it out"
_WORKER = Options(
    of="WorkerSettings",
    carried=(
        *("functions", "cron_jobs", "redis_settings", "queue_name", "on_startup", "on_shutdown", "ctx"),
        *("job_timeout", "max_tries", "timezone"),
    ),
    harmless=(
        *("max_jobs", "keep_result", "keep_result_forever", "poll_delay", "queue_read_limit", "health_check_interval"),
        *("health_check_key", "handle_signals", "retry_jobs", "allow_abort_jobs", "log_results", "expires_extra_ms"),
        "job_completion_wait",
    ),
    instead={
        "redis_pool": "give redis_settings",
        "burst": "rota worker --burst",
        "max_burst_jobs": "rota worker --max-jobs",
        **dict.fromkeys(("on_job_start", "on_job_end", "after_job_end"), _EVENTS),
        **dict.fromkeys(("job_serializer", "job_deserializer"), _JSON),
    },
)
_OF_ARQ = {*_WORKER.carried, *_WORKER.harmless, *_WORKER.instead}
_FUNC = Options(
    of="func",
    carried=("name", "timeout", "max_tries"),
    harmless=("keep_result", "keep_result_forever"),
)
_apps: dict[type, Rota] = {}


class Function(Struct, frozen=True, kw_only=True):
    """A function with its own limits."""

    name: str
    function: Callable[..., Any]
    timeout: float | timedelta | None = None
    max_tries: int | None = None


def func(
    coroutine: Callable[..., Any] | str,
    *,
    name: str | None = None,
    timeout: float | timedelta | None = None,
    max_tries: int | None = None,
    **options: object,
) -> Function:
    """A function under another name, or with limits of its own."""
    _FUNC.check(options)
    function = function_of("coroutine", coroutine)
    named = name or (coroutine if isinstance(coroutine, str) else str(getattr(function, "__qualname__", "")))
    return Function(name=named, function=function, timeout=timeout, max_tries=max_tries)


def run_worker(settings_cls: type) -> None:
    """Run the jobs of a program in this process, until a signal ends it."""
    app_of_worker(settings_cls).run_worker(queue=queue_of(getattr(settings_cls, "queue_name", None)))


def app_of_worker(settings_cls: type) -> Rota:
    """The app that a `WorkerSettings` describes."""
    if settings_cls not in _apps:
        _apps[settings_cls] = _made(settings_cls)
    return _apps[settings_cls]


def _made(settings_cls: type) -> Rota:
    given = {name: value for name, value in inspect.getmembers(settings_cls) if name in _OF_ARQ}
    _WORKER.check(given)
    app, queue = app_of_settings(given.get("redis_settings")), queue_of(given.get("queue_name"))
    functions = [one if isinstance(one, Function) else func(one) for one in given.get("functions") or ()]
    crons: Sequence[CronJob] = given.get("cron_jobs") or ()
    for one in functions:
        timeout = one.timeout if one.timeout is not None else given.get("job_timeout")
        tries = one.max_tries if one.max_tries is not None else given.get("max_tries")
        app.add_task(call, task_options(one.name, queue=queue, timeout_s=_seconds(timeout), max_tries=tries))
    for cron in crons:
        timeout = cron.timeout if cron.timeout is not None else given.get("job_timeout")
        app.add_task(call, task_options(cron.name, queue=queue, timeout_s=_seconds(timeout), max_tries=cron.max_tries))
    zone = given.get("timezone")
    app.add_schedules(lambda: [_schedule(one, zone) for one in crons])
    context: dict[Any, Any] = dict(given.get("ctx") or {})
    named = {**{one.name: one.function for one in functions}, **{one.name: one.function for one in crons}}
    provide({name: _coroutine(function) for name, function in named.items()}, context)
    redis = ArqRedis(app, given.get("queue_name"))  # what a job enqueues is for the queue that it came from
    app.add_lifespan(lambda: _lifespan(context, redis, given.get("on_startup"), given.get("on_shutdown")))
    return app


def _coroutine(function: Callable[..., Any]) -> Callable[..., Any]:
    if not inspect.iscoroutinefunction(function):
        raise InvalidInput("functions", f"{function!r:.100} must be an async def, as in arq")
    return function


def _seconds(value: float | timedelta | None) -> float | None:
    return value.total_seconds() if isinstance(value, timedelta) else value


def _schedule(cron: CronJob, zone: str | tzinfo | None) -> ScheduleRequest:
    return ScheduleRequest(
        name=cron.name,
        job_type=cron.name,
        cron=cron.line,
        days="both",
        tz=machine_zone() if zone is None else read_zone("timezone", _named(zone)),
        overlap="allow",
    )


def _named(zone: str | tzinfo) -> str | tzinfo:
    return "UTC" if str(zone) == "UTC" else zone


@asynccontextmanager
async def _lifespan(
    context: dict[Any, Any],
    redis: ArqRedis,
    startup: Callable[..., Any] | None,
    shutdown: Callable[..., Any] | None,
) -> AsyncIterator[None]:
    context["redis"] = redis
    if startup is not None:
        await _plain(startup)(context)
    try:
        yield
    finally:
        if shutdown is not None:
            await _plain(shutdown)(context)


def _plain(function: Any) -> Callable[..., Any]:
    """A function that a class has as an attribute is found as one."""
    return getattr(function, "__func__", function)  # type: ignore[no-any-return]


def _recognised(value: object) -> Rota | None:
    """A class with what arq's workers look for."""
    is_settings = inspect.isclass(value) and (hasattr(value, "functions") or hasattr(value, "cron_jobs"))
    return app_of_worker(value) if is_settings else None  # type: ignore[arg-type]


RECOGNISERS.append(_recognised)
