"""The slots of a worker: lasting tasks, each of which runs one job at a time.

Their number may change while they work. New ones begin at once; a slot that is one too many ends when its job has. A
slot that is cancelled only ends its job: that may have been the job's own doing. It leaves if it is too many.
"""

import asyncio
from collections.abc import Callable, Coroutine


class Slots:
    """Used on the event loop only."""

    def __init__(self, count: int, *, serve: Callable[[], Coroutine[None, None, None]]) -> None:
        """`serve` works until `has_surplus`, and leaves then; a cancellation does not end it."""
        self.count = count
        """How many there are to be."""
        self._serve = serve
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_open = False
        self._is_closed = False
        self.has_surplus = False
        """Whether a slot that is between two jobs is to leave; it does so with `leave`. Asked after each job."""

    def open(self) -> None:
        self._is_open = True
        self._fill()

    def resize(self, count: int) -> None:
        self.count = count
        if self._is_open:
            self._fill()
        self.has_surplus = self.surplus > 0

    @property
    def surplus(self) -> int:
        """How many are too many; once they are closed, all."""
        if self._is_closed:
            return len(self._tasks)
        return max(len(self._tasks) - self.count, 0)

    def leave(self, slot: asyncio.Task[None] | None) -> None:
        """Called by a slot, as the last thing that it does."""
        if slot is not None:
            self._tasks.discard(slot)
            self.has_surplus = self.surplus > 0

    def close(self) -> set[asyncio.Task[None]]:
        """End all of them, now; returns those that are to be waited for."""
        self._is_open, self._is_closed = False, True
        self.has_surplus = self.surplus > 0
        for task in self._tasks:
            task.cancel()
        return set(self._tasks)

    def _fill(self) -> None:
        while len(self._tasks) < self.count:
            self._tasks.add(asyncio.create_task(self._serve(), name="rota-slot"))
