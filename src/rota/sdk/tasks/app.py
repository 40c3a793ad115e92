"""The app of a Python program: its tasks, and the installation that runs them.

    app = Rota("sqlite:///rota.db")

    @app.task(retries=3)
    async def report(day: str = "today") -> int: ...

    handle = report.enqueue(day="monday")

An app owns the job types and schedules of its tasks, as a configuration file owns its definitions. They are brought
into the store when something is first enqueued, and when a worker of the app starts, which also removes those that are
gone.
"""

from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack, overload

from rota.errors import InvalidInput
from rota.model.limits import check_name
from rota.sdk.tasks.connection import Connection
from rota.sdk.tasks.handle import Handle
from rota.sdk.tasks.options import TaskOptions
from rota.sdk.tasks.plan import caller_module, make_plan
from rota.sdk.tasks.registry import TaskRegistry
from rota.sdk.tasks.task import C, P, R, TaskFunction, function_of

if TYPE_CHECKING:
    from rota.engine.engine import Engine
    from rota.engine.executors.registry import ExecutorRegistry
    from rota.host.host import Host
    from rota.model.schedules.request import ScheduleRequest
    from rota.settings import Settings


class TaskDecorator:
    """`@app.task(...)`, before it is given its function."""

    def __init__(self, app: "Rota", options: TaskOptions) -> None:
        self._app = app
        self._options = options

    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, R]], /
    ) -> TaskFunction[P, Coroutine[Any, Any, R], R]: ...

    @overload
    def __call__(self, function: Callable[P, R], /) -> TaskFunction[P, R, R]: ...

    def __call__(self, function: Callable[P, C], /) -> TaskFunction[P, C, Any]:
        return self._app.add_task(function, self._options)


