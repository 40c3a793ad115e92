"""One round of the stream: due tasks and commands become records of one transaction, and then changes in memory.

Nothing in memory changes for good before the brokers have it: a round that was aborted leaves everything as it was.
"""

import logging
from typing import NamedTuple

from confluent_kafka import KafkaException, Message, TopicPartition

from rota.errors import InvalidInput
from rota.model.topics.light.definition import Action, TaskDefinition
from rota.model.topics.light.fires import message_id, settled
from rota.model.topics.topic import MESSAGE_ID
from rota.streaming.brokers.refusals import Refusals, Refused
from rota.streaming.brokers.topics import Topics
from rota.streaming.brokers.transactions import RoundAborted, Transactions
from rota.streaming.options import StreamOptions
from rota.streaming.partition import Cursor, Fire, Partition
from rota.streaming.records.codec import decode_definition, decode_key, deletion_of, encode_key
from rota.streaming.records.entry import Entry, entry_of
from rota.streaming.records.keys import partition_of

MAX_FIRES = 10_000
"""Due tasks in one transaction, of all partitions together."""
MAX_COMMANDS = 1_000
_MOST_BURIED = 900_000
_MOST_BURIED_KEY = 50_000
"""Bytes of a broken record. With its headers it would be larger than it was, and perhaps too large."""
REASON = "reason"
"""The header of a dead letter that says what was wrong."""
_logger = logging.getLogger("rota.streaming")


class Work(NamedTuple):
    """What a round does in one partition."""

    partition: Partition
    fires: list[Fire]
    messages: list[Message]
    changes: dict[bytes, Entry | None]
    """What becomes of definitions; None for those that go."""


