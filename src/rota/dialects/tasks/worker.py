"""The worker: waits for tasks, calls the handler with each, and says how it ended.

Worker("sqlite:///rota.db", handler, concurrency=4).run()

It ends as a node does: the first signal lets runs under way end, the second one interrupts them, and what a handler
holds then ends with the process.
"""

import asyncio
import inspect
import logging
import signal
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Any

from rota.dialects.tasks.backends.backend import Backend
from rota.dialects.tasks.backends.store_backend import StoreBackend
from rota.dialects.tasks.entity.task import Task
from rota.dialects.tasks.names import names_of
from rota.ending.last_resort import LEAVE_S, LastResort
from rota.ending.loops import answers, close_runner
from rota.ending.signals import heard_signals
from rota.engine.executors.threads import Threads
from rota.engine.node.options import NodeOptions
from rota.engine.worker.times import ABANDON_S
from rota.errors import InvalidInput
from rota.model.limits import check_range
from rota.model.node import MAX_THREADS

Handler = Callable[[Task], object] | Callable[[Task], Awaitable[object]]
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 30.0
_GRACE_S = NodeOptions().stop_grace_s
_LAST_S = ABANDON_S + 1.0
"""When the process begins to end at the latest after the second signal; so long after the grace a loop that does not
answer never will."""
_SLOTS_S = 5.0
"""How long slots may take to end when nobody waits for their runs any more."""
_logger = logging.getLogger("rota.tasks")


