"""The definitions of one partition of the command topic, their timers, and how far they have fired.

Tasks become due in the order of (instant, key), and are sent in this order. So one pair, the *cursor*, says which ones
were sent: it is kept with the consumed offset, in the transaction that sends them, and no definition needs a record of
its own for each fire. Whoever takes over begins behind the cursor. A topic that takes nothing for a while is *behind*:
its tasks wait, and it has a cursor of its own until it has caught up.
"""

from collections.abc import Collection, Iterator, Mapping
from heapq import heapify, heappop, heappush, heapreplace
from typing import NamedTuple

from rota.model.topics.light.fires import WINDOW_MS, first_due
from rota.model.triggers.interval import next_in_series
from rota.streaming.records.entry import Entry
from rota.streaming.records.position import Cursor, Position

_MIN_STALE = 1_000


class Fire(NamedTuple):
    """One due task."""

    key: bytes
    entry: Entry
    instant: int


def first_fire_of(entry: Entry, since: int) -> int:
    """The first instant of a definition that is in force since then."""
    return next_in_series(entry.start, entry.period_ms, since - 1) if entry.period_ms else entry.start


class Partition:
    """See the module. Changed by the thread of the stream only; others may look up definitions."""

    def __init__(self, number: int, position: Position) -> None:
        self.number = number
        self.position = position
        self.reached = position.offset
        """Nothing before this offset is yet to be taken."""
        self.recorded: Position | None = None
        """As it was last written to the changelog, and when."""
        self.recorded_at = 0
        self.definitions: dict[bytes, Entry] = {}
        self._timers: list[tuple[int, bytes]] = []
        self._waiting: dict[str, list[tuple[int, bytes]]] = {}
        """The timers of topics that are set aside."""
        self._behind = dict(position.behind)

    def start(self) -> None:
        """All definitions are there, each with the time since when it is in force as its next instant: let them go on
        behind the cursor."""
        for key, entry in self.definitions.items():
            entry.next = self._first_behind_cursor(key, entry, entry.next)
        self._set_timers()

    def _first_behind_cursor(self, key: bytes, entry: Entry, since: int) -> int:
        cursor = self._behind.get(entry.topic, self.position.cursor)
        return first_fire_of(entry, max(since, cursor.instant + (key <= cursor.key)))

    def _set_timers(self) -> None:
        self._timers = [(entry.next, key) for key, entry in self.definitions.items()]
        self._waiting = {}
        heapify(self._timers)

    def put(self, key: bytes, entry: Entry) -> None:
        self.definitions[key] = entry
        heappush(self._timers, (entry.next, key))
        self._drop_stale()

    def remove(self, key: bytes) -> None:
        """Its timer stays, and means nothing any more."""
        self.definitions.pop(key, None)

    def _drop_stale(self) -> None:
        if len(self._timers) > 2 * len(self.definitions) + _MIN_STALE:
            self._set_timers()

    @property
    def next_due(self) -> int | None:
        """When something may be due; it is early when that timer means nothing any more."""
        return self._timers[0][0] if self._timers else None

    def take_due(self, now: int, most: int, aside: Collection[str] = ()) -> Iterator[Fire]:
        """What is due, in the order of the cursor, and sets the timers on. `take_back` is for what was not sent.

        What is too late is passed over. Tasks for topics that are set aside wait until those are not. A task that is
        sent once has no timer afterwards, but is still defined.
        """
        self._wake(aside)
        timers, definitions, oldest = self._timers, self.definitions, now - WINDOW_MS
        while most and timers and timers[0][0] <= now:
            instant, key = timers[0]
            entry = definitions.get(key)
            if entry is None or entry.next != instant:
                heappop(timers)
                continue
            if entry.topic in aside:
                self._let_wait(heappop(timers), entry.topic)
                continue
            if not entry.period_ms:
                heappop(timers)
                entry.next = -1
            else:
                first = instant if instant >= oldest else first_due(instant, entry.period_ms, now)
                entry.next = instant + entry.period_ms if first == instant else first
                heapreplace(timers, (entry.next, key))
                if first != instant:
                    continue
            most -= 1
            yield Fire(key, entry, instant)

    def _let_wait(self, timer: tuple[int, bytes], topic: str) -> None:
        self._waiting.setdefault(topic, []).append(timer)
        self._behind.setdefault(topic, self.position.cursor)

    def _wake(self, aside: Collection[str]) -> None:
        for topic in [one for one in self._waiting if one not in aside]:
            for timer in self._waiting.pop(topic):
                heappush(self._timers, timer)

    def take_back(self, fires: list[Fire]) -> None:
        """They were not sent: set the timers to them again, of each definition to the first. The later timers of these
        definitions mean nothing until they are set to that instant again."""
        for key, entry, instant in {fire.key: fire for fire in reversed(fires)}.values():
            entry.next = instant
            heappush(self._timers, (instant, key))
        self._drop_stale()

    def position_after(self, fires: list[Fire], offset: int) -> Position:
        """Where it is when what `take_due` gave last is sent. A task that is sent once may lie far behind the cursor,
        and does not take it back."""
        cursor = max([self.position.cursor, *(Cursor(fire.instant, fire.key) for fire in fires[-1:])])
        return Position(offset, cursor, self._behind_after(fires, cursor) if self._behind else {})

    def _behind_after(self, fires: list[Fire], cursor: Cursor) -> dict[str, Cursor]:
        sent = {fire.entry.topic: Cursor(fire.instant, fire.key) for fire in fires}
        has_caught_up = not self._timers or self._timers[0] > (cursor.instant, cursor.key)
        return {
            topic: max(at, sent.get(topic, at))
            for topic, at in self._behind.items()
            if topic in self._waiting or not has_caught_up
        }

    def advance(self, position: Position, changes: Mapping[bytes, Entry | None]) -> None:
        """The brokers have it: now it is so. How far it reached is told last, since others ask for definitions as soon
        as they know."""
        for key, entry in changes.items():
            if entry is None:
                self.remove(key)
            else:
                self.put(key, entry)
        self.position = position
        self._behind = dict(position.behind)
        self.reached = max(self.reached, position.offset)
