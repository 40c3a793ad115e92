"""The native JSON of topics and their records."""

from msgspec import Struct

from rota.store.contract.topics import TopicEntry, TopicRow


class TopicShape(Struct, frozen=True):
    """A topic: the offset of its oldest record, and the one that the next record gets."""

    name: str
    first_offset: int
    next_offset: int


class RecordShape(Struct, frozen=True):
    """A record of a topic."""

    offset: int
    timestamp: int
    key: object
    value: object
    headers: dict[str, str]


def topic_shape(topic: TopicEntry) -> TopicShape:
    return TopicShape(topic.name, topic.first, topic.end)


def record_shape(row: TopicRow) -> RecordShape:
    record = row.record
    return RecordShape(row.offset, record.time, record.key, record.value, record.headers)
