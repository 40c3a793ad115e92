"""The native JSON of topics and their records."""

from msgspec import Struct

from rota.model.topics.topic import MESSAGE_ID, TopicRecord
from rota.shapes.codec import As, Codec
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


_TOPIC = Codec(TopicEntry, TopicShape, first_offset=As("first"), next_offset=As("end"))
_RECORD = Codec(TopicRecord, RecordShape, timestamp=As("time"))

topic_shape = _TOPIC.shape
topic_of = _TOPIC.value


def record_shape(row: TopicRow) -> RecordShape:
    return _RECORD.shape(row.record, offset=row.offset)


def topic_row_of(shape: RecordShape) -> TopicRow:
    """Its id is among the headers, if it is told at all."""
    return TopicRow(shape.offset, _RECORD.value(shape, id=shape.headers.get(MESSAGE_ID, "")))
