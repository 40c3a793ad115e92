"""Things that are handed in together share one round trip to the store.

Whoever comes while a batch is under way waits for it and goes with the next one, as commits of a database do. Under
load the batches grow by themselves; a single request waits for nobody.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

from rota.engine.bridge.store_thread import StoreThread

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Looked = TypeVar("Looked")
_Request = tuple[Sequence[Item], asyncio.Future[Answer]]


class Batcher(ABC, Generic[Item, Answer]):
    """Group commit for one event loop, in the order in which requests were handed in. A use says what is done with a
    batch, and which part of the answer is whose."""

    def __init__(self, thread_name: str, *, most_per_batch: int) -> None:
        """A batch has no more than so many items, unless a single request has."""
        self._thread_name = thread_name
        self._most_per_batch = most_per_batch
        self._thread: StoreThread | None = None
        self._waiting: list[_Request[Item, Answer]] = []
        self._flushing: asyncio.Task[None] | None = None

    @abstractmethod
    def _carry_out(self, items: list[Item]) -> Answer:
        """Do it, in the store thread. What this raises, all of the batch hear."""

    @abstractmethod
    def _share_out(self, answer: Answer, sizes: Sequence[int]) -> list[Answer]:
        """The part of each request; `sizes` are their numbers of items, in order."""

    def close(self) -> None:
        """End the thread after what was handed in."""
        if self._thread is not None:
            self._thread.close()

    async def _hand_in(self, items: Sequence[Item]) -> Answer:
        """Go with the next batch. A caller who gives up meanwhile undoes nothing."""
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((items, answered))
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())
        return await answered

    async def _in_thread(self, function: Callable[[], Looked]) -> Looked:
        """Call something that asks the store, without stopping the loop."""
        if self._thread is None:
            self._thread = StoreThread(self._thread_name)
        return await self._thread.call(function)

    async def _flush(self) -> None:
        """Batch after batch, until nobody waits."""
        while self._waiting:
            batch = self._take()
            try:
                answer = await self._in_thread(partial(self._carry_out, [one for items, _ in batch for one in items]))
            except Exception as error:
                for _, answered in batch:
                    if not answered.done():
                        answered.set_exception(error)
            else:
                parts = self._share_out(answer, [len(items) for items, _ in batch])
                for (_, answered), part in zip(batch, parts, strict=True):
                    if not answered.done():
                        answered.set_result(part)

    def _take(self) -> list[_Request[Item, Answer]]:
        batch: list[_Request[Item, Answer]] = []
        size = 0
        while self._waiting and (not batch or size + len(self._waiting[0][0]) <= self._most_per_batch):
            batch.append(self._waiting.pop(0))
            size += len(batch[-1][0])
        return batch
