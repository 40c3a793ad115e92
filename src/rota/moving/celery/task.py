"""A task: `@app.task` of a function, and what Celery's programs call on it."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, NoReturn, ParamSpec, TypeVar
from zoneinfo import ZoneInfo

from msgspec import Struct

from rota.errors import GiveUp, InvalidInput, TryAgain
from rota.moving.celery.canvas import Signature
from rota.moving.celery.current import AppState
from rota.moving.celery.exceptions import MaxRetriesExceededError, Retry
from rota.moving.celery.links import carried_links, read_links
from rota.moving.celery.options import CALL, LINKS, TaskSettings, read_settings
from rota.moving.celery.result import AsyncResult
from rota.moving.celery.soft_limit import call_within
from rota.moving.common.functions import called_by
from rota.moving.common.identity import job_id_of
from rota.moving.common.refusing import refused_method
from rota.sdk.tasks.app import Rota
from rota.sdk.tasks.current_job import current_job
from rota.sdk.tasks.options import CallOptions
from rota.sdk.tasks.plan import place_of
from rota.sdk.tasks.task import Enqueueing, TaskFunction

P = ParamSpec("P")
R = TypeVar("R")


class Request:
    """`self.request` of a bound task: the job that it is."""

    @property
    def id(self) -> str:
        return current_job().id

    @property
    def retries(self) -> int:
        return current_job().attempt - 1

    @property
    def args(self) -> tuple[object, ...]:
        """Nothing: jobs carry their arguments by name."""
        return ()

    @property
    def kwargs(self) -> dict[str, object]:
        return {name: value for name, value in current_job().arguments.items() if name != LINKS}

    @property
    def task(self) -> str:
        return current_job().task


class Bound(Struct, frozen=True):
    """A task of an app."""

    app: AppState
    settings: TaskSettings
    task: "TaskFunction[..., Any, Any]"


class Task(Generic[P, R]):
    """What `@app.task` makes of a function. Calling it calls the function, here and now."""

    def __init__(self, function: Callable[..., R], options: Mapping[str, object]) -> None:
        self._function = function
        self._options = options
        self._bound: Bound | None = None
        self.request = Request()
        self.__name__ = str(getattr(function, "__name__", ""))
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__

    def bind(self, app: AppState) -> None:
        """Make it a task of an app."""
        settings = read_settings(self._options, app.conf, place_of(self._function).replace(":", "."))
        called = called_by(self._function, _runner(self), hides_first=settings.bind, takes=LINKS)
        self._bound = Bound(app, settings, app.rota.add_task(called, settings.task_options()))
        app.tasks[self.name] = self

    @property
    def bound(self) -> "Bound":
        if self._bound is None:
            raise InvalidInput("app", f"{self.__name__} has no app yet; make one with Celery(name, broker=...)")
        return self._bound

    @property
    def name(self) -> str:
        return self.sdk_task.name

    @property
    def rota_app(self) -> Rota:
        return self.bound.app.rota

    @property
    def settings(self) -> TaskSettings:
        return self.bound.settings

    @property
    def sdk_task(self) -> "TaskFunction[..., Any, Any]":
        """The task as Rota's own programs have it."""
        return self.bound.task

    @property
    def __rota_function__(self) -> Callable[..., Any]:
        return self.sdk_task.__rota_function__

    @property
    def max_retries(self) -> int | None:
        return self.settings.max_retries

    @property
    def has_retries_left(self) -> bool:
        """Whether the job that runs may be tried again."""
        return self.max_retries is None or self.request.retries < self.max_retries

    def __repr__(self) -> str:
        return f"<@task: {self.name}>"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.call(*args, **kwargs)

    def call(self, *args: Any, **kwargs: Any) -> R:
        return self._function(self, *args, **kwargs) if self.settings.bind else self._function(*args, **kwargs)

    # -- enqueueing ------------------------------------------------------------------------------------------------

    def delay(self, *args: P.args, **kwargs: P.kwargs) -> AsyncResult[R]:
        return self.apply_async(args, kwargs)

    def apply_async(
        self,
        args: Sequence[object] | None = None,
        kwargs: Mapping[str, object] | None = None,
        task_id: str | None = None,
        **options: object,
    ) -> AsyncResult[R]:
        """Make a job of it. Takes `countdown`, `eta`, `expires`, `queue`, `priority`, `task_id`, `time_limit`, `link`
        and `link_error`."""
        task = self.with_options(task_id=task_id, **options)
        links = carried_links(options.get("link"), options.get("link_error"))
        handle = task.enqueue(*(args or ()), **(kwargs or {}), **links)
        return AsyncResult(task_id or handle.id, app=self.rota_app)

    def with_options(self, *, task_id: str | None = None, **options: object) -> Enqueueing[..., Any]:
        """The task as Rota's programs have it, with what `apply_async` is given; `InvalidInput` if it cannot be."""
        CALL.check([name for name, value in options.items() if value is not None])
        fields = self._call_options(options)
        if task_id is not None:
            fields["id"] = job_id_of("task_id", task_id)
        return self.sdk_task.options(**fields)

    def _call_options(self, given: Mapping[str, object]) -> CallOptions:
        options = {name: value for name, value in given.items() if value is not None}
        fields: dict[str, object] = {name: options[name] for name in ("queue", "priority") if name in options}
        if "countdown" in options and "eta" in options:
            raise InvalidInput("eta", "cannot stand beside countdown; give one of them")
        if options.get("countdown"):
            fields["delay"] = options["countdown"]
        if "eta" in options:
            fields["run_at"] = self._instant("eta", options["eta"])
        expires = options.get("expires", self.settings.expires)
        if expires is not None:
            is_time = isinstance(expires, datetime)
            fields["expires"] = self._instant("expires", expires) if is_time else expires
        if "time_limit" in options:
            fields["timeout"] = options["time_limit"]
        return fields  # type: ignore[return-value]

    def _instant(self, field: str, value: object) -> datetime:
        """A time without a zone is in the app's."""
        if not isinstance(value, datetime):
            raise InvalidInput(field, f"must be a datetime, got {value!r:.100}")
        return value if value.tzinfo is not None else value.replace(tzinfo=ZoneInfo(self.bound.app.conf.time_zone))

    def AsyncResult(self, task_id: str) -> AsyncResult[R]:  # noqa: N802  Celery's name
        return AsyncResult(task_id, app=self.rota_app)

    # -- canvas ----------------------------------------------------------------------------------------------------

    def s(self, *args: object, **kwargs: object) -> Signature:
        """The task with some of its arguments; in a chain the result before it comes first."""
        return Signature(self, args, kwargs)

    def si(self, *args: object, **kwargs: object) -> Signature:
        """The task with all of its arguments, whatever comes before it."""
        return Signature(self, args, kwargs, immutable=True)

    def signature(
        self, args: Sequence[object] = (), kwargs: Mapping[str, object] | None = None, **options: object
    ) -> Signature:
        immutable = bool(options.pop("immutable", False))
        return Signature(self, tuple(args), dict(kwargs or {}), options=options, immutable=immutable)

    map = refused_method("map", "make a group: group(task.s(one) for one in many)")
    starmap = refused_method("starmap", "make a group: group(task.s(*one) for one in many)")
    chunks = refused_method("chunks", "make a group of tasks that each take a list")

    # -- what the code of a bound task calls -----------------------------------------------------------------------

    def retry(
        self,
        exc: Exception | None = None,
        countdown: float | None = None,
        eta: datetime | None = None,
        max_retries: int | None = None,
        **options: object,
    ) -> NoReturn:
        """End this attempt, and have another one later; raised is `exc` once there are none left."""
        for name in options:
            raise InvalidInput(name, "of self.retry is not carried by Rota; a retry has the arguments of its job")
        most = min((one for one in (max_retries, self.max_retries) if one is not None), default=None)
        if most is not None and self.request.retries >= most:
            raise exc or MaxRetriesExceededError(f"{self.name} was retried {most} times")
        if eta is not None:
            countdown = max(self._instant("eta", eta).timestamp() - self.rota_app.engine.clock.now() / 1000, 0)
        wait_s = self.settings.default_retry_delay if countdown is None else countdown
        raise Retry(exc=exc, delay_ms=round(wait_s * 1000))

    def update_state(self, state: str = "PROGRESS", meta: Mapping[str, Any] | None = None) -> None:
        """Say how far it has come: `meta` may have `current`, `total` and `message`."""
        found = dict(meta or {})
        done, total, message = found.pop("current", 0), found.pop("total", None), found.pop("message", state)
        for name in found:
            raise InvalidInput(name, "of meta is not carried by Rota; progress has current, total and message")
        current_job().progress(done, total, str(message))


def _runner(task: Task[..., Any]) -> Callable[..., object]:
    def run(**arguments: Any) -> object:
        """What a worker calls: what the task raises says whether it is tried again."""
        links = read_links(arguments.pop(LINKS, None))
        try:
            value = call_within(task.settings.soft_time_limit, lambda: task.call(**arguments))
        except Retry as again:
            raise TryAgain(str(again), delay_ms=again.delay_ms) from again.exc or again
        except Exception as error:
            may_retry = task.settings.retries_after(error)
            if not (may_retry and task.has_retries_left):
                links.tell(task.bound.app.tasks, task.request, error)
            raise (TryAgain if may_retry else GiveUp) from error
        try:
            links.follow(task.bound.app.tasks, value)
        except Exception as error:  # the task has done its work: it is not done again for want of what follows
            raise GiveUp from error
        return value

    return run
