"""Events that arrive together share their round trips to the store.

Whoever comes while a batch is under way waits for it and goes with the next one, as commits of a database do. Under
load the batches grow by themselves; a single event waits for nobody.
"""

import asyncio
from collections.abc import Sequence

from rota.engine.events.events import EventAnswer, Events, Triggered, Validated
from rota.engine.store_thread import StoreThread
from rota.model.events.event import Event

MOST_PER_BATCH = 500
_Wish = tuple[Sequence[Event], "asyncio.Future[EventAnswer]"]


class EventBatcher:
    """Takes events for one event loop, in the order in which they were handed in."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._thread: StoreThread | None = None
        self._waiting: list[_Wish] = []
        self._flight: asyncio.Task[None] | None = None

    async def post(self, events: Sequence[Event]) -> EventAnswer:
        """Take events; the answer numbers them as they stand here."""
        answered: asyncio.Future[EventAnswer] = asyncio.get_running_loop().create_future()
        self._waiting.append((events, answered))
        if self._flight is None or self._flight.done():
            self._flight = asyncio.create_task(self._fly())
        return await answered

    def close(self) -> None:
        """End the thread after what was handed in."""
        if self._thread is not None:
            self._thread.close()

    async def _fly(self) -> None:
        if self._thread is None:
            self._thread = StoreThread("rota-events")
        while self._waiting:
            batch = self._take()
            events = [event for some, _ in batch for event in some]
            try:
                answer = await self._thread.call(lambda events=events: self._events.post(events))  # type: ignore[misc]
            except Exception as error:
                for _, answered in batch:
                    if not answered.done():
                        answered.set_exception(error)
            else:
                _hand_out(batch, answer)

    def _take(self) -> list[_Wish]:
        batch: list[_Wish] = []
        size = 0
        while self._waiting and (not batch or size + len(self._waiting[0][0]) <= MOST_PER_BATCH):
            batch.append(self._waiting.pop(0))
            size += len(batch[-1][0])
        return batch


def _hand_out(batch: list[_Wish], answer: EventAnswer) -> None:
    """To each what its own events did."""
    owner = _starts(batch)
    parts = [EventAnswer([], []) for _ in batch]
    for valid in answer.validated:
        number, start = owner[valid.event]
        parts[number].validated.append(Validated(valid.event - start, valid.configuration, valid.dependency))
    for made in answer.triggered:
        number, start = owner[made.event]
        parts[number].triggered.append(Triggered(made.event - start, made.configuration, made.job))
    for (_, answered), part in zip(batch, parts, strict=True):
        if not answered.done():
            answered.set_result(part)


def _starts(batch: list[_Wish]) -> list[tuple[int, int]]:
    """For each event of a batch the number of its request, and where that begins."""
    found: list[tuple[int, int]] = []
    for number, (events, _) in enumerate(batch):
        found += [(number, len(found))] * len(events)
    return found
