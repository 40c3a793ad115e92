"""Events that arrive together share their round trips to the store (`engine/bridge/batcher.py`)."""

from collections.abc import Sequence

from msgspec import structs

from rota.engine.bridge.batcher import Batcher
from rota.engine.events.events import EventAnswer, Events, Triggered, Validated
from rota.model.events.event import Event

MOST_PER_BATCH = 500


class EventBatcher(Batcher[Event, EventAnswer]):
    """Takes events for one event loop, in the order in which they were handed in."""

    def __init__(self, events: Events) -> None:
        super().__init__("rota-events", most_per_batch=MOST_PER_BATCH)
        self._events = events

    async def post(self, events: Sequence[Event]) -> EventAnswer:
        """Take events; the answer numbers them as they are here."""
        return await self._hand_in(events)

    def _carry_out(self, items: list[Event]) -> EventAnswer:
        return self._events.post(items)

    def _share_out(self, answer: EventAnswer, sizes: Sequence[int]) -> list[EventAnswer]:
        """To each what its own events did, in its own numbers."""
        owner = _owners(sizes)
        parts = [EventAnswer.empty() for _ in sizes]
        for valid in answer.validated:
            number, start = owner[valid.event]
            parts[number].validated.append(Validated(valid.event - start, valid.configuration, valid.dependency))
        for made in answer.triggered:
            number, start = owner[made.event]
            parts[number].triggered.append(Triggered(made.event - start, made.configuration, made.job))
        for left in answer.ignored:
            number, start = owner[left.event]
            parts[number].ignored.append(structs.replace(left, event=left.event - start))
        for event in answer.matched:
            number, start = owner[event]
            parts[number].matched.add(event - start)
        return parts


def _owners(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """For each event of a batch the number of its request, and where that begins."""
    found: list[tuple[int, int]] = []
    for number, size in enumerate(sizes):
        found += [(number, len(found))] * size
    return found
