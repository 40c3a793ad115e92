"""Topics: the only way to publish to them, and how they are read."""

from collections.abc import Sequence
from typing import Protocol

from rota.errors import NotFound, RotaError
from rota.model.limits import MAX_PAYLOAD_BYTES, encode_json
from rota.model.topics.topic import MESSAGE_ID, TopicRecord, check_topic
from rota.store.contract.store import Store
from rota.store.contract.topics import TopicPage

MAX_RECORD_BYTES = 2 * MAX_PAYLOAD_BYTES


class Publisher(Protocol):
    """Where records go: the store, or brokers."""

    @property
    def counts_once(self) -> bool:
        """Whether a record that is published again, by its id, is there once."""
        ...

    def publish(self, topic: str, records: Sequence[TopicRecord]) -> Sequence[int | RotaError]:
        """Add records to a topic, which is made if it is not there; returns the offset of each, or why it alone was not
        added. When this returns they are kept. May block."""
        ...


class Topics:
    """The topics of the store."""

    counts_once = True

    def __init__(self, store: Store) -> None:
        self._store = store

    def publish(self, topic: str, records: Sequence[TopicRecord]) -> list[int]:
        for record in records:
            check_record(topic, record)
        return self._store.append_topic(topic, records)

    def read(self, topic: str, *, offset: int, limit: int) -> TopicPage:
        """Records from an offset on; a negative one counts from the end. `NotFound` if nothing was ever published."""
        page = self._store.read_topic(topic, offset=max(offset, 0), limit=1 if offset < 0 else limit)
        if page is None:
            raise NotFound("topic", topic, "it is made when the first record is published")
        if offset >= 0:
            return page
        return self.read(topic, offset=max(page.topic.end + offset, 0), limit=limit)


def check_record(topic: str, record: TopicRecord) -> None:
    """Refuse what no topic can carry."""
    check_topic("topic", topic)
    encode_json("record", [record.key, record.value, record.headers], MAX_RECORD_BYTES)


def named_record(id: str, *, key: object, value: object, now: int) -> TopicRecord:
    """A record that says its id in its headers, so that whoever reads it can tell a repetition."""
    return TopicRecord(id=id, key=key, value=value, headers={MESSAGE_ID: id}, time=now)
