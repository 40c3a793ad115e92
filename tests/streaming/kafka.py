"""What tests of the stream need: instances of one light scheduler, and other programs' producers and consumers."""

import gc
from contextlib import ExitStack, suppress
from functools import cached_property
from types import TracebackType
from typing import Any, NamedTuple, Self
from uuid import uuid4

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from rota.clock import SystemClock
from rota.engine.topics.light.scheduler import DefinitionQuery
from rota.errors import NotFound, StoreUnavailable
from rota.model.topics.light.definition import TaskDefinition, read_definition
from rota.model.topics.topic import MESSAGE_ID
from rota.streaming.options import StreamOptions
from rota.streaming.records.codec import decode_definition, encode_definition, encode_key
from rota.streaming.scheduler import KafkaScheduler
from tests.patience import LONG_DEADLINE_S
from tests.servers import wait_until

PARTITIONS = 4


class Task(NamedTuple):
    """A due task as its consumer sees it."""

    id: str
    definition: TaskDefinition
    message: Message


class Kafka:
    """One light scheduler on a broker."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.options = StreamOptions(
            brokers=(bootstrap,),
            input_topic=f"light-{uuid4().hex[:8]}",
            partitions=PARTITIONS,
            replication=1,
            session_timeout_s=15.0,
        )
        self.due = f"{self.options.input_topic}-due"
        """A topic for due tasks."""
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    @cached_property
    def _producer(self) -> Producer:
        return self._open.enter_context(Producer({"bootstrap.servers": self.bootstrap}))

    @cached_property
    def admin(self) -> AdminClient:
        return self._open.enter_context(AdminClient({"bootstrap.servers": self.bootstrap}))

    def start(self) -> KafkaScheduler:
        """An instance in this process; it ends with the test, or before."""
        instance = KafkaScheduler(self.options, SystemClock())
        instance.start()
        self._open.callback(instance.close)
        return instance

    def started(self) -> KafkaScheduler:
        """An instance that has all partitions."""
        instance = self.start()
        wait_until(lambda: len(instance.stream.partitions) == PARTITIONS, "all partitions")
        return instance

    def command(self, name: str, **fields: Any) -> TaskDefinition:
        """A command for the topic of due tasks."""
        return read_definition({"host": "networknt.com", "name": name, "topic": self.due, **fields})

    def change(self, instance: KafkaScheduler, command: TaskDefinition) -> None:
        """Have a command taken, as a client does: whoever asks while partitions change hands is told to come
        again. What nobody said in time to be taken may have been taken all the same."""
        is_repeated = False

        def is_taken() -> bool:
            nonlocal is_repeated
            try:
                instance.apply(command)
            except StoreUnavailable:
                is_repeated = True
                return False
            except NotFound:
                if not is_repeated:
                    raise
            return True

        wait_until(is_taken, f"{command.action} of {command.name} to be taken")

    def produce(self, command: TaskDefinition) -> None:
        """As another program does, which knows nothing of Rota."""
        self.produce_raw(encode_key(command.key), encode_definition(command))

    def produce_raw(
        self, key: bytes | None, value: bytes | None, partition: int = -1, *, topic: str | None = None
    ) -> None:
        self._producer.produce(topic or self.options.input_topic, key=key, value=value, partition=partition)
        assert self._producer.flush(LONG_DEADLINE_S) == 0

    def make_topic(self, name: str, config: dict[str, str], partitions: int = PARTITIONS) -> None:
        """Returns when brokers that are asked know of it."""
        new = NewTopic(name, partitions, 1, config=config)
        self.admin.create_topics([new])[name].result()
        wait_until(
            lambda: name in self.admin.list_topics(timeout=LONG_DEADLINE_S).topics,
            f"topic {name}",
        )

    def ask_for_topics(self) -> None:
        """A mock makes a topic that somebody asks for, and in no other way."""
        options = self.options
        for name in (options.input_topic, *options.changelogs, options.dead_letter_topic, self.due):
            self.admin.list_topics(name, timeout=LONG_DEADLINE_S)

    def remove_topic(self, name: str) -> None:
        self.admin.delete_topics([name])[name].result()

    def found(self, instance: KafkaScheduler, name: str) -> list[TaskDefinition]:
        """What an instance finds by name, when it can answer."""
        pages: list[list[TaskDefinition]] = []

        def ask() -> bool:
            with suppress(StoreUnavailable):
                pages.append(instance.find(DefinitionQuery("networknt.com", name)).definitions)
            return bool(pages)

        wait_until(ask, f"an answer about {name}")
        return pages[0]

    def await_found(self, instance: KafkaScheduler, name: str, count: int) -> None:
        """Wait for a command that another program sent."""
        wait_until(lambda: len(self.found(instance, name)) == count, f"the command for {name}")

    def tasks(self, count: int) -> list[Task]:
        """The first due tasks, as a plain consumer that reads what is committed sees them."""
        with Reader(self.bootstrap, self.due) as reader:
            return [task_of(message) for message in reader.read(count)]

    def count(self, topic: str) -> int:
        """How many records a topic has."""
        with Reader(self.bootstrap, topic) as reader:
            return len(reader.read_all())

    def dead_letters(self, count: int) -> list[Message]:
        with Reader(self.bootstrap, self.options.dead_letter_topic) as reader:
            return reader.read(count)

    def changelog(self, name: str) -> dict[bytes, bytes | None]:
        """The last value of each key of a changelog."""
        with Reader(self.bootstrap, name) as reader:
            return {message.key() or b"": message.value() for message in reader.read_all()}


class Reader:
    """A consumer of all partitions of a topic from their beginning, in no group."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._topic = topic
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"reader-{uuid4()}",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
            }
        )
        self.messages: list[Message] = []

    def __enter__(self) -> Self:
        wait_until(self._assign, f"the topic {self._topic}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._consumer.close()

    def read(self, count: int) -> list[Message]:
        """All so far, at least so many."""
        wait_until(lambda: self._poll() >= count, f"{count} records of {self._topic}")
        return self.messages

    def read_all(self) -> list[Message]:
        """All that were there when this began, and perhaps some more."""
        ends = {number: self._end_of(number) for number in self._numbers()}

        def is_done() -> bool:
            for message in self._consumer.consume(10_000, 0.1):
                if message.error() is None:
                    self.messages.append(message)
                # Behind the last record there may be the mark of its transaction, which nobody is shown: then the end
                # of the partition is told, unless there is more by then.
                if message.error() is not None or (message.offset() or 0) >= ends.get(message.partition() or 0, 0) - 1:
                    ends.pop(message.partition() or 0, None)
            return not ends

        wait_until(is_done, f"the end of {self._topic}")
        return self.messages

    def _end_of(self, number: int) -> int:
        _, end = self._consumer.get_watermark_offsets(TopicPartition(self._topic, number), LONG_DEADLINE_S)
        return end

    def _poll(self) -> int:
        found = self._consumer.consume(10_000, 0.1)
        self.messages += [message for message in found if message.error() is None]
        return len(self.messages)

    def _numbers(self) -> list[int]:
        return [*self._consumer.list_topics(self._topic, timeout=LONG_DEADLINE_S).topics[self._topic].partitions]

    def _assign(self) -> bool:
        numbers = self._numbers()
        self._consumer.assign([TopicPartition(self._topic, number, 0) for number in numbers])
        return bool(numbers)


def living_clients() -> set[int]:
    """Which clients have connections now. A consumer that is closed has none, so those are not looked for. Objects are
    not asked for their class: there are some, of other libraries, that do much to answer."""
    return {id(one) for one in gc.get_objects() if issubclass(type(one), Producer | AdminClient)}


def task_of(message: Message) -> Task:
    return Task(header_of(message, MESSAGE_ID), decode_definition(message.value() or b""), message)


def header_of(message: Message, name: str) -> str:
    headers = message.headers()
    assert isinstance(headers, list)
    (found,) = [value for key, value in headers if key == name]
    assert isinstance(found, bytes)
    return found.decode()
