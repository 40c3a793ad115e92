"""The thread of an instance that takes commands and sends due tasks, for the partitions that the group gives it.

A partition that is given is restored in a thread of its own, while the others go on; then its commands are taken and
its timers run. One that is taken away stops at once: the group asks between two rounds, when no transaction is open.
"""

import logging
from threading import Condition, Event, Thread
from typing import Any
from uuid import uuid4

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from rota.clock import Clock
from rota.errors import StoreError
from rota.streaming.brokers.topics import Topics
from rota.streaming.brokers.transactions import ProducerBroken, RoundAborted, Transactions
from rota.streaming.brokers.troubles import Troubles
from rota.streaming.options import StreamOptions
from rota.streaming.partition import Partition
from rota.streaming.round import MAX_COMMANDS, Rounds
from rota.streaming.turns import Turns

_LONGEST_WAIT_S = 0.1
"""How long a restored partition, or a request to stop, may go unnoticed."""
_RESTORING_WAIT_S = 0.02
"""The same, while partitions change hands: nothing of them is sent before they are adopted."""
_MOST_BEAT_MS = 300
"""By the answer to its heartbeat a member learns that another one died, so a longer one makes the gap longer."""
_ASK_AGAIN_MS = 5_000
"""How often librdkafka asks for the topic. If its first questions are lost, because a broker goes away at that moment,
it does not join the group before the next."""
_AFTER_ERROR_S = 1.0
_LEAVE_S = 10.0
"""How long leaving the group is waited for. A client that waits for the group leaves after five seconds."""
_CLOSE_S = 30.0
_logger = logging.getLogger("rota.streaming")