class Rota:
    """The app of a Python program. It may be used from any thread; making one asks nobody."""

    def __init__(self, url: str | None = None, *, name: str | None = None, keeps: bool = False) -> None:
        """`url` is that of the store; without it, the environment or the configuration file names one. `name` tells
        apps on one store apart; without it, it is that of the module that makes the app. With `keeps`, a worker removes
        no task that is gone from the code: for a program that makes tasks as it goes."""
        self.name = check_name("name", caller_module(1) if name is None else name)
        self._connection = Connection(url)
        self._registry = TaskRegistry(self.name, self._connection, keeps=keeps)
        self._host: Host | None = None

    def __repr__(self) -> str:
        return f"<app {self.name!r}>"

    @overload
    def task(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> TaskFunction[P, Coroutine[Any, Any, R], R]: ...

    @overload
    def task(self, function: Callable[P, R], /) -> TaskFunction[P, R, R]: ...

    @overload
    def task(self, function: None = None, /, **options: Unpack[TaskOptions]) -> TaskDecorator: ...

    def task(self, function: Any = None, /, **options: Unpack[TaskOptions]) -> Any:
        """Make a task of a function: `@app.task`, or with options `@app.task(retries=3)`."""
        return TaskDecorator(self, options) if function is None else self.add_task(function, options)

    def add_task(self, function: Callable[P, C], options: TaskOptions) -> TaskFunction[P, C, Any]:
        """What the decorator does. A function may be that of several tasks, also if it is given as one of them."""
        function = function_of(function)
        plan, parameters = make_plan(function, options)
        self._registry.add(plan, function)
        return TaskFunction(self._registry, function, plan, parameters)

    def add_schedules(self, source: "Callable[[], Sequence[ScheduleRequest]]") -> None:
        """Schedules of tasks that say more than `cron` and `every` can. The source is asked whenever the tasks are
        brought into the store."""
        self._registry.schedule_sources.append(source)

    def add_lifespan(self, make: "Callable[[], AbstractAsyncContextManager[object]]") -> None:
        """What workers of the app need: entered on the loop of each before it takes jobs, left when it has ended."""
        self._registry.lifespans.append(make)

    def handle(self, job_id: str) -> Handle[Any]:
        """The handle of a job that was enqueued before, perhaps by another process."""
        return Handle(self._connection, job_id)

    def declare(self) -> None:
        """Bring the tasks into the store now. The first enqueue does it too, unless it is part of a transaction of the
        program's own."""
        self._registry.ensure_declared()

    @property
    def engine(self) -> "Engine":
        """The installation, for what an app has no word of its own for. It is opened when it is first used."""
        return self._connection.engine

    @property
    def url(self) -> str | None:
        """Of the store, if the app names one."""
        return self._connection.url

    def lent(self, engine: "Engine") -> "AbstractContextManager[None]":
        """Use an engine that somebody else opened and will close, until the end of the block: for tests."""
        return self._connection.lent(engine)

    def provide_functions(self, executors: "ExecutorRegistry") -> None:
        """Bring the tasks into the store, and have these executors call their functions: for whoever runs jobs."""
        self._registry.ensure_declared()
        self._registry.provide_functions(executors)

    def provide_definitions(self) -> None:
        """Bring the tasks into the store: for whoever makes schedules of them."""
        self._registry.ensure_declared()

    def close(self) -> None:
        """Give up the connections to the store; the next use opens them again."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run_worker(
        self,
        *,
        burst: bool = False,
        queue: str | None = None,
        queues: Sequence[str] = (),
        threads: int | None = None,
        echo: bool = False,
    ) -> None:
        """Run jobs of a queue, or of several, in this process, and fire schedules, until a signal or `stop_worker` ends
        it; with `burst` only jobs, until none is left, those included that are to run later. `threads` says how many of
        a queue run at a time. What they print is in their logs; with `echo` it is printed too."""
        first, others = _queues(queue, queues)
        settings = self._connection.settings({"node_type": first, "thread_count": threads})
        with self.worker(settings, burst=burst, queues=others) as host:
            host.may_end_process = False
            _echo(echo)
            self._host = host
            try:
                host.run(lambda: None)
            finally:
                self._host = None

    async def serve_worker(
        self,
        *,
        queue: str | None = None,
        queues: Sequence[str] = (),
        threads: int | None = None,
        echo: bool = False,
    ) -> None:
        """The same as `run_worker` within a program that has a loop, on which `async def` tasks run. Signals are the
        program's own matter; `stop_worker` ends it."""
        import asyncio
        from contextlib import ExitStack

        first, others = _queues(queue, queues)
        settings = self._connection.settings({"node_type": first, "thread_count": threads})
        with ExitStack() as stack:
            worker = self.worker(settings, burst=False, queues=others)
            self._host = await asyncio.to_thread(stack.enter_context, worker)
            _echo(echo)
            try:
                await self._host.serve()
            finally:
                self._host = None
                await asyncio.to_thread(stack.close)

    def stop_worker(self) -> None:
        """Let `run_worker` come to its end, which may be in another thread. Running jobs may end."""
        host = self._host
        if host is not None:
            host.request_stop()

    def worker(
        self, settings: "Settings", *, burst: bool, queues: Sequence[str] = ()
    ) -> "AbstractContextManager[Host]":
        """A worker that is ready to run, on the store that the settings name, and that serves these queues beside the
        one that they name: for whoever starts processes."""
        from rota.sdk.tasks.worker import hosted_tasks

        self._connection.use(settings)
        return hosted_tasks(self._registry, settings, burst=burst, queues=queues)


def _queues(queue: str | None, queues: Sequence[str]) -> tuple[str | None, list[str]]:
    """The first queue of a worker, if one is named, and the others."""
    if isinstance(queues, str):
        raise InvalidInput("queues", f"must be a list of names, got {queues!r}; queue={queues!r} is for one")
    named = [check_name("queues", name) for name in (*([] if queue is None else [queue]), *queues)]
    return (named[0], named[1:]) if named else (None, [])


def _echo(echoes: bool) -> None:
    from rota.engine.executors.python.job_context import echo_prints

    echo_prints(echoes)