class Rounds:
    """See the module."""

    def __init__(self, options: StreamOptions, transactions: Transactions, topics: Topics, *, partitions: int) -> None:
        self._options = options
        self._transactions = transactions
        self._topics = topics
        self._count = partitions
        self._refusals = Refusals()

    def run(self, partitions: list[Partition], messages: list[Message], group: object, now: int) -> int:
        """Send what is due and carry out commands; returns how many of both. `RoundAborted` if nothing was sent."""
        work = self._plan(partitions, messages, now)
        if not work:
            return 0
        try:
            self._prepare_topics(work, now)
            sent = self._send(work, now)
            self._transactions.commit([self._offset(one) for one in work], group)
        except (RoundAborted, KafkaException) as error:
            self._take_back(work)
            if isinstance(error, RoundAborted):
                self._refusals.add(error.refused, now)
                raise
            raise RoundAborted(error.args[0], {}) from error
        for one in work:
            _settle(one)
        return sent

    def _plan(self, partitions: list[Partition], messages: list[Message], now: int) -> list[Work]:
        by_partition: dict[int | None, list[Message]] = {}
        for message in messages:
            by_partition.setdefault(message.partition(), []).append(message)
        due = sum(one.next_due is not None and one.next_due <= now for one in partitions)
        share = MAX_FIRES // max(1, due)
        planned = [
            Work(one, list(one.take_due(now, share)), by_partition.get(one.number, []), {}) for one in partitions
        ]
        return [one for one in planned if one.fires or one.messages]

    def _take_back(self, work: list[Work]) -> None:
        for one in work:
            one.partition.take_back(one.fires)
        # Perhaps somebody removed one.
        self._topics.forget(_topics_of(work))

    def _prepare_topics(self, work: list[Work], now: int) -> None:
        for name in _topics_of(work):
            try:
                self._topics.ensure([name])
            except KafkaException as error:
                if error.args[0].retriable() or error.args[0].code() < 0:
                    raise  # the brokers are away
                self._refusals.add({Refused(name): error.args[0].str()}, now)

    def _send(self, work: list[Work], now: int) -> int:
        self._transactions.begin()
        for one in work:
            for fire in one.fires:
                self._send_due(one, fire, now)
            for message in one.messages:
                self._take(one, message, now)
        return sum(len(one.fires) + len(one.messages) for one in work)

    # -- due tasks -------------------------------------------------------------------------------------------------

    def _send_due(self, work: Work, fire: Fire, now: int) -> None:
        key, entry, instant = fire
        headers = [(MESSAGE_ID, message_id(decode_key(key), instant).encode())]
        reason = self._refusals.reason(entry.topic, key, now)
        if reason is None:
            self._transactions.send(entry.topic, key, entry.due_value(instant), headers=headers)
        else:
            headers += [(REASON, f"topic {entry.topic} did not take it: {reason}".encode())]
            self._transactions.send(self._options.dead_letter_topic, key, entry.due_value(instant), headers=headers)
        if not entry.period_ms:
            work.changes[key] = None
            self._forget(work, key, entry)

    # -- commands --------------------------------------------------------------------------------------------------

    def _take(self, work: Work, message: Message, now: int) -> None:
        try:
            command = _command(message)
            key = encode_key(command.key)
            home = partition_of(key, self._count)
            if home != work.partition.number:
                # Another program chose the partition, or wrote the key in another way.
                self._transactions.send(self._options.input_topic, key, message.value(), partition=home)
            else:
                self._carry_out(work, key, command, now)
        except InvalidInput as error:
            self._bury(message, str(error))

    def _carry_out(self, work: Work, key: bytes, command: TaskDefinition, now: int) -> None:
        old = work.changes[key] if key in work.changes else work.partition.definitions.get(key)
        if old is None and command.action is not Action.INSERT:
            raise InvalidInput(command.action, f"there is no task definition {command.host} {command.name}")
        new = None
        if command.action is not Action.DELETE:
            self._options.check_target(command.topic)
            new = entry_of(settled(command, now))
            new.next = work.partition.first_fire(new, now, _cursor_after(work))
            self._keep(work, key, new, now)
        if old is not None and (new is None or self._changelog(new) != self._changelog(old)):
            self._forget(work, key, old)
        work.changes[key] = new

    def _keep(self, work: Work, key: bytes, entry: Entry, now: int) -> None:
        """The time of the record says since when the definition is in force."""
        number = work.partition.number
        self._transactions.send(self._changelog(entry), key, entry.value, partition=number, timestamp=now)

    def _forget(self, work: Work, key: bytes, entry: Entry) -> None:
        self._transactions.send(self._changelog(entry), key, None, partition=work.partition.number)

    def _changelog(self, entry: Entry) -> str:
        return self._options.changelog(entry.unit)

    def _bury(self, message: Message, reason: str) -> None:
        place = f"{message.topic()}/{message.partition()}/{message.offset()}"
        _logger.warning("a command cannot be carried out", extra={"record": place, "reason": reason})
        headers = [(REASON, reason.encode()), ("record", place.encode())]
        value = message.value()
        buried = None if value is None else value[:_MOST_BURIED]
        key = (message.key() or b"")[:_MOST_BURIED_KEY] or None
        self._transactions.send(self._options.dead_letter_topic, key, buried, headers=headers)

    def _offset(self, work: Work) -> TopicPartition:
        """Where to go on, and the cursor with it."""
        offset = _offset_after(work)
        cursor = _cursor_after(work)._replace(owner=self._transactions.name)
        return TopicPartition(self._options.input_topic, work.partition.number, offset, metadata=cursor.to_text())


def _topics_of(work: list[Work]) -> set[str]:
    return {fire.entry.topic for one in work for fire in one.fires}


def _command(message: Message) -> TaskDefinition:
    value = message.value()
    return deletion_of(message.key()) if value is None else decode_definition(value)


def _offset_after(work: Work) -> int:
    last = work.messages[-1].offset() if work.messages else None
    return work.partition.offset if last is None else last + 1


def _cursor_after(work: Work) -> Cursor:
    """Fires come in its order. One that is sent once may lie far behind it, and does not take it back."""
    sent = [Cursor(fire.instant, fire.key) for fire in work.fires[-1:]]
    return max([work.partition.cursor, *sent])


def _settle(work: Work) -> None:
    """The brokers have it: now it is so."""
    partition = work.partition
    partition.cursor, partition.offset = _cursor_after(work), _offset_after(work)
    for key, entry in work.changes.items():
        if entry is None:
            partition.remove(key)
        else:
            partition.put(key, entry)
    partition.reached = max(partition.reached, partition.offset)
