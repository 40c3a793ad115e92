"""An actor: `@dramatiq.actor` of a function."""

import inspect
from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, overload

from rota.errors import GiveUp, TryAgain
from rota.moving.common.functions import called_by
from rota.moving.dramatiq.broker import Broker, get_broker
from rota.moving.dramatiq.composition import Message
from rota.moving.dramatiq.errors import Retry
from rota.moving.dramatiq.options import ActorOptions, read_actor
from rota.sdk.tasks.task import TaskFunction

P = ParamSpec("P")
R = TypeVar("R")


class Actor(Generic[P, R]):
    """What `@actor` makes of a function. Calling it calls the function, here and now."""

    __name__: str

    def __init__(self, fn: Callable[P, R], broker: Broker, options: ActorOptions) -> None:
        self.fn = fn
        self.broker = broker
        self._options = options
        called = called_by(fn, _async_runner(fn, options) if inspect.iscoroutinefunction(fn) else _runner(fn, options))
        wanted = options.task_options(str(getattr(fn, "__name__", "")))
        self._task: TaskFunction[..., Any, R] = broker.__rota_app__.add_task(called, wanted)
        self.__rota_function__ = called
        update_wrapper(self, fn)

    @property
    def actor_name(self) -> str:
        return self._task.name

    @property
    def queue_name(self) -> str:
        return self._options.queue_name

    @property
    def priority(self) -> int:
        return self._options.priority

    def __repr__(self) -> str:
        return f"Actor({self.actor_name})"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.fn(*args, **kwargs)

    def send(self, *args: P.args, **kwargs: P.kwargs) -> Message[R]:
        """Make a job of it."""
        return self.message(*args, **kwargs).enqueue()

    def send_with_options(
        self,
        *,
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
        delay: object = None,
        **options: Any,
    ) -> Message[R]:
        """The same with options: `delay` in milliseconds or a timedelta, and those of the actor itself."""
        return self.message_with_options(args=args, kwargs=kwargs, delay=delay, **options).enqueue()

    def message(self, *args: P.args, **kwargs: P.kwargs) -> Message[R]:
        """A call that is not enqueued yet."""
        return self.message_with_options(args=args, kwargs=kwargs)

    def message_with_options(
        self, *, args: tuple[object, ...] = (), kwargs: Mapping[str, object] | None = None, **options: Any
    ) -> Message[R]:
        if self._options.max_age_ms is not None:
            options.setdefault("max_age", self._options.max_age_ms)
        return Message(
            self.broker.__rota_app__,
            self._task,
            self.queue_name,
            tuple(args),
            kwargs or {},
            options,
            retrying=self._options.retrying,
        )


@overload
def actor(fn: Callable[P, R], /) -> Actor[P, R]: ...


@overload
def actor(**options: Any) -> Callable[[Callable[P, R]], Actor[P, R]]: ...


def actor(fn: Any = None, /, **options: Any) -> Any:
    """Make an actor of a function, for the broker that is given or that was set."""
    read, broker = read_actor(options), options.get("broker")
    if fn is None:
        return lambda given: Actor(given, broker or get_broker(), read)
    return Actor(fn, broker or get_broker(), read)


def _runner(fn: Callable[..., Any], options: ActorOptions) -> Callable[..., Any]:
    """What a worker calls: what the actor raises says whether it is tried again."""

    def run(**arguments: Any) -> Any:
        try:
            return fn(**arguments)
        except (GiveUp, TryAgain):
            raise  # it says so itself
        except Exception as error:
            raise _judged(error, options) from _cause(error)

    return run


def _async_runner(fn: Callable[..., Any], options: ActorOptions) -> Callable[..., Any]:
    async def run(**arguments: Any) -> Any:
        try:
            return await fn(**arguments)
        except (GiveUp, TryAgain):
            raise
        except Exception as error:
            raise _judged(error, options) from _cause(error)

    return run


def _judged(error: Exception, options: ActorOptions) -> Exception:
    if isinstance(error, Retry):
        return TryAgain(str(error), delay_ms=error.delay)
    return GiveUp() if isinstance(error, options.throws) else TryAgain()


def _cause(error: Exception) -> BaseException:
    return error if error.__cause__ is None or not isinstance(error, Retry) else error.__cause__
