"""Rebuilds partitions from the changelogs, before they serve.

The order is what makes a take-over safe. First the brokers are told to end a dead owner's open transaction. Then come
the offsets, which they tell only when no transaction that changes them is open; whatever the former owner still tries
is refused, because the group has another generation. Then the ends of the changelogs, with all that is in them; then
all up to there, as far as it is committed.
"""

import logging
from collections.abc import Callable, Iterable

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from rota.streaming.brokers.administration import Administration
from rota.streaming.fencing import begin_fencing
from rota.streaming.options import StreamOptions
from rota.streaming.partition import Partition
from rota.streaming.records.entry import Entry, read_entry
from rota.streaming.records.position import POSITION_KEY, Position, read_cursor, read_position

EARLIEST = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_BATCH = 10_000
_WAIT_S = 0.2
_TIMEOUT_S = 60.0
_logger = logging.getLogger("rota.streaming")


class Cancelled(Exception):
    """Nobody waits for these partitions any more."""


def restore_partitions(options: StreamOptions, numbers: list[int], is_wanted: Callable[[], bool]) -> list[Partition]:
    """The partitions as the changelogs have them, ready to fire. `Cancelled` when they are not wanted any more."""
    consumer = Consumer(
        options.client(
            {
                "group.id": options.group,
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                # The end of a changelog is told when nothing more came for so long.
                "fetch.wait.max.ms": 10,
                "queued.max.messages.kbytes": 65_536,
            }
        )
    )
    administration = Administration(options)
    try:
        begin_fencing(options, numbers)
        reading = _Reading(consumer, numbers)
        reading.begin(options.changelogs)
        committed = _committed(options, consumer, numbers)
        reading.read(administration.ask(lambda admin: _ends(options, admin, numbers)), is_wanted)
    finally:
        consumer.close()
    positions = administration.ask(lambda admin: _positions(options, admin, committed, reading.positions))
    return [_made(positions[number], reading, number) for number in numbers]


def _made(position: Position, reading: "_Reading", number: int) -> Partition:
    partition = Partition(number, position)
    partition.definitions = reading.definitions[number]
    partition.start()
    return partition


def _committed(options: StreamOptions, consumer: Consumer, numbers: list[int]) -> dict[int, Position]:
    """How far the partitions are, as the group has it."""
    places = consumer.committed([TopicPartition(options.input_topic, number) for number in numbers], _TIMEOUT_S)
    for place in places:
        if place.error is not None:
            raise KafkaException(place.error)
    return {place.partition: Position(place.offset, read_cursor(place.metadata)) for place in places}


def _positions(
    options: StreamOptions, admin: AdminClient, committed: dict[int, Position], recorded: dict[int, Position]
) -> dict[int, Position]:
    """How far the partitions are: as the group has it, and where that has forgotten, as the changelog does."""
    places = [TopicPartition(options.input_topic, number) for number in committed]
    firsts, ends = offsets_of(admin, places, EARLIEST), offsets_of(admin, places, LATEST)
    found = {}
    for number, position in committed.items():
        place = (options.input_topic, number)
        other = recorded.get(number, position)
        # A topic that was removed and made again begins anew, whatever is recorded of the old one.
        offsets = [one for one in (position.offset, other.offset) if firsts[place] <= one <= ends[place]]
        found[number] = Position(max([firsts[place], *offsets]), max(position.cursor, other.cursor), dict(other.behind))
    return found


def _ends(options: StreamOptions, admin: AdminClient, numbers: list[int]) -> dict[tuple[str, int], int]:
    places = [TopicPartition(topic, number) for topic in options.changelogs for number in numbers]
    return offsets_of(admin, places, LATEST)


def offsets_of(
    admin: AdminClient, places: Iterable[TopicPartition], spec: OffsetSpec, *, timeout_s: float = _TIMEOUT_S
) -> dict[tuple[str, int], int]:
    """Offsets in topics, by topic and partition. What belongs to open transactions is in them."""
    asked = admin.list_offsets(dict.fromkeys(places, spec), request_timeout=timeout_s)
    return {(place.topic, place.partition): answer.result().offset for place, answer in asked.items()}


class _Reading:
    """Changelogs, from their beginning to given ends.

    Each is read into a place of its own: a definition that went from one unit to another is in the one and removed
    in the other, and nobody knows which is read first.
    """

    def __init__(self, consumer: Consumer, numbers: list[int]) -> None:
        self._consumer = consumer
        self._kept: dict[tuple[str, int], dict[bytes, Entry]] = {}
        self.definitions: dict[int, dict[bytes, Entry]] = {number: {} for number in numbers}
        """By partitions. The next instant of each is the time since when it is in force."""
        self.positions: dict[int, Position] = {}

    def begin(self, topics: Iterable[str]) -> None:
        """What is committed already may come while the offsets are found out."""
        self._consumer.list_topics(timeout=_TIMEOUT_S)  # otherwise it asks for one topic after the other, later
        places = [(topic, number) for topic in topics for number in self.definitions]
        self._kept = {place: {} for place in places}
        self._consumer.assign([TopicPartition(*place, OFFSET_BEGINNING) for place in places])

    def read(self, ends: dict[tuple[str, int], int], is_wanted: Callable[[], bool]) -> None:
        left = {place: end for place, end in ends.items() if end > 0}
        while left:
            if not is_wanted():
                raise Cancelled
            for message in self._poll():
                error = message.error()
                if error is None:
                    self._take(message)
                elif error.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(error)
                elif (message.offset() or 0) >= left.get(_place(message), 0):
                    left.pop(_place(message), None)
        for (_, number), kept in self._kept.items():
            self.definitions[number] |= kept

    def _poll(self) -> list[Message]:
        """What is there, without waiting for a whole batch."""
        first = self._consumer.poll(_WAIT_S)
        return [] if first is None else [first, *self._consumer.consume(_BATCH, 0)]

    def _take(self, message: Message) -> None:
        place, key, value = _place(message), message.key(), message.value()
        if key is None:
            return
        if key == POSITION_KEY:
            self._take_position(place[1], value)
        elif value is None:
            self._kept[place].pop(key, None)
        else:
            self._take_definition(place, key, value, since=message.timestamp()[1])

    def _take_position(self, number: int, value: bytes | None) -> None:
        position = read_position(value)
        if position is not None:
            self.positions[number] = position

    def _take_definition(self, place: tuple[str, int], key: bytes, value: bytes, since: int) -> None:
        try:
            entry = read_entry(value, key)
        except (ValueError, IndexError):
            _logger.warning(
                "a changelog has a record that is no definition", extra={"topic": place[0], "key": key.hex()}
            )
            return
        entry.next = since
        self._kept[place][key] = entry


def _place(message: Message) -> tuple[str, int]:
    return message.topic() or "", message.partition() or 0
