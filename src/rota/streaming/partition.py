"""The definitions of one partition of the command topic, their timers, and how far they have fired.

Tasks become due in the order of (instant, key), and are sent in this order. So one pair, the *cursor*, says which ones
were sent: it is kept with the consumed offset, in the transaction that sends them, and no definition needs a record of
its own for each fire. Whoever takes over begins behind the cursor.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from heapq import heapify, heappop, heappush, heapreplace
from typing import NamedTuple

from rota.model.topics.light.fires import first_due
from rota.model.triggers.interval import next_in_series
from rota.streaming.records.entry import Entry

_MIN_STALE = 1_000


class Cursor(NamedTuple):
    """All that was due up to here was sent: of this instant, the definitions up to this key."""

    instant: int
    key: bytes
    owner: str = ""
    """The instance that says so, by its name."""

    def to_text(self) -> str:
        return f"{self.instant}:{urlsafe_b64encode(self.key).decode()}:{self.owner}"


BEGINNING = Cursor(-1, b"")


def read_cursor(text: str | None) -> Cursor:
    """A cursor from its text. What nobody here wrote counts as none."""
    instant, _, rest = (text or "").partition(":")
    key, _, owner = rest.partition(":")
    try:
        return Cursor(int(instant), urlsafe_b64decode(key), owner)
    except ValueError:
        return BEGINNING


class Fire(NamedTuple):
    """One due task."""

    key: bytes
    entry: Entry
    instant: int


class Partition:
    """See the module. Changed by the thread of the stream only; others may look up definitions."""

    def __init__(self, number: int, *, offset: int, cursor: Cursor) -> None:
        self.number = number
        self.offset = offset
        """The next command to take."""
        self.reached = offset
        """Nothing before this offset is yet to be taken."""
        self.cursor = cursor
        self.definitions: dict[bytes, Entry] = {}
        self._timers: list[tuple[int, bytes]] = []

    def restored(self, key: bytes, entry: Entry, since: int) -> Entry:
        """A definition from a changelog, in force since an instant: it goes on behind the cursor."""
        if entry.period_ms:
            done = self.cursor.instant - (key > self.cursor.key)
            entry.next = next_in_series(entry.start, entry.period_ms, max(since - 1, done))
        return entry

    def start(self) -> None:
        """All definitions are there: set their timers."""
        self._timers = [(entry.next, key) for key, entry in self.definitions.items()]
        heapify(self._timers)

    def first_fire(self, entry: Entry, now: int, sent: Cursor) -> int:
        """When a new definition fires first: from now on, and at no instant that is sent already, or with it."""
        if not entry.period_ms:
            return entry.start
        return next_in_series(entry.start, entry.period_ms, max(now - 1, sent.instant))

    def put(self, key: bytes, entry: Entry) -> None:
        self.definitions[key] = entry
        heappush(self._timers, (entry.next, key))
        if len(self._timers) > 2 * len(self.definitions) + _MIN_STALE:
            self.start()

    def remove(self, key: bytes) -> None:
        """Its timer stays, and means nothing any more."""
        self.definitions.pop(key, None)

    @property
    def next_due(self) -> int | None:
        """When something may be due; it is early when that timer means nothing any more."""
        return self._timers[0][0] if self._timers else None

    def take_due(self, now: int, most: int) -> Iterator[Fire]:
        """What is due, in the order of the cursor, and sets the timers on. `take_back` is for what was not sent.

        What is too late is passed over. A task that is sent once has no timer afterwards, but is still defined.
        """
        timers, definitions = self._timers, self.definitions
        while most and timers and timers[0][0] <= now:
            instant, key = timers[0]
            entry = definitions.get(key)
            if entry is None or entry.next != instant:
                heappop(timers)
                continue
            if not entry.period_ms:
                heappop(timers)
                entry.next = -1
            else:
                first = first_due(instant, entry.period_ms, now)
                entry.next = instant + entry.period_ms if first == instant else first
                heapreplace(timers, (entry.next, key))
                if first != instant:
                    continue
            most -= 1
            yield Fire(key, entry, instant)

    def take_back(self, fires: list[Fire]) -> None:
        """They were not sent: set the timers to them again. The later timers of these definitions mean nothing until
        they are set to that instant again."""
        for key, entry, instant in reversed(fires):
            entry.next = instant
            heappush(self._timers, (instant, key))
