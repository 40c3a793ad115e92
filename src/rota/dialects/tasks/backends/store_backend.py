"""Rota's own backend: tasks are schedules of an installation, and a node gives out their runs.

The node claims, beats, retries and settles as for any job. Its executor calls `deliver`, which hands the run to whoever
waits for a task, and waits in turn for what becomes of it.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Literal, TypeVar

from msgspec import structs

from rota.dialects.tasks.backends.delivery import Delivery
from rota.dialects.tasks.entity.task import Task
from rota.dialects.tasks.entity.view import running_task, says_completed
from rota.dialects.tasks.names import DEFAULT_TRIES, FUNCTION, Names
from rota.dialects.tasks.opening import open_keys, open_shown
from rota.dialects.tasks.tasks import Tasks
from rota.engine.engine import Engine
from rota.engine.executors.executor import Run
from rota.engine.executors.python.job_context import current_run
from rota.engine.executors.python.python import PythonExecutor
from rota.engine.executors.registry import ExecutorRegistry
from rota.engine.node.node import Node
from rota.engine.node.options import NodeOptions
from rota.engine.observation.happenings import JobsSettled
from rota.engine.observation.observers import Observers
from rota.errors import StoreUnavailable
from rota.model.job import JobState
from rota.store import Store, open_store

_AWAY_PAUSE_S = 0.5
_LAST_S = 5.0
"""For removing what was completed last, at the end; what is left is removed by whoever cleans up."""
_logger = logging.getLogger("rota.tasks")
Answer = TypeVar("Answer")


class StoreBackend:
    """Tasks in a store of Rota's."""

    def __init__(self, url: str, names: Names, *, keys: bool = True, engine: Engine | None = None) -> None:
        """An engine that is given is used, and its store stays open; else `url` names a store."""
        self._url = url
        self._engine = engine
        self._names = names
        self._keys = keys
        self._lock = threading.RLock()
        self._opened: Store | None = None
        self._tasks: Tasks | None = None
        self._given: asyncio.Queue[Task] = asyncio.Queue()
        self._can_stop_runs = True
        self._loop: asyncio.AbstractEventLoop | None = None
        self._node: Node | None = None
        self._removing: set[asyncio.Future[None]] = set()
        self._asked: set[asyncio.Task[object]] = set()
        """Calls to the store that are under way in threads. Each may open it, so all end before it is closed."""

    @property
    def store(self) -> Store:
        """Opened at the first use."""
        if self._engine is not None:
            return self._engine.store
        with self._lock:
            if self._opened is None:
                self._opened = open_store(self._url)
            return self._opened

    @property
    def tasks(self) -> Tasks:
        with self._lock:
            if self._tasks is None:
                shown = open_shown(self.store, self._names) if self._keys else None
                self._tasks = Tasks(self._engine or Engine.open(self.store), self._names, shown)
            return self._tasks

    def close(self) -> None:
        """Give up the connections to the store; the next use opens them again."""
        with self._lock:
            opened, self._opened, self._tasks = self._opened, None, None
            if opened is not None:
                opened.close()  # which may raise, and leaves nothing that could be used

    # -- the contract ----------------------------------------------------------------------------------------------

    def add_task(self, task: Task) -> Task:
        return self.tasks.add(task)

    async def wait_for_task(self) -> Task:
        return await self._given.get()

    async def commit(self, task: Task) -> None:
        try:
            is_completed = await self._when_the_store_answers(lambda: self.tasks.is_last_run(task))
        except Exception as error:
            await self.handle_error(task, error)  # or the node would wait for its end for ever
            raise
        self._end(task, {"task": task.id, "runs": task.runs + 1, "completed": is_completed})

    async def handle_error(self, task: Task, error: Exception) -> None:
        end = _delivery_of(task).end
        if not end.done():
            end.set_exception(error)

    def _end(self, task: Task, result: object) -> None:
        end = _delivery_of(task).end
        if not end.done():
            end.set_result(result)

    # -- the node --------------------------------------------------------------------------------------------------

    def begin(self, *, can_stop_runs: bool) -> None:
        """Before anybody waits for a task on this loop. A run in a thread does not end when it is asked to."""
        self._given = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._can_stop_runs = can_stop_runs

    async def run(self, threads: int, stopping: asyncio.Event) -> None:
        """Live as a node until `stopping` is set and the runs under way have ended."""
        asking = asyncio.create_task(stopping.wait())
        opening = asyncio.create_task(self._when_the_store_answers(lambda: self._open_node(threads)))
        try:
            await asyncio.wait({opening, asking}, return_when=asyncio.FIRST_COMPLETED)
            if opening.done():
                await self._live(opening.result(), asking)
        finally:
            asking.cancel()
            opening.cancel()
            await self._end_calls()

    def interrupt(self) -> None:
        """Stop the runs under way now: they go back, and no attempt is counted."""
        if self._node is not None:
            self._node.request_stop(at_once=True)

    def give_up(self) -> None:
        """Leave the store, from any thread: the loop does not answer, and the process is to end."""
        if self._node is not None:
            self._node.give_up()

    async def _live(self, node: Node, asking: "asyncio.Task[Literal[True]]") -> None:
        self._node = node
        living = asyncio.create_task(node.run())
        try:
            await asyncio.wait({living, asking}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            node.request_stop()
            await living
            self._node = None
            if self._removing:
                await asyncio.wait(self._removing, timeout=_LAST_S)

    def _heard(self, settled: JobsSettled) -> None:
        """The store knows how runs ended: the tasks that they completed can go."""
        ids = [
            str(one.ending.results["task"])
            for one in settled.ended
            if one.ending is not None and one.state is JobState.SUCCEEDED and says_completed(one.ending.results)
        ]
        if ids and self._loop is not None:
            self._loop.call_soon_threadsafe(self._remove, ids)

    def _remove(self, ids: list[str]) -> None:
        removing = asyncio.ensure_future(self._when_the_store_answers(lambda: self.tasks.remove_completed(ids)))
        self._removing.add(removing)
        removing.add_done_callback(self._removing.discard)

    def _open_node(self, threads: int) -> Node:
        self.tasks.job_type(DEFAULT_TRIES)
        executors = ExecutorRegistry()
        python = executors.get("python")
        assert isinstance(python, PythonExecutor)
        python.provide(FUNCTION, self.deliver)
        keys = open_keys(self.store) if self._keys else None
        options = NodeOptions(node_type=self._names.node_type, threads=threads)
        observers = Observers()
        observers.add(JobsSettled, self._heard)
        dialects = [keys] if keys else []
        return Node.open(self.store, options, executors=executors, observers=observers, dialects=dialects)

    async def deliver(self, task: dict[str, object]) -> object:
        """Called by the node for each run: hands it over, and waits for its end."""
        run = current_run()
        run.can_be_stopped = self._can_stop_runs
        found = await self._when_the_store_answers(lambda: self._find(run))
        delivery = Delivery(copy_context(), asyncio.get_running_loop().create_future())
        self._given.put_nowait(structs.replace(found, delivery=delivery))
        try:
            return await delivery.end
        except asyncio.CancelledError:
            delivery.revoke()
            raise

    def _find(self, run: Run) -> Task:
        entry = self.store.find_schedules([run.spec.cause.name])[0] if run.spec.cause is not None else None
        return running_task(run.spec, run.attempt, entry)

    # -- calls to the store ----------------------------------------------------------------------------------------

    async def _when_the_store_answers(self, call: Callable[[], Answer]) -> Answer:
        """Ask the store until it answers: that it is away is no fault of the task, whose node holds it meanwhile, nor
        of a worker that begins."""
        is_told = False
        while True:
            try:
                return await self._ask(call)
            except StoreUnavailable as error:
                if not is_told:
                    _logger.warning("the store of tasks is away; asking until it answers", extra={"reason": str(error)})
                is_told = True
                await asyncio.sleep(_AWAY_PAUSE_S)

    async def _ask(self, call: Callable[[], Answer]) -> Answer:
        asked = asyncio.create_task(asyncio.to_thread(call))
        self._asked.add(asked)
        asked.add_done_callback(self._asked.discard)
        return await asyncio.shield(asked)  # a thread goes on when its caller is cancelled, and is known until it ends

    async def _end_calls(self) -> None:
        for removing in self._removing:
            removing.cancel()
        while self._asked:
            await asyncio.wait(self._asked)


def _delivery_of(task: Task) -> Delivery:
    if task.delivery is None:
        raise ValueError(f"task {task.id!r} was not given out by this backend's wait_for_task, so it cannot be ended")
    return task.delivery