class Stream:
    """See the module."""

    def __init__(self, options: StreamOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="rota-stream", daemon=True)
        self.partitions: dict[int, Partition] = {}
        """Those that serve, by their numbers."""
        self.partition_count = 0
        """Of the command topic; 0 until the brokers have told."""
        self.moved = Condition()
        """Notified when partitions come, go or have taken commands."""
        self._troubles = Troubles(options, clock)
        self._turns = Turns(options, clock, self._stopping)
        self._member: Consumer | None = None
        """Our client in the group; what a former one still tells concerns nobody."""
        self._ends: dict[int, int] = {}
        """Partitions whose end was told, and where it is."""

    @property
    def trouble(self) -> str | None:
        """What keeps it from its duty; None if nothing does."""
        return self._troubles.current or self._turns.slowness(self.partitions)

    def start(self) -> None:
        self._troubles.watch(self._stopping)
        self._thread.start()

    def close(self) -> None:
        """Leave the group, so that others take over at once. A thread that does not come to its end is left behind."""
        self._stopping.set()
        self._thread.join(_CLOSE_S)
        if self._thread.is_alive():
            _logger.warning("the stream does not end; others take over when its session is over")

    # -- life ------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._live()
            except (KafkaException, ProducerBroken, StoreError) as error:
                _logger.warning("the stream begins anew", extra={"error": str(error)})
                self._pause(str(error))
            except Exception as error:
                # A fault of ours: told at length, but no reason to keep partitions that nobody serves.
                _logger.exception("the stream begins anew")
                self._pause(f"a fault: {error}")

    def _pause(self, trouble: str) -> None:
        self._troubles.tell(trouble)
        self._stopping.wait(_AFTER_ERROR_S)

    def _may_wait(self, reason: str) -> bool:
        """The brokers do not answer; a transaction waits for them unless the stream is to stop, or another client has
        to ask them."""
        self._troubles.tell(f"the brokers do not answer: {reason}")
        return not (self._stopping.is_set() or self._troubles.is_client_stuck)

    def _live(self) -> None:
        self._troubles.begin_anew()
        admin = AdminClient(self._options.client({"error_cb": self._troubles.complaints.take}))
        topics = Topics(self._options, admin)
        try:
            self.partition_count = topics.prepare()
        finally:
            admin.poll(0)
        transactions = Transactions(self._options, uuid4().hex, self._may_wait, self._troubles.complaints)
        try:
            transactions.open()
            rounds = Rounds(self._options, transactions, topics, partitions=self.partition_count)
            self._serve(rounds, Consumer(self._consumer_options(transactions.name)))
        finally:
            transactions.close()

    def _serve(self, rounds: Rounds, consumer: Consumer) -> None:
        try:
            self._subscribe(consumer)
            self._troubles.tell(None)
            while not self._stopping.is_set():
                self._turn(consumer, rounds)
            self._leave(consumer, rounds)
        finally:
            self._lose(self._turns.numbers)
            self._part_with(consumer)

    def _part_with(self, consumer: Consumer) -> None:
        """librdkafka may never end a client that is stuck, as in its issue 5456. Then it is left to itself: it has no
        partitions any more, and the group gives it up when its session is over."""
        self._member = None
        leaving = Thread(target=consumer.close, name="rota-leaving", daemon=True)
        leaving.start()
        leaving.join(_LEAVE_S)
        if leaving.is_alive():
            _logger.warning("a client does not leave the group, and is left behind")

    def _leave(self, consumer: Consumer, rounds: Rounds) -> None:
        """Nobody waits for brokers that are away now."""
        if self.trouble is None:
            try:
                rounds.leave([*self.partitions.values()], consumer.consumer_group_metadata(), self._clock.now())
            except RoundAborted as error:
                _logger.warning("how far the partitions are is not recorded", extra={"error": str(error)})

    def _consumer_options(self, name: str) -> dict[str, Any]:
        return self._options.client(
            {
                "group.id": self._options.group,
                "client.id": self._options.client_id(name),
                "partition.assignment.strategy": "cooperative-sticky",
                "session.timeout.ms": round(self._options.session_s * 1000),
                "heartbeat.interval.ms": min(_MOST_BEAT_MS, round(self._options.session_s * 1000 / 5)),
                "topic.metadata.refresh.interval.ms": _ASK_AGAIN_MS,
                "error_cb": self._troubles.complaints.take,
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 100,
                "queued.max.messages.kbytes": 16_384,
            }
        )

    def _turn(self, consumer: Consumer, rounds: Rounds) -> None:
        messages = self._poll(consumer)
        self._turns.check_group(is_excused=self._troubles.of_brokers is not None)
        self._adopt(consumer)
        now = self._clock.now()
        try:
            rounds.run(list(self.partitions.values()), messages, consumer.consumer_group_metadata(), now)
        except RoundAborted as error:
            rounds.learn(error.failures, self._clock.now())
            self._seek_back(consumer, messages)
            self._wait_after(error)
        else:
            self._troubles.tell(None)
            self._reach_ends()
        if messages:
            self._tell()

    def _wait_after(self, error: RoundAborted) -> None:
        if error.is_by_group:
            _logger.info("a transaction is tried again: the group shares out its partitions")
            self._stopping.wait(_RESTORING_WAIT_S)
        else:
            self._troubles.tell(f"a transaction was aborted: {error}")
            _logger.warning("a transaction was aborted and is tried again", extra={"error": str(error)})
            self._stopping.wait(_LONGEST_WAIT_S)

    def _reach_ends(self) -> None:
        """Only now, because the end of a partition is told together with the commands before it, and those count when
        the brokers have what they changed."""
        for number, offset in self._ends.items():
            if number in self.partitions:
                partition = self.partitions[number]
                partition.reached = max(partition.reached, offset)
                self._tell()
        self._ends.clear()

    def _poll(self, consumer: Consumer) -> list[Message]:
        """Commands that are there, or come before something is due. Also where the group asks and gives."""
        first = consumer.poll(self._wait_s())
        if first is None:
            return []
        return [one for one in (first, *consumer.consume(MAX_COMMANDS, 0)) if self._is_command(one)]

    def _wait_s(self) -> float:
        longest = _LONGEST_WAIT_S if len(self.partitions) == len(self._turns.numbers) else _RESTORING_WAIT_S
        due = [one.next_due for one in self.partitions.values() if one.next_due is not None]
        return min(longest, max(0, min(due) - self._clock.now()) / 1000) if due else longest

    def _is_command(self, message: Message) -> bool:
        error, number = message.error(), message.partition()
        partition = self.partitions.get(-1 if number is None else number)
        if error is None or error.code() == KafkaError._PARTITION_EOF:
            self._troubles.complaints.end()
        if error is None:
            if partition is not None:
                self._check_order(partition, message)
            return partition is not None
        if error.code() == KafkaError._PARTITION_EOF and partition is not None:
            self._ends[partition.number] = message.offset() or 0
        elif error.fatal() or error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise KafkaException(error)  # somebody removed the command topic: it is made again
        elif error.code() > 0:  # of the brokers, not of librdkafka, which goes on by itself
            is_session = error.code() == KafkaError.INVALID_SESSION_TIMEOUT
            self._troubles.complaints.add(error, self._options.session_advice if is_session else None)
        return False

    def _check_order(self, partition: Partition, message: Message) -> None:
        """librdkafka goes back to the beginning by itself when an offset is not there any more: the first one, perhaps,
        before the seek, or that of a topic that was made again. Where to go on is found out anew then."""
        offset, expected = message.offset() or 0, partition.position.offset
        if offset < expected:
            topic = self._options.input_topic
            raise StoreError(f"partition {partition.number} of {topic} went back from offset {expected} to {offset}")

    def _seek_back(self, consumer: Consumer, messages: list[Message]) -> None:
        for number in {message.partition() for message in messages}:
            if number in self.partitions:
                self._ends.pop(number, None)
                offset = self.partitions[number].position.offset
                consumer.seek(TopicPartition(self._options.input_topic, number, offset))

    def _tell(self) -> None:
        with self.moved:
            self.moved.notify_all()

    # -- partitions come and go ------------------------------------------------------------------------------------

    def _subscribe(self, consumer: Consumer) -> None:
        def given(_: Consumer, places: list[TopicPartition]) -> None:
            if self._member is not consumer:
                return
            self._troubles.complaints.end()
            consumer.incremental_assign([_at_first(place) for place in places])
            consumer.pause(places)
            self._turns.begin([place.partition for place in places])

        def taken(_: Consumer, places: list[TopicPartition]) -> None:
            if self._member is consumer:
                self._lose([place.partition for place in places])
                self._turns.ask()
            consumer.incremental_unassign(places)

        self._member = consumer
        self._turns.ask()
        consumer.subscribe([self._options.input_topic], on_assign=given, on_revoke=taken, on_lost=taken)

    def _adopt(self, consumer: Consumer) -> None:
        """Partitions that are restored begin to serve."""
        adopted = []
        for partition, turn in self._turns.take_restored():
            place = TopicPartition(self._options.input_topic, partition.number, partition.position.offset)
            if _seeks(consumer, place):
                self.partitions[partition.number] = partition
                adopted.append(place)
            else:
                self._turns.put_back(partition, turn)
        if adopted:
            consumer.resume(adopted)
            _logger.info("partitions serve", extra={"partitions": [place.partition for place in adopted]})
            self._tell()

    def _lose(self, numbers: list[int]) -> None:
        self._turns.end(numbers)
        for number in numbers:
            self._ends.pop(number, None)
            self.partitions.pop(number, None)
        self._tell()


def _at_first(place: TopicPartition) -> TopicPartition:
    """Where to go on is known when it is restored; until then, from an offset for which librdkafka need not ask.

    The group's it would ask for sooner or later or, when the group moves to another broker at this moment, never (its
    issue 5586). If it asks where the end is and the answer comes after the seek, it asks once more and goes there.
    """
    return TopicPartition(place.topic, place.partition, 0)


def _seeks(consumer: Consumer, place: TopicPartition) -> bool:
    """Whether the consumer goes on there: not before it has begun to read a partition that it was just given."""
    try:
        consumer.seek(place)
    except KafkaException as error:
        if error.args[0].code() != KafkaError._STATE:
            raise
        return False
    return True
