"""Brokers that go away and come back: nothing is acknowledged meanwhile, and what was before is there afterwards."""

from collections.abc import Iterator

import pytest

from rota.engine.topics.light.scheduler import DefinitionQuery
from rota.errors import StoreUnavailable
from rota.streaming.scheduler import KafkaScheduler
from tests.broker import KafkaBroker
from tests.servers import wait_until
from tests.streaming.conftest import own_broker
from tests.streaming.kafka import DEADLINE_S, Kafka

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
        instance.apply(kafka.command("before", frequency=EVERY_HOUR))
        instance.apply(kafka.command("often", frequency=OFTEN, start=0))
        kafka.tasks(3)

        broker.kill9()
        with pytest.raises(StoreUnavailable, match="the brokers did not"):
            instance.apply(kafka.command("during", frequency=EVERY_HOUR))
        with pytest.raises(StoreUnavailable):
            instance.find(DefinitionQuery("networknt.com", "before"))
        broker.start()
        wait_until(lambda: applies(kafka, instance, "after"), "a command to be taken", deadline_s=DEADLINE_S)

        assert [one.name for one in kafka.found(instance, "before")] == ["before"]
        assert [one.name for one in kafka.found(instance, "after")] == ["after"]
        assert kafka.changelog(kafka.options.dead_letter_topic) == {}, "brokers that are away refuse nothing"
        tasks = kafka.tasks(20)
        ids = [task.id for task in tasks]
        assert len(ids) == len(set(ids))


def applies(kafka: Kafka, instance: KafkaScheduler, name: str) -> bool:
    try:
        instance.apply(kafka.command(name, frequency=EVERY_HOUR))
    except StoreUnavailable:
        return False
    return True


def test_an_instance_may_start_before_its_brokers(broker: KafkaBroker) -> None:
    broker.kill9()
    with Kafka(broker.bootstrap) as kafka:
        instance = kafka.start()
        with pytest.raises(StoreUnavailable):
            instance.apply(kafka.command("early", frequency=EVERY_HOUR))
        assert instance.trouble is not None

        broker.start()
        wait_until(lambda: applies(kafka, instance, "early"), "a command to be taken", deadline_s=DEADLINE_S)

        assert [one.name for one in kafka.found(instance, "early")] == ["early"]
        wait_until(lambda: instance.trouble is None, "the trouble to be over", deadline_s=DEADLINE_S)
