"""Single rounds of a stream, on the cluster that librdkafka has built in: what they send, and what one that was aborted
leaves as it was."""

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from rota.clock import ManualClock
from rota.model.topics.light.definition import TaskDefinition
from rota.streaming.brokers.complaints import Complaints
from rota.streaming.brokers.refusals import Failures
from rota.streaming.brokers.topics import Topics
from rota.streaming.brokers.transactions import RoundAborted, Transactions
from rota.streaming.partition import Partition
from rota.streaming.records.codec import encode_definition, encode_key
from rota.streaming.records.entry import entry_of
from rota.streaming.records.keys import partition_of
from rota.streaming.records.position import BEGINNING, POSITION_KEY, Position, encode_position
from rota.streaming.round import Rounds
from rota.streaming.stream import Stream
from tests.patience import LONG_DEADLINE_S
from tests.servers import wait_until
from tests.streaming.kafka import PARTITIONS, Kafka, Reader, task_of
from tests.streaming.test_partition import NOW, partition_with

EACH_MS = {"timeUnit": "MILLISECONDS", "time": 1}


class Bench:
    """The rounds of one instance, and a consumer that is not in its group yet."""

    def __init__(self, kafka: Kafka) -> None:
        self.kafka = kafka
        options = kafka.options
        self.transactions = Transactions(options, "one", lambda reason: True, Complaints(ManualClock()))
        self.transactions.open()
        self.rounds = Rounds(
            options, self.transactions, Topics(options, AdminClient(options.client())), partitions=PARTITIONS
        )
        self.consumer = Consumer(Stream(options, ManualClock())._consumer_options("one"))

    def close(self) -> None:
        self.transactions.close()
        self.consumer.close()

    def run(self, partition: Partition, *messages: Message, now: int = NOW) -> None:
        self.rounds.run([partition], [*messages], self.consumer.consumer_group_metadata(), now)

    def leave(self, partition: Partition) -> None:
        self.rounds.leave([partition], self.consumer.consumer_group_metadata(), NOW)

    def message(self, command: TaskDefinition, offset: int = 0) -> Message:
        """A command as the consumer gets it, from the partition of its key."""
        return self.record(encode_key(command.key), encode_definition(command), home_of(command), offset)

    def record(self, key: bytes, value: bytes, partition: int, offset: int = 0) -> Message:
        return Message(self.kafka.options.input_topic, partition, offset, key, value)

    def positions(self) -> list[bytes | None]:
        """What is recorded of how far partitions are."""
        with Reader(self.kafka.bootstrap, self.kafka.options.changelog(None)) as reader:
            return [one.value() for one in reader.read_all() if one.key() == POSITION_KEY]


