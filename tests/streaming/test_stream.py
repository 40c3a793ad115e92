"""The thread of an instance, as far as it needs no brokers."""

from confluent_kafka import Consumer, TopicPartition

from rota.clock import SystemClock
from rota.streaming.options import StreamOptions
from rota.streaming.partition import Partition
from rota.streaming.records.position import Position
from rota.streaming.stream import Stream

NOBODY = "127.0.0.1:1"


def test_a_partition_that_is_restored_before_the_consumer_can_read_it_serves_later() -> None:
    options = StreamOptions(brokers=(NOBODY,))
    stream = Stream(options, SystemClock())
    consumer = Consumer(options.client({"group.id": "test", "log_level": 0}))
    consumer.assign([TopicPartition(options.input_topic, 0)])
    restored = (Partition(0, Position(5)), object())
    stream._turns[0] = restored[1]
    stream._restored.put(restored)

    stream._adopt(consumer)

    assert stream.partitions == {}
    assert stream._restored.get_nowait() == restored
    consumer.close()
