"""Sends single records and waits until the brokers have them: commands, and what jobs publish."""

from collections.abc import Sequence
from threading import Event

import msgspec
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient

from rota.engine.topics.topics import MAX_RECORD_BYTES
from rota.errors import InvalidInput, StoreUnavailable
from rota.model.limits import encode_json
from rota.model.topics.topic import TopicRecord, check_topic
from rota.streaming.brokers.topics import Topics
from rota.streaming.options import StreamOptions

_SEND_MS = 5_000
_LOOK_S = 0.1


class Sender:
    """Any thread may send."""

    def __init__(self, options: StreamOptions) -> None:
        self._producer = Producer(
            options.client({"enable.idempotence": True, "message.timeout.ms": _SEND_MS, "linger.ms": 1})
        )

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes,
        *,
        partition: int = -1,
        headers: dict[str, str | bytes | None] | None = None,
    ) -> int:
        """Returns the offset when the brokers have it; `StoreUnavailable` if they have not told so in time."""
        answer = _Answer()
        try:
            self._producer.produce(
                topic, key=key, value=value, partition=partition, headers=headers or {}, on_delivery=answer.take
            )
        except BufferError:
            raise StoreUnavailable("too many records wait for the brokers; try again") from None
        except KafkaException as error:
            raise InvalidInput("record", f"the brokers would not take it: {error.args[0].str()}") from None
        while not answer.is_there.is_set():
            self._producer.poll(_LOOK_S)
        if answer.error is not None:
            raise StoreUnavailable(f"the brokers did not take a record for {topic}: {answer.error.str()}")
        return answer.offset


class _Answer:
    """What becomes of one record."""

    def __init__(self) -> None:
        self.is_there = Event()
        self.error: KafkaError | None = None
        self.offset = -1

    def take(self, error: KafkaError | None, message: Message) -> None:
        self.error = error
        self.offset = message.offset() or 0
        self.is_there.set()


class KafkaPublisher:
    """What jobs publish, as JSON. Kafka does not look for the id of a record, so one that is tried again may be there
    twice; its id is among its headers."""

    def __init__(self, options: StreamOptions) -> None:
        self._sender = Sender(options)
        self._topics = Topics(options, AdminClient(options.client()))

    def publish(self, topic: str, records: Sequence[TopicRecord]) -> list[int]:
        check_topic("topic", topic)
        for record in records:
            encode_json("record", [record.key, record.value, record.headers], MAX_RECORD_BYTES)
        try:
            self._topics.ensure([topic])
        except KafkaException as error:
            raise StoreUnavailable(f"topic {topic} cannot be reached: {error.args[0].str()}") from None
        return [self._publish(topic, record) for record in records]

    def _publish(self, topic: str, record: TopicRecord) -> int:
        key = None if record.key is None else msgspec.json.encode(record.key)
        return self._sender.send(topic, key, msgspec.json.encode(record.value), headers={**record.headers})