@pytest.fixture
def bench(mock: Kafka, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr("rota.streaming.brokers.topics._TIMEOUT_S", LONG_DEADLINE_S)
    made = Bench(mock)
    yield made
    made.close()


def home_of(command: TaskDefinition) -> int:
    return partition_of(encode_key(command.key), PARTITIONS)


def with_definition(command: TaskDefinition) -> Partition:
    """Its partition, in which it is in force."""
    partition = Partition(home_of(command), Position(0))
    partition.definitions = {encode_key(command.key): entry_of(command)}
    partition.start()
    return partition


def test_a_round_that_could_not_be_sent_leaves_everything_as_it_was(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = f"{bench.kafka.due}-missing"  # this cluster makes a topic for whoever asks for it, but not on request
    partition = with_definition(bench.kafka.command("once", start=NOW, topic=missing))
    later = bench.message(bench.kafka.command("once", start=NOW + 9_000, topic=missing))

    with monkeypatch.context() as patch:
        patch.setattr("rota.streaming.brokers.topics._TIMEOUT_S", 0.2)
        with pytest.raises(RoundAborted):
            bench.run(partition, later)
    assert (partition.position, partition.next_due, partition.recorded) == (Position(0), NOW, None)
    bench.kafka.admin.list_topics(missing, timeout=LONG_DEADLINE_S)
    bench.run(partition, later)

    assert (partition.position.offset, partition.position.cursor.instant) == (1, NOW)
    with Reader(bench.kafka.bootstrap, missing) as reader:
        assert [task_of(one).definition.start for one in reader.read_all()] == [NOW]


def test_a_definition_that_is_changed_while_it_fires_neither_loses_nor_repeats_an_instant(bench: Bench) -> None:
    command = bench.kafka.command("busy", frequency=EACH_MS, start=NOW - 2)
    partition = with_definition(command)

    for offset in range(3):
        bench.run(partition, bench.message(command, offset), now=NOW + offset)
    bench.run(partition, now=NOW + 5)

    with Reader(bench.kafka.bootstrap, bench.kafka.due) as reader:
        instants = [task_of(one).definition.start for one in reader.read_all()]
    assert instants == [*range(NOW - 2, NOW + 6)]


def test_how_far_a_partition_is_gets_recorded_with_each_command_and_else_every_ten_seconds(bench: Bench) -> None:
    command = bench.kafka.command("often", frequency={"timeUnit": "MILLISECONDS", "time": 1_000}, start=NOW)
    partition = with_definition(command)
    recorded = []

    for offset, seconds in [(None, 0), (None, 1), (None, 9), (None, 10), (0, 11), (None, 12), (None, 20), (None, 21)]:
        before = partition.recorded
        messages = [] if offset is None else [bench.message(command, offset)]
        bench.run(partition, *messages, now=NOW + 1_000 * seconds)
        recorded += [] if partition.recorded is before else [seconds]

    assert recorded == [0, 10, 11, 21]
    assert len(bench.positions()) == 4
    assert bench.positions()[-1] == encode_position(partition.position)


def test_whoever_leaves_records_what_is_not_recorded_yet_and_only_that(bench: Bench) -> None:
    partition = with_definition(bench.kafka.command("often", frequency={"timeUnit": "SECONDS", "time": 1}, start=NOW))
    bench.run(partition)

    bench.leave(partition)
    assert len(bench.positions()) == 1
    bench.run(partition, now=NOW + 1_000)
    bench.leave(partition)

    assert bench.positions()[1:] == [encode_position(partition.position)]


def test_what_cannot_even_be_a_dead_letter_is_in_the_log_and_stops_nobody(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    refused = Failures()
    refused.add(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), bench.kafka.options.dead_letter_topic, None)
    bench.rounds.learn(refused, NOW)
    partition = Partition(0, Position(7))

    bench.run(partition, bench.record(b"k", b"rubbish", 0, offset=7))

    assert partition.position == Position(8, BEGINNING)
    assert "a dead letter is lost" in caplog.messages
    assert bench.kafka.changelog(bench.kafka.options.dead_letter_topic) == {}


def test_a_dead_letter_names_the_record_and_has_as_much_of_it_as_can_be_sent(bench: Bench) -> None:
    bench.run(Partition(2, Position(7)), bench.record(b"k" * 60_000, b"v" * 950_000, 2, offset=7))

    with Reader(bench.kafka.bootstrap, bench.kafka.options.dead_letter_topic) as reader:
        (letter,) = reader.read_all()
    assert (len(letter.key() or b""), len(letter.value() or b"")) == (50_000, 900_000)
    headers: Any = letter.headers()
    assert dict(headers)["record"].decode() == f"{bench.kafka.options.input_topic}/2/7"


def test_a_round_shares_what_it_may_send_among_the_partitions_in_which_something_is_due(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.streaming.round.MAX_FIRES", 10)

    def partition(start: int) -> Partition:
        entry = entry_of(bench.kafka.command("n", frequency={"timeUnit": "HOURS", "time": 1}, start=start))
        return partition_with({str(number).encode(): entry_of(entry.definition) for number in range(20)})

    partitions = [partition(NOW), partition(NOW), partition(NOW + 1)]

    work = bench.rounds._plan(partitions, [], NOW)

    assert [len(one.fires) for one in work] == [5, 5]


def test_after_an_aborted_round_the_consumer_reads_its_commands_again(bench: Bench) -> None:
    """Otherwise the next round would go on behind them, and nobody would ever carry them out."""
    topic = bench.kafka.options.input_topic
    commands = [bench.kafka.command(f"n-{number}", frequency={"timeUnit": "DAYS", "time": 1}) for number in range(3)]
    for command in commands:
        bench.kafka.produce_raw(encode_key(command.key), encode_definition(command), 1)
    stream = Stream(bench.kafka.options, ManualClock())
    stream.partitions = {1: Partition(1, Position(0))}
    bench.consumer.assign([TopicPartition(topic, 1, 0)])
    first = read(stream, bench.consumer, 3)
    wait_until(lambda: not stream._poll(bench.consumer) and 1 in stream._ends, "the end of the partition")

    stream._seek_back(bench.consumer, first)

    assert stream._ends == {}, "it is not reached yet"
    bench.kafka.produce_raw(b"k", b"the last one", 1)
    assert offsets_of(read(stream, bench.consumer, 4)) == [*offsets_of(first), 3] == [0, 1, 2, 3]


def read(stream: Stream, consumer: Consumer, until: int) -> list[Message]:
    """Commands up to an offset."""
    found: list[Message] = []

    def is_enough() -> bool:
        found.extend(stream._poll(consumer))
        return bool(found) and (found[-1].offset() or 0) + 1 >= until

    wait_until(is_enough, "the commands")
    return found


def offsets_of(messages: list[Message]) -> list[int | None]:
    return [one.offset() for one in messages]


def test_the_consumer_of_an_instance_commits_nothing_by_itself(bench: Bench) -> None:
    """An offset without its cursor would have tasks sent twice, and one before its transaction lose commands."""
    topic = bench.kafka.options.input_topic
    bench.kafka.produce_raw(b"k", b"v", 0)
    stream = Stream(bench.kafka.options, ManualClock())
    stream.partitions = {0: Partition(0, Position(0))}
    consumer = Consumer(stream._consumer_options("two"))
    consumer.assign([TopicPartition(topic, 0, 0)])
    read(stream, consumer, 1)

    consumer.close()

    (place,) = bench.consumer.committed([TopicPartition(topic, 0)], LONG_DEADLINE_S)
    assert place.offset < 0
