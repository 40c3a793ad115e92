"""The bridge between the engine, which is asyncio, and stores, which are synchronous: one thread that makes the calls.

Calls are made one after another, in order, so that what depends on order (log lines before the end of their job,
recovery after a failed claim) needs no further care.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

Answer = TypeVar("Answer")
_Call = tuple["asyncio.Future[Any] | None", Callable[[], Any]]
LONGEST_END_S = 10.0
"""A thread that does not end in this time is left behind: a store may hang."""


class StoreThread:
    """Makes synchronous calls for one event loop."""

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    async def call(self, function: Callable[[], Answer]) -> Answer:
        """Run `function` in the thread. Cancelling the wait does not undo the call."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._calls.put((future, function))
        return await future

    def post(self, function: Callable[[], object]) -> None:
        """Run `function` in the thread; nobody waits for it, and its errors are its own affair."""
        self._calls.put((None, function))

    async def end(self) -> None:
        """Finish the calls that were handed in, then end. The loop goes on meanwhile: one that stands still looks as if
        a job blocked it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_END_S):
                await self.call(lambda: None)
        self._calls.put(None)

    def close(self) -> None:
        """The same for whoever has no loop, or nothing else in it."""
        self._calls.put(None)
        self._thread.join(timeout=LONGEST_END_S)

    def _serve(self) -> None:
        while (call := self._calls.get()) is not None:
            future, function = call
            try:
                answer = function()
            except BaseException as error:
                if future is not None:
                    _tell(future, _fail, error)
            else:
                if future is not None:
                    _tell(future, _succeed, answer)


def _tell(future: "asyncio.Future[Any]", how: Callable[["asyncio.Future[Any]", Any], None], what: object) -> None:
    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        future.get_loop().call_soon_threadsafe(how, future, what)


def _succeed(future: "asyncio.Future[Any]", answer: object) -> None:
    if not future.done():
        future.set_result(answer)


def _fail(future: "asyncio.Future[Any]", error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
