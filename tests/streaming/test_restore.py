"""What a partition is after a take-over, from changelogs and offsets, on the cluster that librdkafka has built in."""

import threading
from collections.abc import Iterator

import pytest
from confluent_kafka import OFFSET_INVALID, Producer
from confluent_kafka.admin import AdminClient

from rota.model.topics.light.definition import TaskDefinition
from rota.model.triggers.interval import TimeUnit
from rota.streaming.options import StreamOptions
from rota.streaming.partition import Partition
from rota.streaming.records.codec import encode_definition, encode_key
from rota.streaming.records.entry import message_id_of
from rota.streaming.records.position import BEGINNING, POSITION_KEY, Cursor, Position, encode_position
from rota.streaming.restore import Cancelled, _positions, restore_partitions
from tests.patience import LONG_DEADLINE_S
from tests.streaming.kafka import Kafka
from tests.streaming.test_partition import NOW

SECONDLY, HOURLY = {"timeUnit": "SECONDS", "time": 1}, {"timeUnit": "HOURS", "time": 1}
EARLY, LATE = Cursor(NOW, b"a"), Cursor(NOW + 5, b"a")


class Changelogs:
    """Writes to those of a scheduler, as an instance would."""

    def __init__(self, kafka: Kafka) -> None:
        self._producer = Producer({"bootstrap.servers": kafka.bootstrap})
        self.options: StreamOptions = kafka.options

    def write(self, unit: TimeUnit | None, key: bytes | None, value: bytes | None, since: int = NOW) -> None:
        self._producer.produce(self.options.changelog(unit), value, key, partition=1, timestamp=since)
        assert self._producer.flush(LONG_DEADLINE_S) == 0

    def keep(self, definition: TaskDefinition, since: int = NOW) -> None:
        self.write(definition.unit, encode_key(definition.key), encode_definition(definition), since)

    def restored(self) -> Partition:
        (partition,) = restore_partitions(self.options, [1], lambda: True)
        return partition


@pytest.fixture
def changelogs(mock: Kafka) -> Iterator[Changelogs]:
    yield Changelogs(mock)
    for thread in threading.enumerate():
        if thread.name == "rota-fencing":  # it has clients of its own
            thread.join(LONG_DEADLINE_S)


def test_a_definition_is_in_force_since_the_time_of_its_record(mock: Kafka, changelogs: Changelogs) -> None:
    """What was due before would else be sent again by everybody who takes over."""
    changelogs.keep(mock.command("report", frequency=SECONDLY, start=NOW - 60_000), since=NOW + 300)

    partition = changelogs.restored()

    assert partition.next_due == NOW + 1_000


def test_the_last_record_of_each_key_counts_and_what_is_none_is_passed_over(
    mock: Kafka, changelogs: Changelogs, caplog: pytest.LogCaptureFixture
) -> None:
    moved, gone = mock.command("moved", frequency=SECONDLY, start=NOW), mock.command("gone", start=NOW)
    later = mock.command("moved", frequency=HOURLY, start=NOW + 7)
    changelogs.keep(later)
    changelogs.keep(moved)
    changelogs.write(moved.unit, encode_key(moved.key), None)
    changelogs.keep(gone)
    changelogs.write(None, encode_key(gone.key), None)
    changelogs.write(None, None, b"without a key")
    changelogs.write(None, b"k", b"rubbish")
    changelogs.write(None, POSITION_KEY, encode_position(Position(0, EARLY, {"slow": LATE})))
    changelogs.write(None, POSITION_KEY, b"rubbish")

    partition = changelogs.restored()

    assert [one.definition for one in partition.definitions.values()] == [later]
    assert partition.position == Position(0, EARLY, {"slow": LATE})
    assert caplog.messages.count("a changelog has a record that is no definition") == 1


def test_a_definition_under_a_key_that_is_not_its_own_is_none(mock: Kafka, changelogs: Changelogs) -> None:
    """Nobody could name its due tasks, and a round that tried to would be tried for ever."""
    good, foreign = mock.command("good", frequency=SECONDLY, start=NOW), mock.command("foreign", start=NOW)
    changelogs.keep(good)
    for key in (b"k", b"", b"\0more", encode_key(foreign.key)[:-1], encode_key(good.key)):
        changelogs.write(None, key, encode_definition(foreign))

    fires = list(changelogs.restored().take_due(NOW, 10))

    assert [message_id_of(fire.key, fire.instant) for fire in fires] == [b"networknt.com/good/%d" % NOW]


def test_a_restore_for_which_nobody_waits_any_more_is_given_up(mock: Kafka, changelogs: Changelogs) -> None:
    changelogs.keep(mock.command("report", frequency=SECONDLY, start=NOW))

    with pytest.raises(Cancelled):
        restore_partitions(mock.options, [1], lambda: False)


@pytest.mark.parametrize(
    ("committed", "recorded", "found"),
    [
        (Position(3, EARLY), None, Position(3, EARLY)),
        (Position(OFFSET_INVALID), None, Position(0, BEGINNING)),
        (Position(OFFSET_INVALID), Position(3, EARLY), Position(3, EARLY)),
        (Position(2, EARLY), Position(3, LATE), Position(3, LATE)),
        (Position(3, LATE), Position(2, EARLY), Position(3, LATE)),
        (Position(5, EARLY), Position(0, EARLY), Position(5, EARLY)),
        (Position(3, EARLY), Position(3, EARLY, {"slow": EARLY}), Position(3, EARLY, {"slow": EARLY})),
        (Position(6, EARLY), Position(7, EARLY), Position(0, EARLY)),
        (Position(6, EARLY), Position(4, EARLY), Position(4, EARLY)),
    ],
)
def test_a_partition_goes_on_where_the_group_and_the_changelog_say_as_far_as_the_topic_is_the_same(
    mock: Kafka, committed: Position, recorded: Position | None, found: Position
) -> None:
    """A topic that was removed and made again has fewer records than somebody took of the old one."""
    for _ in range(5):
        mock.produce_raw(b"k", b"v", 1)

    positions = _positions(
        mock.options, AdminClient(mock.options.client()), {1: committed}, {} if recorded is None else {1: recorded}
    )

    assert positions == {1: found}
