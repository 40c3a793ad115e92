"""Rebuilds partitions from the changelogs, before they serve.

The order is what makes a take-over safe. First a dead owner's open transaction is ended. Then come the offsets, which
the brokers tell only when no transaction of the former owner is open; whatever that one still tries is refused, because
the group has another generation. Then the ends of the changelogs, with all that is in them; then all up to there.
"""

import logging
from collections.abc import Callable, Iterable

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from rota.streaming.fencing import fence_former_owners
from rota.streaming.options import StreamOptions
from rota.streaming.partition import Partition, read_cursor
from rota.streaming.records.entry import Entry, read_entry

_EARLIEST = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_BATCH = 10_000
_WAIT_S = 0.2
_TIMEOUT_S = 60.0
_logger = logging.getLogger("rota.streaming")


class Cancelled(Exception):
    """Nobody waits for these partitions any more."""


def restore_partitions(
    options: StreamOptions, admin: AdminClient, numbers: list[int], is_wanted: Callable[[], bool]
) -> list[Partition]:
    """The partitions as the changelogs have them, ready to fire. `Cancelled` when they are not wanted any more."""
    fence_former_owners(options, admin, numbers)
    consumer = Consumer(
        options.client(
            {
                "group.id": options.group,
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "queued.max.messages.kbytes": 65_536,
            }
        )
    )
    try:
        partitions = {one.number: one for one in _begin(options, consumer, admin, numbers)}
        _Reading(consumer, partitions).read(_ends(options, admin, numbers), is_wanted)
    finally:
        consumer.close()
    for one in partitions.values():
        one.start()
    return list(partitions.values())


def _begin(options: StreamOptions, consumer: Consumer, admin: AdminClient, numbers: list[int]) -> list[Partition]:
    """Empty partitions, each with its offset and its cursor."""
    places = [TopicPartition(options.input_topic, number) for number in numbers]
    firsts = offsets_of(admin, places, _EARLIEST)
    begun = []
    for place in consumer.committed(places, _TIMEOUT_S):
        if place.error is not None:
            raise KafkaException(place.error)
        first = firsts[place.topic, place.partition]
        begun.append(Partition(place.partition, offset=max(first, place.offset), cursor=read_cursor(place.metadata)))
    return begun


def _ends(options: StreamOptions, admin: AdminClient, numbers: list[int]) -> dict[tuple[str, int], int]:
    places = [TopicPartition(topic, number) for topic in options.changelogs for number in numbers]
    return offsets_of(admin, places, LATEST)


def offsets_of(
    admin: AdminClient,
    places: Iterable[TopicPartition],
    spec: OffsetSpec,
    *,
    is_committed: bool = False,
    timeout_s: float = _TIMEOUT_S,
) -> dict[tuple[str, int], int]:
    """Offsets in topics, by topic and partition; `is_committed` leaves out what belongs to open transactions."""
    level = IsolationLevel.READ_COMMITTED if is_committed else IsolationLevel.READ_UNCOMMITTED
    asked = admin.list_offsets(dict.fromkeys(places, spec), isolation_level=level, request_timeout=timeout_s)
    return {(place.topic, place.partition): answer.result().offset for place, answer in asked.items()}


class _Reading:
    """Changelogs, from their beginning to given ends.

    Each is read into a place of its own: a definition that went from one unit to another is in the one and removed
    in the other, and nobody knows which is read first.
    """

    def __init__(self, consumer: Consumer, partitions: dict[int, Partition]) -> None:
        self._consumer = consumer
        self._partitions = partitions
        self._kept: dict[tuple[str, int], dict[bytes, Entry]] = {}

    def read(self, ends: dict[tuple[str, int], int], is_wanted: Callable[[], bool]) -> None:
        left = {place: end for place, end in ends.items() if end > 0}
        self._kept = {place: {} for place in left}
        self._consumer.assign([TopicPartition(*place, OFFSET_BEGINNING) for place in left])
        while left:
            if not is_wanted():
                raise Cancelled
            for message in self._consumer.consume(_BATCH, _WAIT_S):
                error = message.error()
                if error is None:
                    self._take(message)
                elif error.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(error)
                elif (message.offset() or 0) >= left.get(_place(message), 0):
                    left.pop(_place(message), None)
        for (_, number), kept in self._kept.items():
            self._partitions[number].definitions |= kept

    def _take(self, message: Message) -> None:
        place, key, value = _place(message), message.key(), message.value()
        if key is None:
            return
        if value is None:
            self._kept[place].pop(key, None)
            return
        try:
            entry = read_entry(value)
        except (ValueError, IndexError):
            _logger.warning(
                "a changelog has a record that is no definition", extra={"topic": place[0], "key": key.hex()}
            )
            return
        self._kept[place][key] = self._partitions[place[1]].restored(key, entry, message.timestamp()[1])


def _place(message: Message) -> tuple[str, int]:
    return message.topic() or "", message.partition() or 0
