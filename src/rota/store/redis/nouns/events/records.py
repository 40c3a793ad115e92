"""Events that were taken, as the Redis store remembers them for people."""

from collections.abc import Sequence

import msgspec

from rota.model.events.record import EventRecord
from rota.store.contract.events import MAX_EVENT_RECORDS
from rota.store.records.codec import encode
from rota.store.redis.keys import EVENT_RECORDS
from rota.store.redis.link.commands import Value
from rota.store.redis.link.part import RedisPart

_decode = msgspec.json.Decoder(EventRecord).decode
_ID_LENGTH = 36


class RedisEventRecords(RedisPart):
    """See `rota.store.contract.events.EventStore` for what each method promises."""

    def record_events(self, records: Sequence[EventRecord], *, keep: int = MAX_EVENT_RECORDS) -> None:
        args: list[Value] = [keep, *(one.id.encode() + b" " + encode(one) for one in records)]
        self._link.run("record_events", [EVENT_RECORDS], args)

    def list_events(self, *, limit: int, before: str | None = None) -> list[EventRecord]:
        bound = "+" if before is None else f"({before}"
        found = self._redis.zrevrangebylex(EVENT_RECORDS, bound, "-", start=0, num=limit)
        bodies = [one[_ID_LENGTH + 1 :] for one in found]
        return self._unreadable.read_all("events that were taken of", EVENT_RECORDS, _decode, bodies)
