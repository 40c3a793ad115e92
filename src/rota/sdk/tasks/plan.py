"""What a task is to the engine: a job type, and a schedule if it runs by itself."""

import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rota.errors import InvalidInput
from rota.model.job import MAX_PRIORITY
from rota.model.job_type import JobType, Unique
from rota.model.limits import check_name, check_range
from rota.model.rate import Rate, arguments_of_key, parse_rate
from rota.model.runs.retry import RetryPolicy
from rota.sdk.tasks.options import (
    TaskOptions,
    read_duration,
    read_retries,
    read_unique,
    read_zone,
    refuse_unknown,
)
from rota.sdk.tasks.parameters import Parameters
from rota.settings.definition_ids import definition_uuid

if TYPE_CHECKING:
    from rota.model.schedules.request import ScheduleRequest

_MAIN = "__main__"


class Plan(Struct, frozen=True, kw_only=True):
    """A task, checked."""

    function: str
    """Where a worker finds it: `module:name`."""
    name: str
    queue: str
    retry: RetryPolicy
    timeout_ms: int | None
    unique: Unique
    priority: int
    rate: Rate | None
    rate_key: str
    process: bool
    cron: str | None
    every_ms: int | None
    tz: str | None

    def job_type(self) -> JobType:
        metadata: dict[str, object] = {"function": self.function}
        if self.process:
            metadata["process"] = True
        return JobType(
            uuid=definition_uuid("job_types", self.name),
            name=self.name,
            executor="python",
            metadata=metadata,
            unique=self.unique,
            node_type=self.queue,
            timeout_ms=self.timeout_ms,
            retry=self.retry,
            rate=self.rate,
            rate_key=self.rate_key,
        )

    def schedule(self) -> "ScheduleRequest | None":
        """The schedule that has its name, if it runs by itself. A run that is not over is not begun again."""
        if self.cron is None and self.every_ms is None:
            return None
        # Schedules bring the whole calendar with them, and most tasks have none.
        from rota.model.schedules.request import ScheduleRequest

        return ScheduleRequest(
            name=self.name,
            job_type=self.name,
            cron=self.cron,
            interval=self.every_ms,
            tz=self.tz,
            priority=self.priority,
            overlap="skip",
        )


def make_plan(function: Callable[..., object], options: TaskOptions) -> tuple[Plan, Parameters]:
    """Check what was said about a task. Whatever is wrong is told where it is written, not in the worker."""
    refuse_unknown(options, TaskOptions)
    place = place_of(function)
    name = check_name("name", options.get("name", place.replace(":", ".")))
    parameters = Parameters(name, function)
    plan = Plan(
        function=place,
        name=name,
        queue=check_name("queue", options.get("queue", "default")),
        retry=read_retries("retries", options.get("retries", 0)),
        timeout_ms=read_duration("timeout", options["timeout"]) if "timeout" in options else None,
        unique=read_unique("unique", options.get("unique", "none")),
        priority=check_range("priority", options.get("priority", 0), -MAX_PRIORITY, MAX_PRIORITY),
        rate=parse_rate("rate", options["rate"]) if "rate" in options else None,
        rate_key=options.get("rate_key", ""),
        process=bool(options.get("process", False)),
        cron=options.get("cron"),
        every_ms=read_duration("every", options["every"]) if "every" in options else None,
        tz=read_zone("tz", options["tz"]) if "tz" in options else None,
    )
    plan.job_type().check()
    for argument in arguments_of_key(plan.rate_key):
        if not parameters.takes(argument):
            raise InvalidInput("rate_key", f"names the argument {argument!r}, which {name} does not take")
    _check_schedule(plan, parameters)
    return plan, parameters


def _check_schedule(plan: Plan, parameters: Parameters) -> None:
    if plan.tz is not None and plan.cron is None:
        raise InvalidInput("tz", "is the zone of a cron line; give cron too")
    request = plan.schedule()
    if request is None:
        return
    from rota.model.schedules.request import make_schedule

    make_schedule(request, uuid="", job_type="", queue="", created_at=0, now=None)
    try:
        parameters.arguments((), {})
    except InvalidInput as error:
        field = "cron" if plan.cron is not None else "every"
        raise InvalidInput(field, f"nobody gives it arguments when it runs by itself: {error.reason}") from None


def place_of(function: Callable[..., object]) -> str:
    """Where a worker finds a function: `module:name`."""
    name = getattr(function, "__qualname__", "")
    if not name or not all(part.isidentifier() for part in name.split(".")):
        raise InvalidInput("function", f"{name or function!r} cannot be imported; define it at the top of a module")
    module = function.__module__
    if module == _MAIN or not _is_module(module):
        module = module_of(getattr(inspect.unwrap(function), "__globals__", {}))
    return f"{module}:{name}"


def module_of(globals_: Mapping[str, object]) -> str:
    """The name under which another process imports a module; that of a script is the name of its file."""
    spec = globals_.get("__spec__")
    names = (globals_.get("__name__"), getattr(spec, "name", None), Path(str(globals_.get("__file__", ""))).stem)
    found = (str(name).removesuffix(f".{_MAIN}") for name in names if name and name != _MAIN)
    return next(filter(_is_module, found), _MAIN)


def caller_module(depth: int) -> str:
    """The module of the code that called, this many calls up."""
    return module_of(sys._getframe(depth + 1).f_globals)


def _is_module(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))
