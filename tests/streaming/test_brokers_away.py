"""Brokers that go away and come back: nothing is acknowledged meanwhile, and what was before is there afterwards."""

import os
import signal
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from rota.clock import SystemClock
from rota.engine.topics.light.scheduler import DefinitionQuery
from rota.errors import StoreUnavailable
from rota.streaming.restore import LATEST
from rota.streaming.scheduler import KafkaScheduler
from tests.broker import KafkaBroker
from tests.patience import LONG_DEADLINE_S
from tests.servers import wait_until
from tests.streaming.conftest import own_broker
from tests.streaming.kafka import Kafka, Reader, Task, task_of

OFTEN = {"timeUnit": "MILLISECONDS", "time": 200}
EVERY_HOUR = {"timeUnit": "HOURS", "time": 1}


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    """One that tests may kill, and start again."""
    with own_broker() as made:
        yield made


def test_while_the_brokers_are_away_nothing_is_acknowledged_and_afterwards_nothing_is_missing(
    broker: KafkaBroker,
) -> None:
    with Kafka(broker.bootstrap) as kafka:
        instance = kafka.started()
        kafka.change(instance, kafka.command("before", frequency=EVERY_HOUR))
        kafka.change(instance, kafka.command("often", frequency=OFTEN, start=0))
        kafka.tasks(3)

        broker.kill9()
        with pytest.raises(StoreUnavailable, match="the brokers did not"):
            instance.apply(kafka.command("during", frequency=EVERY_HOUR))
        with pytest.raises(StoreUnavailable):
            instance.find(DefinitionQuery("networknt.com", "before"))
        broker.start()
        wait_until(lambda: applies(kafka, instance, "after"), "a command to be taken")

        assert [one.name for one in kafka.found(instance, "before")] == ["before"]
        assert [one.name for one in kafka.found(instance, "after")] == ["after"]
        assert kafka.changelog(kafka.options.dead_letter_topic) == {}, "brokers that are away refuse nothing"
        tasks = kafka.tasks(20)
        ids = [task.id for task in tasks]
        assert len(ids) == len(set(ids))


def test_questions_are_answered_again_after_the_brokers_chose_a_leader_anew(broker: KafkaBroker) -> None:
    with Kafka(broker.bootstrap) as kafka:
        instance = kafka.started()
        kafka.change(instance, kafka.command("before", frequency=EVERY_HOUR))
        assert [one.name for one in kafka.found(instance, "before")] == ["before"]

        epoch = leader_epoch(kafka)
        while leader_epoch(kafka) == epoch:
            os.kill(broker.pid, signal.SIGSTOP)  # for longer than the controller waits for it, as a rule
            wait_until(lambda: instance.trouble is not None, "the silence to be noticed")
            os.kill(broker.pid, signal.SIGCONT)
            wait_until(lambda: instance.trouble is None, "the trouble to be over")

        assert [one.name for one in kafka.found(instance, "before")] == ["before"]


def leader_epoch(kafka: Kafka) -> int:
    """How often the leader of the first partition of commands was chosen."""
    place = TopicPartition(kafka.options.input_topic, 0)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    return int(admin.list_offsets({place: LATEST})[place].result().leader_epoch)


def applies(kafka: Kafka, instance: KafkaScheduler, name: str) -> bool:
    try:
        instance.apply(kafka.command(name, frequency=EVERY_HOUR))
    except StoreUnavailable:
        return False
    return True


def test_tasks_for_a_topic_whose_broker_is_away_wait_and_the_others_go_on(broker: KafkaBroker) -> None:
    with Kafka(broker.bootstrap) as kafka:
        first = kafka.started()
        for number in range(12):  # in every partition
            kafka.change(first, kafka.command(f"free-{number}", frequency=OFTEN))
        kafka.tasks(1)
        held_up = f"{kafka.due}-held-up"
        with broker.beside() as second_broker:
            wait_until(lambda: makes_topic_on(2, kafka, held_up), "the second broker")
            kafka.change(first, kafka.command("waits", topic=held_up, frequency=OFTEN))
            with Reader(broker.bootstrap, held_up) as reader:
                reader.read(1)

            second_broker.kill9()
            kafka.change(first, kafka.command("waits-once", topic=held_up))
            wait_until(lambda: is_behind(first, held_up), "the topic to be set aside")
            wait_for_later(kafka, kafka.due)
            # Whoever takes over knows what waits.
            first.close()
            heir = kafka.started()
            wait_for_later(kafka, kafka.due)
            second_broker.start()
            tasks = wait_for_later(kafka, held_up)

            instants = sorted(one.definition.start or 0 for one in tasks if one.definition.name == "waits")
            assert instants == list(range(instants[0], instants[-1] + 1, 200))
            assert [one.definition.name for one in tasks].count("waits-once") == 1
            assert kafka.changelog(kafka.options.dead_letter_topic) == {}
            wait_until(lambda: not is_behind(heir, held_up), "the topic to catch up")
            # No topic of another test is to be made on a broker that is gone.
            second_broker.stop()
            wait_until(
                lambda: len(kafka.admin.list_topics(timeout=LONG_DEADLINE_S).brokers) == 1,
                "it to go",
            )


def makes_topic_on(broker_id: int, kafka: Kafka, name: str) -> bool:
    """Whether a topic of one partition is on one broker. That is not possible before it is known to the other."""
    new = NewTopic(name, 1, replica_assignment=[[broker_id]])
    try:
        kafka.admin.create_topics([new])[name].result()
    except KafkaException as error:
        return bool(error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS)
    return True


def is_behind(instance: KafkaScheduler, topic: str) -> bool:
    return any(topic in one.position.behind for one in [*instance.stream.partitions.values()])


def wait_for_later(kafka: Kafka, topic: str) -> list[Task]:
    """What a topic has when there is a task for an instant that lies ahead now."""
    now = SystemClock().now()
    with Reader(kafka.bootstrap, topic) as reader:

        def tasks() -> list[Task]:
            return [task_of(one) for one in reader.read(0)]

        wait_until(lambda: any((one.definition.start or 0) > now for one in tasks()), topic)
        return tasks()


def test_an_instance_may_start_before_its_brokers(broker: KafkaBroker) -> None:
    broker.kill9()
    with Kafka(broker.bootstrap) as kafka:
        instance = kafka.start()
        with pytest.raises(StoreUnavailable):
            instance.apply(kafka.command("early", frequency=EVERY_HOUR))
        assert instance.trouble is not None

        broker.start()
        wait_until(lambda: applies(kafka, instance, "early"), "a command to be taken")

        assert [one.name for one in kafka.found(instance, "early")] == ["early"]
        wait_until(lambda: instance.trouble is None, "the trouble to be over")
