"""The thread of an instance, as far as it needs no brokers."""

from typing import Any

from confluent_kafka import Consumer, TopicPartition

from rota.clock import ManualClock
from rota.streaming.brokers.troubles import Troubles
from rota.streaming.options import StreamOptions
from rota.streaming.partition import Partition
from rota.streaming.records.position import Position
from rota.streaming.scheduler import KafkaScheduler
from rota.streaming.stream import Stream
from rota.streaming.turns import Turn
from tests.streaming.kafka import living_clients

NOBODY = "127.0.0.1:1"
OPTIONS = StreamOptions(brokers=(NOBODY,))


def test_a_scheduler_that_was_only_made_has_no_connections() -> None:
    before = living_clients()

    _made = KafkaScheduler(OPTIONS, ManualClock())

    assert living_clients() <= before


def test_a_partition_that_is_restored_before_the_consumer_can_read_it_serves_later() -> None:
    stream = Stream(OPTIONS, ManualClock())
    consumer = Consumer(OPTIONS.client({"group.id": "test", "log_level": 0}))
    consumer.assign([TopicPartition(OPTIONS.input_topic, 0)])
    restored = (Partition(0, Position(5)), Turn(0.0))
    stream._turns._turns[0] = restored[1]
    stream._turns.put_back(*restored)

    stream._adopt(consumer)

    assert stream.partitions == {}
    assert stream._turns.take_restored() == [restored]
    consumer.close()


def test_a_restore_that_does_not_end_is_a_trouble_after_a_minute() -> None:
    clock = ManualClock()
    stream = Stream(OPTIONS, clock)
    stream._troubles.tell(None)
    stream._turns._turns |= {3: Turn(clock.monotonic()), 1: Turn(clock.monotonic())}

    clock.advance(59_999)
    stream._troubles.tell(None)
    before = stream.trouble
    clock.advance(1)
    then = stream.trouble
    stream.partitions |= {one: Partition(one, Position(0)) for one in (1, 3)}

    assert (before, then, stream.trouble) == (None, "partitions [1, 3] are being restored for 60 s", None)


def test_a_group_that_does_not_answer_is_a_trouble_after_a_minute() -> None:
    clock = ManualClock()
    stream = Stream(OPTIONS, clock)
    consumer = Asking(OPTIONS.client({"group.id": "test", "log_level": 0}))

    stream._subscribe(consumer)
    at_first = troubles_of(stream, clock)
    consumer.given(consumer, [])
    with_none = troubles_of(stream, clock)
    consumer.taken(consumer, [])
    afterwards = troubles_of(stream, clock)

    silence = "the group has not shared out its partitions for 60 s"
    assert (at_first, with_none, afterwards) == ([None, silence], [None, None], [None, silence])
    consumer.close()


class Asking(Consumer):
    """Keeps what it is to call when the group has answered."""

    def subscribe(self, topics: list[str], *args: Any, **calls: Any) -> None:
        self.given, self.taken = calls["on_assign"], calls["on_revoke"]
        super().subscribe(topics, *args, **calls)


def troubles_of(stream: Stream, clock: ManualClock) -> list[str | None]:
    """After a bit less than a minute, and after one."""
    told = []
    for ms in (59_999, 1):
        clock.advance(ms)
        stream._troubles.tell(None)
        told.append(stream.trouble)
    return told


def test_a_stream_that_says_nothing_for_a_minute_has_stood_still() -> None:
    clock = ManualClock()
    troubles = Troubles(OPTIONS, clock)
    seen = [troubles.current]

    troubles.tell(None)
    for ms in (59_999, 1):
        clock.advance(ms)
        seen.append(troubles.current)
    troubles.tell(None)

    still = "it has stood still for 60 s; start this instance anew"
    assert [*seen, troubles.current] == ["it has not reached the brokers yet", None, still, None]