class Worker:
    """Runs tasks with a handler: an `async def` on the loop, a plain function in a thread."""

    def __init__(
        self, url: str | Backend, handler: Handler, concurrency: int = 1, *, prefix: str = "", keys: bool = True
    ) -> None:
        """`url` is that of a store, or a backend of one's own. `concurrency` tasks run at a time. With `keys`, what is
        in Redis under the document's keys is kept up to date."""
        if not callable(handler):
            raise InvalidInput("handler", f"must be a function that takes a task, got {handler!r:.100}")
        self.handler = handler
        self.concurrency = check_range("concurrency", concurrency, 1, MAX_THREADS)
        self._own = StoreBackend(url, names_of(prefix), keys=keys) if isinstance(url, str) else None
        self.backend: Backend = self._own if self._own is not None else url  # type: ignore[assignment]
        self._is_async = inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(type(handler).__call__)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._over = asyncio.Event()
        """Nothing more is given out. Rota's own node still gives out something after it was asked to stop."""
        self._stop_asked = threading.Event()
        self._idle: set[asyncio.Task[None]] = set()
        self._threads: Threads | None = None
        self._at_once = asyncio.Event()
        self._signals = 0
        self._last_resort = LastResort()
        self.runs = 0
        """Runs that succeeded here."""
        self.errors = 0
        """Runs that failed here."""

    def run(self) -> None:
        """Work until `stop`, TERM, INT or HUP; runs under way may end. A second signal interrupts them, and ends the
        process should a handler not let it go."""
        self._signals = 0
        with self._last_resort:
            runner = asyncio.Runner()
            try:
                runner.run(self._serve_until_signal())
            finally:
                # A loop waits until every task has ended, and some of a handler's never do.
                if self._signals:
                    self._last_resort.set(LEAVE_S, 1)
                close_runner(runner)

    def stop(self) -> None:
        """From any thread: take nothing more, let runs under way end, and end."""
        self._stop_asked.set()
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # it has ended meanwhile
                loop.call_soon_threadsafe(self._stopping.set)

    async def serve(self) -> None:
        """The same as `run`, within a program that has a loop."""
        self._begin()
        slots = [asyncio.create_task(self._work()) for _ in range(self.concurrency)]
        try:
            if self._own is not None:
                await self._own.run(self.concurrency, self._stopping)
            else:
                await self._stopping.wait()
        finally:
            self._over.set()
            for slot in self._idle:
                slot.cancel()
            await self._end_slots(slots)
            self._end()

    async def _end_slots(self, slots: list[asyncio.Task[None]]) -> None:
        """A node has waited for runs as long as it may. Those of another backend may end until they are interrupted."""
        if self._own is None:
            hurrying = asyncio.create_task(self._at_once.wait())
            ending = asyncio.gather(*slots, return_exceptions=True)
            either: set[asyncio.Future[Any]] = {hurrying, ending}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            hurrying.cancel()
            ending.cancel()
        _, left = await asyncio.wait(slots, timeout=_SLOTS_S)
        for slot in left:
            slot.cancel()
        if left:
            _logger.warning("runs that do not end are left behind", extra={"runs": len(left)})

    def _begin(self) -> None:
        self._stopping, self._over, self._at_once = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._loop = asyncio.get_running_loop()
        if self._stop_asked.is_set():
            self._stopping.set()
        if self._own is not None:
            self._own.begin(can_stop_runs=self._is_async)
        if not self._is_async:
            self._threads = Threads()  # those that never end do not hold the program

    def _end(self) -> None:
        self._loop = None
        self._stop_asked.clear()
        if self._threads is not None:
            self._threads.close()
        if self._own is not None:
            self._own.close()

    async def _serve_until_signal(self) -> None:
        loop = asyncio.get_running_loop()
        with heard_signals(lambda number: self._on_signal(number, loop)):
            await self.serve()

    def _on_signal(self, number: int, loop: asyncio.AbstractEventLoop) -> None:
        """Called in a thread."""
        if number == signal.SIGHUP and self._signals:
            return  # the kernel and the shell may both say that the terminal is gone: that is one request, not two
        self._signals += 1
        if self._signals == 1:
            self._last_resort.set(_GRACE_S, 1, before=self._give_up, unless=lambda: answers(loop, _LAST_S))
        elif self._signals == 2:
            self._last_resort.set(_LAST_S, 1, before=self._give_up)
            with suppress(RuntimeError):  # it has ended meanwhile
                loop.call_soon_threadsafe(self._interrupt)
        self.stop()

    def _interrupt(self) -> None:
        self._at_once.set()
        if self._own is not None:
            self._own.interrupt()

    def _give_up(self) -> None:
        if self._own is not None:
            self._own.give_up()

    # -- one slot --------------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        """Take one task after the other. A backend that fails is asked again, after longer and longer pauses."""
        pause_s = _FIRST_PAUSE_S
        while not self._over.is_set():
            try:
                await self._run(await self._wait_for_task())
                pause_s = _FIRST_PAUSE_S
            except Exception:
                _logger.exception("the backend of tasks failed", extra={"again_in_s": pause_s})
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._over.wait(), pause_s)
                pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

    async def _wait_for_task(self) -> Task:
        slot = asyncio.current_task()
        assert slot is not None
        self._idle.add(slot)
        try:
            return await self.backend.wait_for_task()
        finally:
            self._idle.discard(slot)

    async def _run(self, task: Task) -> None:
        delivery = task.delivery
        if delivery is not None and delivery.end.done():
            return  # it was cancelled on its way here
        running = asyncio.create_task(self._call(task), context=delivery.context if delivery else None)
        if delivery is not None:
            delivery.revoke = running.cancel
        try:
            await running
        except asyncio.CancelledError:
            if not running.cancelled():
                raise  # it is this slot that is to end
            if delivery is None or not delivery.end.done():  # nobody asked for it: the handler did it itself
                self.errors += 1
                await self.backend.handle_error(task, RuntimeError("the handler was cancelled"))
        except Exception as error:
            self.errors += 1
            await self.backend.handle_error(task, error)
        else:
            self.runs += 1
            await self.backend.commit(task)

    async def _call(self, task: Task) -> None:
        try:
            made = self.handler(task) if self._threads is None else await self._call_in_thread(task)
            if inspect.isawaitable(made):
                await made
        except SystemExit as error:
            raise _exited(error) from None  # it would end the loop, and the worker with it

    async def _call_in_thread(self, task: Task) -> object:
        assert self._threads is not None
        return await self._threads.call(copy_context().run, _handle, self.handler, task)


def _handle(handler: Callable[[Task], object], task: Task) -> object:
    try:
        return handler(task)
    except SystemExit as error:
        raise _exited(error) from None


def _exited(error: SystemExit) -> RuntimeError:
    return RuntimeError(f"the handler called sys.exit({error.code!r})")
