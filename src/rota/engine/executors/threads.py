"""Threads for functions that block. Handing a call over and back is made cheap: many finished calls wake the loop once.

There are as many threads as calls ran at the same time. A thread cannot be killed: a call that is given up goes on in
its thread, which is no longer counted and ends with it.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from queue import SimpleQueue
from typing import Generic, TypeVar

from rota.engine.executors.shortage import raise_if_short

Value = TypeVar("Value")


class _State(Enum):
    QUEUED = auto()
    RUNNING = auto()
    DONE = auto()
    ABANDONED = auto()


class _Call(Generic[Value]):
    __slots__ = ("error", "future", "state", "value", "work")

    def __init__(self, work: Callable[[], Value], future: "asyncio.Future[None]") -> None:
        self.work = work
        self.future = future
        self.state = _State.QUEUED
        self.value: Value | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.value = self.work()
        except BaseException as error:
            self.error = error


class Threads:
    """A pool for one event loop; `call` runs a function in one of its threads."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[_Call[object] | None] = SimpleQueue()
        self._done: deque[_Call[object]] = deque()
        self._lock = threading.Lock()
        """Guards the state of calls, which the loop and a thread may both want to change."""
        self._is_waking = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self.thread_count = 0
        """Threads that take calls."""
        self.busy_count = 0
        """Calls that somebody awaits."""

    async def call(self, work: Callable[[], Value]) -> Value:
        """Run `work` in a thread; `NodeStrained` when there is no more of them. Cancelled, it returns at once, and the
        thread's value is dropped when it comes."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        call: _Call[Value] = _Call(work, self._loop.create_future())
        self.busy_count += 1
        try:
            self._grow()
            self._queue.put(call)  # type: ignore[arg-type]
            await call.future
        except BaseException:
            self._abandon(call)
            raise
        if call.error is not None:
            raise call.error
        return call.value  # type: ignore[return-value]

    def close(self) -> None:
        """Let idle threads end; busy ones end after their call."""
        for _ in range(self.thread_count):
            self._queue.put(None)
        self.thread_count = 0

    def _grow(self) -> None:
        if self.busy_count <= self.thread_count:
            return
        try:
            threading.Thread(target=self._serve, name="rota-job", daemon=True).start()
        except (RuntimeError, MemoryError) as error:
            raise_if_short(error)
            raise
        self.thread_count += 1

    def _abandon(self, call: _Call[Value]) -> None:
        with self._lock:
            state = call.state
            if state is _State.DONE:
                return  # it is counted out when it is delivered
            call.state = _State.ABANDONED
        self.busy_count -= 1
        if state is _State.RUNNING:
            self.thread_count -= 1

    def _serve(self) -> None:
        while (call := self._queue.get()) is not None:
            if not self._move(call, _State.RUNNING):
                continue
            call.run()
            if not self._move(call, _State.DONE):
                return
            self._done.append(call)
            del call  # an idle thread must not keep the last job's values
            if not self._is_waking:
                self._is_waking = True
                self._wake()

    def _move(self, call: _Call[object], state: _State) -> bool:
        with self._lock:
            if call.state is _State.ABANDONED:
                return False
            call.state = state
            return True

    def _wake(self) -> None:
        assert self._loop is not None
        with suppress(RuntimeError):  # the loop is closed and nobody waits any more
            self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        # The flag goes down first: a call that is appended from here on is seen below, or wakes the loop again.
        self._is_waking = False
        while self._done:
            call = self._done.popleft()
            self.busy_count -= 1
            if not call.future.done():
                call.future.set_result(None)
