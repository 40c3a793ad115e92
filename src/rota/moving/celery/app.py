"""The app: `Celery("shop", broker="redis://...")`. Its broker is the store, in which results are too."""

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar, overload

from rota.errors import InvalidInput, NotFound
from rota.model.schedules.request import ScheduleRequest
from rota.moving.celery.conf import Conf
from rota.moving.celery.current import AppState, set_current, when_there_is_one
from rota.moving.celery.result import AsyncResult
from rota.moving.celery.schedules import trigger_of
from rota.moving.celery.task import Task
from rota.moving.common.refusing import Options, refused_method
from rota.moving.common.stores import store_url
from rota.sdk.tasks.app import Rota
from rota.sdk.tasks.plan import caller_module

P = ParamSpec("P")
R = TypeVar("R")
_APP = Options(
    of="Celery",
    carried=("main", "broker", "include"),
    harmless=("backend", "result_backend", "set_as_current", "autofinalize", "strict_typing"),
    instead={"task_cls": "write functions", "config_source": "app.config_from_object(...)"},
)
_REVOKE = Options(
    of="revoke", carried=("terminate",), harmless=("reply",), instead={"signal": "leave it out: a job is asked to end"}
)
_ENTRY = Options(
    of="beat_schedule",
    carried=("task", "schedule", "args", "kwargs"),
    harmless=("relative",),
    instead={"options": "give the options to the task itself"},
)


class Control:
    """`app.control`: jobs are cancelled in the store, and workers are asked there."""

    def __init__(self, app: Rota) -> None:
        self._app = app

    def revoke(self, task_id: str | Sequence[str], *, terminate: bool = False, **options: object) -> None:
        """Cancel jobs; running ones only with `terminate`."""
        _REVOKE.check(options)
        for one in [task_id] if isinstance(task_id, str) else task_id:
            AsyncResult(one, app=self._app).revoke(terminate)

    inspect = refused_method("inspect", "rota nodes and rota jobs tell what runs where")
    ping = refused_method("ping", "rota nodes tells who is alive")
    purge = refused_method("purge", "cancel the jobs of a queue with rota cancel")
    shutdown = refused_method("shutdown", "send TERM to the workers")
    rate_limit = refused_method("rate_limit", "give rate_limit to @app.task")
    time_limit = refused_method("time_limit", "give time_limit to @app.task")
    broadcast = refused_method("broadcast", "there are no remote commands; the HTTP API changes queues and jobs")


