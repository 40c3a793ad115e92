"""Sends single records and waits until the brokers have them: commands, and what jobs publish."""

import logging
from collections.abc import Sequence
from threading import Event, Lock
from typing import NamedTuple

import msgspec
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient

from rota.clock import Clock, SystemClock
from rota.engine.topics.topics import MAX_RECORD_BYTES
from rota.errors import InvalidInput, RotaError, StoreUnavailable
from rota.model.limits import encode_json
from rota.model.topics.topic import TopicRecord, check_topic
from rota.streaming.brokers.refusals import TOO_LARGE
from rota.streaming.brokers.topics import Topics
from rota.streaming.options import StreamOptions

_SEND_MS = 5_000
_MOST_WAIT_S = 20.0
_LOOK_S = 0.1
_logger = logging.getLogger("rota.streaming")


class Outgoing(NamedTuple):
    """A record that is to be sent."""

    key: bytes | None
    value: bytes
    partition: int = -1
    headers: dict[str, str | bytes | None] | None = None


class Sender:
    """Any thread may send. The brokers are looked for when the first record is sent."""

    def __init__(self, options: StreamOptions) -> None:
        self._options = options
        self._clock = SystemClock()
        self._lock = Lock()
        self._producer: Producer | None = None

    def close(self) -> None:
        """Let the connections go; whoever still waits for an answer gets it."""
        with self._lock:
            self._producer = None

    def _made(self) -> Producer:
        with self._lock:
            if self._producer is None:
                own = {"enable.idempotence": True, "message.timeout.ms": _SEND_MS, "linger.ms": 1}
                self._producer = Producer(self._options.client(own))
            return self._producer

    def send(self, topic: str, record: Outgoing) -> int:
        """Returns the offset when the brokers have it; `StoreUnavailable` if they have not told so in time."""
        (fate,) = self.send_all(topic, [record])
        if isinstance(fate, RotaError):
            raise fate
        return fate

    def send_all(self, topic: str, records: Sequence[Outgoing]) -> list[int | RotaError]:
        """The fate of each record: its offset, or why the brokers have not got it, or not told so."""
        fates = self._try_all(topic, records)
        large = [number for number, fate in enumerate(fates) if isinstance(fate, InvalidInput)]
        if len(large) > 1:
            # They were perhaps in one batch, and nobody knows which one of them is too large.
            for number in large:
                (fates[number],) = self._try_all(topic, [records[number]])
        return fates

    def _try_all(self, topic: str, records: Sequence[Outgoing]) -> list[int | RotaError]:
        producer = self._made()
        answers = [_Answer(topic) for _ in records]
        for record, answer in zip(records, answers, strict=True):
            _produce(producer, topic, record, answer)
        deadline = self._clock.monotonic() + _MOST_WAIT_S
        for answer in answers:
            _wait_for(producer, answer, self._clock, deadline)
        fates = [answer.fate for answer in answers]
        if any(answer.is_fatal for answer in answers):
            _logger.warning("a producer is made anew after a fatal error")
            self._give_up(producer)
        elif all(isinstance(fate, StoreUnavailable) for fate in fates):
            self._give_up(producer)
        return fates

    def _give_up(self, failed: Producer) -> None:
        """A producer that met a fatal error can do nothing more; and one that got nothing through may have forgotten
        all brokers for good (issue 5301 of librdkafka)."""
        with self._lock:
            if self._producer is failed:
                self._producer = None


def _wait_for(producer: Producer, answer: "_Answer", clock: Clock, deadline: float) -> None:
    """Until it is there: librdkafka gives one in `_SEND_MS`, and should it not, nobody waits for ever."""
    while not answer.is_there.is_set():
        if clock.monotonic() >= deadline:
            answer.give(StoreUnavailable("nobody knows whether the brokers took a record; try again"))
            return
        try:
            producer.poll(_LOOK_S)
        except KafkaException as error:
            answer.refuse(error.args[0])  # only a fatal one is raised


def _produce(producer: Producer, topic: str, record: Outgoing, answer: "_Answer") -> None:
    key, value, partition, headers = record
    try:
        producer.produce(
            topic, key=key, value=value, partition=partition, headers=headers or {}, on_delivery=answer.take
        )
    except BufferError:
        answer.give(StoreUnavailable("too many records wait for the brokers; try again"))
    except KafkaException as error:
        answer.refuse(error.args[0])


class _Answer:
    """What becomes of one record."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self.is_there = Event()
        self.is_fatal = False
        self.fate: int | RotaError = -1

    def take(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.give(message.offset() or 0)
        else:
            self.refuse(error)

    def refuse(self, error: KafkaError) -> None:
        self.is_fatal = error.fatal() or error.code() == KafkaError._FATAL
        if error.code() in TOO_LARGE:
            self.give(InvalidInput("record", f"is too large for topic {self._topic}: {error.str()}"))
        else:
            self.give(StoreUnavailable(f"the brokers did not take a record for {self._topic}: {error.str()}"))

    def give(self, fate: int | RotaError) -> None:
        self.fate = fate
        self.is_there.set()


class KafkaPublisher:
    """What jobs publish, as JSON. Kafka does not look for the id of a record, so one that is tried again may be there
    twice; its id is among its headers."""

    counts_once = False

    def __init__(self, options: StreamOptions) -> None:
        self._options = options
        self._sender = Sender(options)
        self._topics: Topics | None = None
        """Of a client that was always answered."""

    def publish(self, topic: str, records: Sequence[TopicRecord]) -> Sequence[int | RotaError]:
        check_topic("topic", topic)
        for record in records:
            encode_json("record", [record.key, record.value, record.headers], MAX_RECORD_BYTES)
        self._ensure(topic)
        fates = self._sender.send_all(topic, [_outgoing(record) for record in records])
        if any(isinstance(fate, StoreUnavailable) for fate in fates):
            self._topics = None  # which looks for the topic again
        return fates

    def _ensure(self, topic: str) -> None:
        topics = self._topics or Topics(self._options, AdminClient(self._options.client()))
        try:
            error = topics.ensure([topic]).get(topic)
        except KafkaException as away:
            self._topics, error = None, away.args[0]
        else:
            self._topics = topics
        if error is not None:
            raise StoreUnavailable(f"topic {topic} cannot be reached: {error.str()}")


def _outgoing(record: TopicRecord) -> Outgoing:
    key = None if record.key is None else msgspec.json.encode(record.key)
    return Outgoing(key, msgspec.json.encode(record.value), headers={**record.headers})
