"""The outbox of the Redis store: ends of jobs that are yet to be taken as events. `finish_jobs` puts them there."""

import hashlib
from collections.abc import Sequence
from functools import partial

from rota.model.events.event import Event
from rota.store.records.codec import decode_event, encode
from rota.store.records.unreadable import SET_ASIDE_EVENT, UNREADABLE_ERRORS, set_aside_text
from rota.store.redis.keys import SETTINGS
from rota.store.redis.link.part import RedisPart

_MOST_SEARCHED = 10_000
"""Records among which those that were taken are looked for: others may stay before them."""


class RedisOutbox(RedisPart):
    """See `rota.store.contract.events.EventStore` for what each method promises."""

    def read_outbox(self, queue: str, *, limit: int) -> list[Event]:
        records = self._redis.zrange(self._keys_of(queue).outbox, 0, limit - 1)
        try:
            return [decode_event(raw) for raw in records]
        except UNREADABLE_ERRORS:
            return self._without_unreadable(queue, records)

    def _without_unreadable(self, queue: str, records: list[bytes]) -> list[Event]:
        """The events among some records. What is none is set aside, or it would be in the way for ever."""
        events: list[Event] = []
        for raw in records:
            name = hashlib.sha256(raw).hexdigest()[:16]
            event = self._unreadable.read("event", name, partial(decode_event, raw))
            if event:
                events.append(event)
            else:
                self._redis.hset(SETTINGS, SET_ASIDE_EVENT + name, set_aside_text(raw))
                self._redis.zrem(self._keys_of(queue).outbox, raw)
        return events

    def clear_outbox(self, queue: str, events: Sequence[Event]) -> None:
        if not events:
            return
        outbox = self._keys_of(queue).outbox
        if self._redis.zrem(outbox, *map(encode, events)) < len(events):
            # Somebody else took them, or a newer version wrote them with more than is known here.
            ids = {event.id for event in events}
            left = [raw for raw in self._redis.zrange(outbox, 0, _MOST_SEARCHED - 1) if _event_id(raw) in ids]
            if left:
                self._redis.zrem(outbox, *left)


def _event_id(raw: bytes) -> str | None:
    try:
        return decode_event(raw).id
    except UNREADABLE_ERRORS:
        return None