class Celery:
    """The tasks of a program. `rota worker module:app` runs them, and fires `beat_schedule`."""

    def __init__(
        self, main: str | None = None, *, broker: str | None = None, include: Sequence[str] = (), **options: object
    ) -> None:
        _APP.check(options)
        self.main = main or caller_module(1)
        self._state = AppState(Rota(store_url("broker", broker), name=self.main), Conf(), {})
        self._state.rota.add_schedules(self._schedules)
        self.conf.when_changed(self._bind_again)
        self.conf.include = tuple(include)
        set_current(self._state)

    @property
    def conf(self) -> Conf:
        return self._state.conf

    @property
    def tasks(self) -> dict[str, Task[..., Any]]:
        """By name."""
        return self._state.tasks

    @property
    def __rota_app__(self) -> Rota:
        """What `rota worker` runs."""
        self.import_tasks()
        for name, entry in self.conf.beat_schedule.items():
            if str(entry.get("task")) not in self.tasks:
                raise InvalidInput(f"beat_schedule.{name}", f"there is no task {entry.get('task')!r} in this app")
        return self._state.rota

    @overload
    def task(self, function: Callable[P, R], /) -> Task[P, R]: ...

    @overload
    def task(self, /, **options: Any) -> Callable[[Callable[..., R]], Task[..., R]]: ...

    def task(self, function: Any = None, /, **options: Any) -> Any:
        """Make a task of a function: `@app.task`, or `@app.task(bind=True, max_retries=5)`."""
        if function is None:
            return lambda given: self._add(given, options)
        return self._add(function, options)

    def _add(self, function: Callable[..., R], options: Mapping[str, object]) -> Task[..., R]:
        made: Task[..., R] = Task(function, options)
        made.bind(self._state)
        return made

    def _bind_again(self) -> None:
        """As in Celery, what is said of all tasks holds for those too that were written before."""
        for task in list(self.tasks.values()):
            task.bind(self._state)

    def config_from_object(self, source: object, namespace: str | None = None) -> None:
        """Read settings from a module, by its name or itself, or from an object; their names are in lower case, or in
        upper case behind the namespace."""
        found = importlib.import_module(source) if isinstance(source, str) else source
        beginning = f"{namespace}_" if namespace else ""
        for name in dir(found):
            if name.startswith(beginning) and (name.isupper() if namespace else name.islower() and name[0] != "_"):
                self._configure(name.removeprefix(beginning).lower(), getattr(found, name))

    def _configure(self, name: str, value: object) -> None:
        """What a module imports and defines is no setting."""
        is_code = inspect.ismodule(value) or inspect.isroutine(value) or inspect.isclass(value)
        if not is_code or self.conf.knows(name):
            setattr(self.conf, name, value)

    def autodiscover_tasks(self, packages: Sequence[str] = (), related_name: str = "tasks") -> None:
        """Import the modules of tasks of these packages, now."""
        for package in packages:
            importlib.import_module(f"{package}.{related_name}")

    def import_tasks(self) -> None:
        """Import what `include` and `imports` name: before a worker begins."""
        for module in (*self.conf.include, *self.conf.imports):
            importlib.import_module(module)

    def send_task(self, name: str, args: Sequence[object] = (), kwargs: Any = None, **options: Any) -> AsyncResult[Any]:
        """Enqueue a task by its name, which this program must have."""
        self.import_tasks()
        if name not in self.tasks:
            raise NotFound("task", name, "this app has no task of that name; import its module")
        return self.tasks[name].apply_async(args, kwargs, **options)

    def AsyncResult(self, task_id: str) -> AsyncResult[Any]:  # noqa: N802  Celery's name
        return AsyncResult(task_id, app=self._state.rota)

    @property
    def control(self) -> Control:
        return Control(self._state.rota)

    def close(self) -> None:
        """Give up the connections to the store."""
        self._state.rota.close()

    def _schedules(self) -> list[ScheduleRequest]:
        """Of the tasks that are here: a program that only enqueues need not import them all."""
        entries = self.conf.beat_schedule.items()
        found = [(name, entry, self.tasks.get(str(entry.get("task")))) for name, entry in entries]
        return [self._schedule(name, entry, task) for name, entry, task in found if task is not None]

    def _schedule(self, name: str, entry: Mapping[str, object], task: Task[..., Any]) -> ScheduleRequest:
        _ENTRY.check(entry)
        args, kwargs = _entry_arguments(name, entry)
        trigger = trigger_of(entry.get("schedule"))
        zone = self.conf.time_zone if "cron" in trigger else None
        return ScheduleRequest(
            name=name,
            job_type=task.name,
            job_arguments=task.sdk_task.arguments(args, kwargs),
            tz=zone,
            priority=task.settings.priority,
            overlap="allow",
            **trigger,  # type: ignore[arg-type]
        )


def _entry_arguments(name: str, entry: Mapping[str, object]) -> tuple[tuple[object, ...], dict[str, object]]:
    args, kwargs = entry.get("args") or (), entry.get("kwargs") or {}
    if not isinstance(args, list | tuple) or not isinstance(kwargs, Mapping):
        raise InvalidInput(f"beat_schedule.{name}", "args must be a tuple or list, and kwargs a dict")
    return tuple(args), dict(kwargs)


@overload
def shared_task(function: Callable[P, R], /) -> Task[P, R]: ...


@overload
def shared_task(**options: Any) -> Callable[[Callable[..., R]], Task[..., R]]: ...


def shared_task(function: Any = None, /, **options: Any) -> Any:
    """A task of the app that was made last, or of the first one that is made."""
    if function is None:
        return lambda given: _shared(given, options)
    return _shared(function, options)


def _shared(function: Callable[..., R], options: Mapping[str, object]) -> Task[..., R]:
    made: Task[..., R] = Task(function, options)
    when_there_is_one(made.bind)
    return made
