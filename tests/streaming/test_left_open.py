"""The topics that an instance makes, and what becomes of transactions that a dead one left open."""

from contextlib import closing
from threading import enumerate as enumerate_threads

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import ConfigResource, ResourceType  # type: ignore[attr-defined]

from rota.streaming.fencing import _fence_former_owners
from rota.streaming.records.position import Cursor
from tests.patience import LONG_DEADLINE_S
from tests.servers import wait_until
from tests.streaming.kafka import PARTITIONS, Kafka

KEPT = ("cleanup.policy", "message.timestamp.type")


def kept(kafka: Kafka, name: str) -> tuple[str, ...]:
    """How a topic keeps its records."""
    resource = ConfigResource(ResourceType.TOPIC, name)
    found = kafka.admin.describe_configs([resource])[resource].result()
    return tuple(str(found[one].value) for one in KEPT)


def test_changelogs_keep_the_last_record_of_each_key_for_ever_and_the_others_are_as_the_brokers_like(
    kafka: Kafka,
) -> None:
    """Otherwise definitions would be gone after a week, or be in force since the time of the brokers."""
    options = kafka.options
    instance = kafka.started()
    kafka.change(instance, kafka.command("once", start=1_700_000_000_000))
    kafka.tasks(1)

    topics = kafka.admin.list_topics(timeout=LONG_DEADLINE_S).topics
    counts = {name: len(topics[name].partitions) for name in topics if name.startswith(options.input_topic)}

    own = (options.input_topic, *options.changelogs, kafka.due)
    assert counts == {**dict.fromkeys(own, PARTITIONS), options.dead_letter_topic: 1}
    assert {kept(kafka, name) for name in options.changelogs} == {("compact", "CreateTime")}
    assert {kept(kafka, name)[0] for name in (options.input_topic, options.dead_letter_topic, kafka.due)} == {"delete"}


def test_whoever_takes_over_ends_the_open_transaction_of_a_dead_owner_and_of_no_member(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it is ended nobody reads on in its topics, and that of a member is nobody else's business."""
    monkeypatch.setattr("rota.streaming.fencing._FENCE_S", LONG_DEADLINE_S)
    monkeypatch.setattr("rota.streaming.fencing._TIMEOUT_S", LONG_DEADLINE_S)
    options = kafka.options
    for name in (options.input_topic, kafka.due):
        kafka.make_topic(name, {})
    owners = {name: open_transaction(kafka, name) for name in ("dead.3", "alive.1")}
    with closing(Consumer(options.client({"group.id": options.group}))) as consumer:
        places = [
            TopicPartition(options.input_topic, number, 0, metadata=Cursor(5, b"k", owner).to_text())
            for number, owner in enumerate(owners)
        ]
        consumer.commit(offsets=places, asynchronous=False)
    member = Consumer(options.client({"group.id": options.group, "client.id": options.client_id("alive")}))
    member.subscribe([options.input_topic])
    wait_until(lambda: member.poll(0.1) is None and bool(member.assignment()), "a member of the group")

    _fence_former_owners(options, [0, 1])
    for thread in enumerate_threads():
        if thread.name == "rota-fence":
            thread.join(LONG_DEADLINE_S)

    assert [name for name, producer in owners.items() if not commits(producer)] == ["dead.3"]
    member.close()


def open_transaction(kafka: Kafka, owner: str) -> Producer:
    config = {"transactional.id": kafka.options.transactional_id(owner), "transaction.timeout.ms": 900_000}
    producer = Producer(kafka.options.client(config))
    producer.init_transactions(LONG_DEADLINE_S)
    producer.begin_transaction()
    producer.produce(kafka.due, b"open")
    assert producer.flush(LONG_DEADLINE_S) == 0
    return producer


def commits(producer: Producer) -> bool:
    """Whether it can still end what it began."""
    try:
        producer.commit_transaction(LONG_DEADLINE_S)
    except KafkaException as error:
        if error.args[0].code() != KafkaError._FENCED:
            raise
        return False
    return True
