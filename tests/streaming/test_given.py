"""Where an instance goes on in partitions that it is given: it passes over no command and takes none twice."""

from collections.abc import Iterator
from threading import Event

import pytest
from confluent_kafka import Consumer, Message, TopicPartition
from msgspec import structs

from rota.streaming.scheduler import KafkaScheduler
from tests.broker import KafkaBroker
from tests.servers import wait_until
from tests.streaming.gate import Gate
from tests.streaming.kafka import PARTITIONS, Kafka

EVERY_DAY = {"timeUnit": "DAYS", "time": 1}
_NAMES = [f"n-{number}" for number in range(12)]  # in every partition
_LATER = [f"later-{number}" for number in range(12)]


def test_no_command_is_passed_over_by_a_late_answer_where_a_partition_ends(
    kafka: Kafka, shared_broker: KafkaBroker | None
) -> None:
    if shared_broker is None:
        pytest.skip("the brokers of KAFKA_BOOTSTRAP have no gate")
    with Gate(shared_broker) as gate:
        kafka.options = structs.replace(kafka.options, brokers=(gate.bootstrap,))
        instance = kafka.started()
        gate.let_through()
        for name in _NAMES:
            kafka.produce(kafka.command(name, frequency=EVERY_DAY))
        gate.open()
        wait_until(lambda: all(is_taken(kafka, instance, name) for name in _LATER), "commands")
        found = [len(kafka.found(instance, name)) for name in _NAMES]
        instance.close()

    assert found == [1] * len(_NAMES)


def test_an_instance_whose_questions_for_the_topic_were_lost_is_given_partitions_all_the_same(
    kafka: Kafka, shared_broker: KafkaBroker | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shared_broker is None:
        pytest.skip("the brokers of KAFKA_BOOTSTRAP have no gate")
    monkeypatch.setattr("rota.streaming.turns._SETTLES_S", 3600.0)  # by the client that it has, not by another one
    with Gate(shared_broker) as gate:
        gate.open()
        gate.cut(kafka.options.input_topic, times=3)  # librdkafka asks three times, and then no more
        kafka.options = structs.replace(kafka.options, brokers=(gate.bootstrap,))
        instance = kafka.started()
        instance.close()

    assert gate.cuts_left == 0


class ClosedLater(Consumer):
    """Closing it takes until somebody allows it, as it may when librdkafka is stuck."""

    may_close = Event()

    def close(self) -> None:
        self.may_close.wait()
        super().close()


@pytest.fixture
def closed_later(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Consumers of streams, while the test runs."""
    monkeypatch.setattr("rota.streaming.stream.Consumer", ClosedLater)
    monkeypatch.setattr("rota.streaming.stream._LEAVE_S", 0.1)
    monkeypatch.setattr(ClosedLater, "may_close", Event())
    yield
    ClosedLater.may_close.set()


def test_an_instance_that_the_group_never_answers_asks_with_another_client_and_is_given_partitions(
    kafka: Kafka, shared_broker: KafkaBroker | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shared_broker is None:
        pytest.skip("the brokers of KAFKA_BOOTSTRAP have no gate")
    monkeypatch.setattr("rota.streaming.turns._SETTLES_S", 1.0)  # it is longer each time, if the machine is slow
    with Gate(shared_broker) as gate:
        gate.open()
        gate.keep_out_next()
        kafka.options = structs.replace(kafka.options, brokers=(gate.bootstrap,), session_timeout_s=4.0)
        instance = kafka.started()
        kafka.change(instance, kafka.command("n-1", frequency=EVERY_DAY))
        found = kafka.found(instance, "n-1")
        instance.close()

    assert (gate.has_kept_out, len(found)) == (True, 1)


def test_a_client_that_does_not_end_keeps_its_instance_neither_from_asking_with_another_one_nor_from_its_end(
    kafka: Kafka, shared_broker: KafkaBroker | None, monkeypatch: pytest.MonkeyPatch, closed_later: None
) -> None:
    if shared_broker is None:
        pytest.skip("the brokers of KAFKA_BOOTSTRAP have no gate")
    monkeypatch.setattr("rota.streaming.turns._SETTLES_S", 1.0)
    with Gate(shared_broker) as gate:
        gate.open()
        gate.keep_out_next()
        kafka.options = structs.replace(kafka.options, brokers=(gate.bootstrap,), session_timeout_s=4.0)
        instance = kafka.started()
        instance.close()

        assert not instance.stream._thread.is_alive()
        ClosedLater.may_close.set()


def is_taken(kafka: Kafka, instance: KafkaScheduler, name: str) -> bool:
    """Sends a command, and tells whether it was taken."""
    kafka.produce(kafka.command(name, frequency=EVERY_DAY))
    return bool(kafka.found(instance, name))


def test_commands_that_are_gone_from_the_topic_are_not_waited_for(kafka: Kafka) -> None:
    """The first offset, at which librdkafka begins, is not there any more."""
    first = kafka.started()
    for name in _NAMES:
        first.apply(kafka.command(name, frequency=EVERY_DAY))
        kafka.await_found(first, name, 1)
    first.close()
    topic = kafka.options.input_topic
    gone = kafka.admin.delete_records([TopicPartition(topic, number, -1) for number in range(PARTITIONS)])
    assert all(answer.result().low_watermark > 0 for answer in gone.values())

    second = kafka.started()
    second.apply(kafka.command("later", frequency=EVERY_DAY))

    assert [len(kafka.found(second, name)) for name in ("later", *_NAMES)] == [1] * (1 + len(_NAMES))


def test_commands_that_come_once_more_are_not_taken_twice(kafka: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
    to_go_back: list[TopicPartition] = []

    class GoingBack(Consumer):
        def poll(self, timeout: float = -1) -> Message | None:
            while to_go_back:
                self.seek(to_go_back.pop())
            return super().poll(timeout)

    monkeypatch.setattr("rota.streaming.stream.Consumer", GoingBack)
    instance = kafka.started()
    instance.apply(kafka.command("once", start=1_700_000_000_000))
    kafka.tasks(1)
    kafka.await_found(instance, "once", 0)
    to_go_back += [TopicPartition(kafka.options.input_topic, number, 0) for number in range(PARTITIONS)]
    wait_until(lambda: not to_go_back, "the consumer to go back")
    kafka.produce(kafka.command("later", start=1_700_000_000_000))

    assert sorted(task.definition.name for task in kafka.tasks(2)) == ["later", "once"]
