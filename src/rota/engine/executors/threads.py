"""Threads for functions that block. Handing a call over and back is made cheap: calls that come together are made by
one thread, one after the other, as long as each is short, and many finished calls wake the loop once.

A call that waits behind one which turns out to be long is noticed within eight milliseconds. Then, and for a while
after it, every call wakes a thread of its own, and there are as many threads as calls run at the same time. A thread
cannot be killed: a call that is given up goes on in its thread, which is no longer counted and ends with it.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Generic, TypeVar, TypeVarTuple

from rota.engine.executors.shortage import raise_if_short
from rota.errors import NodeStrained

Value = TypeVar("Value")
Arguments = TypeVarTuple("Arguments")

LOOK_S = 0.004
"""A call that was the first to wait at two looks in a row waits behind a long one. Looking more often takes a thread
that waits for the interpreter for one that is long at work, and many threads then contend for it."""
LONG_MEMORY = 200
"""After a long call, so many further ones each wake a thread of their own."""


class _Call(Generic[Value]):
    __slots__ = ("arguments", "error", "future", "is_abandoned", "is_done", "is_refused", "number", "value", "work")

    def __init__(
        self, work: Callable[..., Value], arguments: tuple[object, ...], future: "asyncio.Future[None]", number: int
    ) -> None:
        self.work = work
        self.arguments = arguments
        self.future = future
        self.number = number
        self.is_abandoned = False
        self.is_done = False
        self.is_refused = False
        """There was no thread for it."""
        self.value: Value | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.value = self.work(*self.arguments)
        except BaseException as error:
            self.error = error


class Threads:
    """A pool for one event loop; `call` runs a function in one of its threads."""

    def __init__(self, *, look_s: float = LOOK_S) -> None:
        self._look_s = look_s
        self._waiting: deque[_Call[object]] = deque()
        """Calls that no thread has taken yet."""
        self._wakes: SimpleQueue[bool] = SimpleQueue()
        """One item per thread that is to look for calls; False lets it end."""
        self._is_served = False
        """Whether a thread takes calls until there are none, or is woken to do so."""
        self._done: deque[_Call[object]] = deque()
        self._lock = threading.Lock()
        """Guards the end of calls, which the loop and a thread may both want to decide."""
        self._is_waking = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._number = 0
        """Of the last call."""
        self._first = 0
        """Of the call that waited for longest at the last look."""
        self._long = 0
        """How many further calls wake a thread of their own."""
        self.thread_count = 0
        """Threads that take calls."""
        self.busy_count = 0
        """Calls that somebody awaits."""

    async def call(self, work: Callable[[*Arguments], Value], *arguments: *Arguments) -> Value:
        """Run `work` in a thread; `NodeStrained` when there is no more of them. Cancelled, it returns at once, and the
        thread's value is dropped when it comes."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        self._number += 1
        call: _Call[Value] = _Call(work, arguments, self._loop.create_future(), self._number)
        self.busy_count += 1
        try:
            self._hand_over(call)  # type: ignore[arg-type]
            await call.future
        except BaseException:
            self._abandon(call)  # type: ignore[arg-type]
            raise
        if call.error is not None:
            raise call.error
        return call.value  # type: ignore[return-value]

    def close(self) -> None:
        """Let idle threads end; busy ones end after their call."""
        for _ in range(self.thread_count):
            self._wakes.put(False)
        self.thread_count = 0

    # -- on the loop -----------------------------------------------------------------------------------------------

    def _hand_over(self, call: _Call[object]) -> None:
        self._waiting.append(call)
        try:
            self._wake_for_one()
        except NodeStrained:
            # A thread that has just ended its call may have taken this one: then it is under way, and not refused.
            with suppress(ValueError):
                self._waiting.remove(call)
                call.is_refused = True
                raise
        if self._timer is None:
            self._look_later()

    def _wake_for_one(self) -> None:
        if self._long:
            self._long -= 1
            self._wake_thread()
        elif not self._is_served:
            assert self._loop is not None
            self._is_served = True
            self._have_thread()
            # After the calls that come now: woken before, the thread would wait for the interpreter, which costs more.
            self._loop.call_soon(self._wakes.put, True)

    def _wake_thread(self) -> None:
        self._have_thread()
        self._wakes.put(True)

    def _have_thread(self) -> None:
        """Make a thread if there is none, or all may be busy."""
        if not self.thread_count or (self._long and self.busy_count > self.thread_count):
            self._grow()

    def _grow(self) -> None:
        try:
            threading.Thread(target=self._serve, name="rota-job", daemon=True).start()
        except (RuntimeError, MemoryError) as error:
            self._is_served = False
            raise_if_short(error)
            raise
        self.thread_count += 1

    def _look_later(self) -> None:
        assert self._loop is not None
        self._timer = self._loop.call_later(self._look_s, self._look)

    def _look(self) -> None:
        """See whether a call waits behind a long one. Nobody looks while there is nothing to see."""
        self._timer = None
        waiting, before, self._first = len(self._waiting), self._first, self._number_of_first()
        if not waiting:
            return
        if self._first and self._first == before:
            self._long = LONG_MEMORY
            try:
                for _ in range(waiting):
                    self._wake_thread()
            except NodeStrained as error:
                self._refuse(error)
        self._look_later()

    def _number_of_first(self) -> int:
        """Of the call that waits for longest; 0 if none does."""
        try:
            return self._waiting[0].number
        except IndexError:  # a thread has just taken it
            return 0

    def _refuse(self, error: NodeStrained) -> None:
        """There are no threads for calls that wait."""
        with suppress(IndexError):
            while True:
                call = self._waiting.popleft()
                call.is_refused = True
                if not call.future.done():
                    call.future.set_exception(error)

    def _abandon(self, call: _Call[object]) -> None:
        with self._lock:
            if call.is_done:
                return  # it is counted out when it is delivered
            call.is_abandoned = True
        self.busy_count -= 1
        try:
            self._waiting.remove(call)
        except ValueError:
            if not call.is_refused:
                self.thread_count -= 1  # a thread has it, and ends with it

    def _deliver(self) -> None:
        # The flag goes down first: a call that is appended from here on is seen below, or wakes the loop again.
        self._is_waking = False
        while self._done:
            call = self._done.popleft()
            self.busy_count -= 1
            if not call.future.done():
                call.future.set_result(None)

    # -- in the threads --------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        while self._wakes.get():
            if not self._take_calls():
                return

    def _take_calls(self) -> bool:
        """Make calls until there are none. False when one was given up meanwhile: this thread is not counted any
        more."""
        while True:
            try:
                call = self._waiting.popleft()
            except IndexError:
                # The flag goes down first: a call that is appended from here on is seen below, or wakes a thread.
                self._is_served = False
                if not self._waiting:
                    return True
                self._is_served = True
                continue
            call.run()
            if not self._finish(call):
                self._is_served = False
                return False
            del call  # an idle thread must not keep the last job's values

    def _finish(self, call: _Call[object]) -> bool:
        with self._lock:
            if call.is_abandoned:
                return False
            call.is_done = True
        self._done.append(call)
        if not self._is_waking:
            self._is_waking = True
            self._wake_loop()
        return True

    def _wake_loop(self) -> None:
        assert self._loop is not None
        with suppress(RuntimeError):  # the loop is closed and nobody waits any more
            self._loop.call_soon_threadsafe(self._deliver)
