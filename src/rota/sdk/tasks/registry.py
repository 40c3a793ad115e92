"""The tasks of an app by name. They are brought into the store, where the app owns them, before jobs of them are."""

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from msgspec import Struct

from rota.errors import Conflict, InvalidInput, NotFound
from rota.sdk.tasks.connection import Connection
from rota.sdk.tasks.plan import Plan

if TYPE_CHECKING:
    from rota.engine.engine import Engine
    from rota.engine.executors.registry import ExecutorRegistry
    from rota.engine.jobs.intake import JobRequest
    from rota.model.schedules.request import ScheduleRequest
    from rota.sdk.outbox.database import DatabaseConnection
    from rota.store.contract.jobs import Admission


class Registered(Struct, frozen=True):
    """A task."""

    plan: Plan
    function: Callable[..., object]


class TaskRegistry:
    """Knows the tasks, and hands their jobs in."""

    def __init__(self, app: str, connection: Connection, *, keeps: bool = False) -> None:
        self._app = app
        self.connection = connection
        self.keeps = keeps
        """Whether tasks stay in the store when they are gone from the code."""
        self.lifespans: list[Callable[[], AbstractAsyncContextManager[object]]] = []
        self.schedule_sources: list[Callable[[], Sequence[ScheduleRequest]]] = []
        self.tasks: dict[str, Registered] = {}
        """By name."""
        self._lock = threading.Lock()
        self._changes = 0
        """How often a task was added, or replaced."""
        self._declared: tuple[Engine | None, int] = (None, 0)
        """The engine that was told of the tasks, after so many changes."""
        self._executors: ExecutorRegistry | None = None
        """Of a worker in this process."""

    def add(self, plan: Plan, function: Callable[..., object]) -> None:
        """A module may be loaded again, but two functions cannot have one name."""
        there = self.tasks.get(plan.name)
        if there is not None and there.plan.function != plan.function:
            raise InvalidInput("name", f"{plan.function} and {there.plan.function} are both tasks named {plan.name!r}")
        with self._lock:
            self.tasks[plan.name] = Registered(plan, function)
            self._changes += 1
            if self._executors is not None:
                _provide(self._executors, [self.tasks[plan.name]])

    def tasks_by_queue(self) -> dict[str, list[str]]:
        """The names of the tasks of each queue."""
        found: dict[str, list[str]] = {}
        for task in list(self.tasks.values()):
            found.setdefault(task.plan.queue, []).append(task.plan.name)
        return found

    def submit(self, requests: "Sequence[JobRequest]", named: str | None = None) -> "list[Admission]":
        """Hand jobs in. What the tasks are is brought into the store before the first of them."""
        self.ensure_declared()
        return self.connection.engine.intake.enqueue(requests, named=named)

    def submit_within(
        self, connection: object, requests: "Sequence[JobRequest]", named: str | None = None
    ) -> "list[Admission]":
        """Hand jobs in as part of a transaction of the program's own, in which nobody else can write to the store."""
        queues = sorted({one.node_type for one in requests if one.node_type is not None})
        if getattr(connection, "in_transaction", False):
            self._check_is_there(queues)
        self.ensure_declared()
        for queue in queues:
            self.ensure_queue(queue)
        return self.connection.engine.intake.enqueue_within(connection, requests, named=named)

    def _check_is_there(self, queues: Iterable[str]) -> None:
        """Refuse what would have to be written to the store first, and wait there for the end of the transaction."""
        locked = "nobody can write there during this transaction"
        if not self.is_declared:
            raise Conflict(
                f"the tasks of {self._app!r} are not in the store yet, and {locked}; call app.declare() before it "
                "begins"
            )
        for queue in queues:
            try:
                self.connection.engine.definitions.node_type(queue)
            except NotFound:
                raise Conflict(
                    f"the queue {queue!r} is not in the store yet, and {locked}; make it before: "
                    f"rota node-type create {queue}"
                ) from None

    def submit_to_outbox(
        self, connection: "DatabaseConnection", requests: "Sequence[JobRequest]", named: str | None = None
    ) -> "list[Admission]":
        """Write jobs into the outbox of the program's own database. The store is not asked; a relay hands them in."""
        from rota.clock import SystemClock
        from rota.sdk.outbox.outbox import write_outbox
        from rota.store.contract.jobs import Admission

        return [Admission(job_id, True) for job_id in write_outbox(connection, requests, SystemClock().now())]

    def ensure_queue(self, name: str) -> None:
        """Have a queue that no task names; it is nobody's."""
        from rota.sdk.tasks.declaring import ensure_queues

        ensure_queues(self.connection.engine, [name])

    def ensure_declared(self) -> None:
        """Bring what the tasks are into the store, unless this engine was told of all of them."""
        if not self.is_declared:
            self.declare(removes=False)

    @property
    def is_declared(self) -> bool:
        """Whether this engine was told of all tasks. None is opened for that: who asks may be writing to the file."""
        return self.connection.is_open and self._declared == (self.connection.engine, self._changes)

    def provide_functions(self, executors: "ExecutorRegistry") -> None:
        """Have a process call the functions of this program, instead of importing them by name; those of tasks that are
        added later too."""
        with self._lock:
            self._executors = executors
            _provide(executors, self.tasks.values())

    def declare(self, *, removes: bool) -> None:
        """Bring job types and schedules of the tasks into the store. With `removes`, what the app has there and no
        longer in its code is removed: for a process that has imported all its tasks."""
        from rota.sdk.tasks.declaring import declare

        with self._lock:
            engine, plans = self.connection.engine, [task.plan for task in self.tasks.values()]
            schedules = [request for source in self.schedule_sources for request in source()]
            declare(engine, self._app, plans, schedules, removes=removes and not self.keeps)
            self._declared = (engine, self._changes)


def _provide(executors: "ExecutorRegistry", tasks: Iterable[Registered]) -> None:
    from rota.engine.executors.python.python import PythonExecutor

    executor = executors.get("python")
    assert isinstance(executor, PythonExecutor)
    for task in tasks:
        executor.provide_for(task.plan.name, task.function)
