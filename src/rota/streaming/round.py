"""One round of the stream: due tasks and commands become records of one transaction, and then changes in memory.

Nothing in memory changes for good before the brokers have it: a round that was aborted leaves everything as it was.
"""

import logging
from contextlib import suppress
from typing import NamedTuple

from confluent_kafka import KafkaException, Message, TopicPartition

from rota.errors import InvalidInput
from rota.model.topics.light.definition import Action, TaskDefinition
from rota.model.topics.light.fires import settled
from rota.model.topics.topic import MESSAGE_ID
from rota.streaming.brokers.refusals import Failures, Refusals
from rota.streaming.brokers.topics import Topics
from rota.streaming.brokers.transactions import ProducerBroken, RoundAborted, Transactions
from rota.streaming.options import StreamOptions
from rota.streaming.partition import Fire, Partition, first_fire_of
from rota.streaming.records.codec import decode_definition, deletion_of, encode_definition, encode_key
from rota.streaming.records.entry import Entry, entry_of, message_id_of
from rota.streaming.records.keys import partition_of
from rota.streaming.records.position import POSITION_KEY, Position, encode_position

MAX_FIRES = 10_000
"""Due tasks in one transaction, of all partitions together."""
_MAX_ALONE = 100
"""The same while records are sent one by one: all of them within the time that the brokers give a transaction."""
MAX_COMMANDS = 1_000
_MOST_BURIED = 900_000
_MOST_BURIED_KEY = 50_000
"""Bytes of a broken record. With its headers it would be larger than it was, and perhaps too large."""
_RECORD_MS = 10_000
REASON = "reason"
"""The header of a dead letter that says what was wrong."""
_logger = logging.getLogger("rota.streaming")


class Work(NamedTuple):
    """What a round does in one partition."""

    partition: Partition
    fires: list[Fire]
    messages: list[Message]
    position: Position
    """Where the partition is when all of it is done."""
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
        except RoundAborted:
            self._take_back(work)
            raise
        except KafkaException as error:
            self._take_back(work)
            if error.args[0].fatal():
                raise ProducerBroken(error.args[0].str()) from error
            raise RoundAborted(error.args[0], Failures()) from error
        self._refusals.took(_topics_of(work))
        for one in work:
            _settle(one, now)
        return sent

    def _plan(self, partitions: list[Partition], messages: list[Message], now: int) -> list[Work]:
        by_partition: dict[int | None, list[Message]] = {}
        for message in messages:
            by_partition.setdefault(message.partition(), []).append(message)
        due = sum(one.next_due is not None and one.next_due <= now for one in partitions)
        most = _MAX_ALONE if self._refusals.has_alone(now) else MAX_FIRES
        share, aside = max(1, most // max(1, due)), self._refusals.aside(now)
        planned = (
            _work_of(one, list(one.take_due(now, share, aside)), by_partition.get(one.number, [])) for one in partitions
        )
        return [one for one in planned if one.fires or one.messages]

    def _take_back(self, work: list[Work]) -> None:
        for one in work:
            one.partition.take_back(one.fires)

    def learn(self, failures: Failures, now: int) -> None:
        """What an aborted round could not send, the next ones leave out for a while. It is later now than when that
        round began."""
        self._refusals.learn(self._without_gone(failures), now)

    def _without_gone(self, failures: Failures) -> Failures:
        """A topic that somebody removed is made again, and no tasks wait for it."""
        if failures.late:
            with suppress(KafkaException):
                for name in self._topics.look_again([*failures.late]):
                    failures.late.pop(name)
        return failures

    def _prepare_topics(self, work: list[Work], now: int) -> None:
        names = {*_topics_of(work), self._options.dead_letter_topic}
        failures = Failures()
        unmade = self._topics.ensure(one for one in names if not self._refusals.is_closed(one, now))
        for name, error in unmade.items():
            failures.add_unmade(error, name)
        self._refusals.learn(failures, now)
        for name in failures.late:
            raise RoundAborted(unmade[name], Failures())  # the next round leaves it out

    def _send(self, work: list[Work], now: int) -> int:
        self._transactions.begin()
        for one in work:
            for fire in one.fires:
                self._send_due(one, fire, now)
            for message in one.messages:
                self._take(one, message, now)
            if _is_to_be_recorded(one, now):
                self._record(one, now)
        return sum(len(one.fires) + len(one.messages) for one in work)

    # -- due tasks -------------------------------------------------------------------------------------------------

    def _send_due(self, work: Work, fire: Fire, now: int) -> None:
        key, entry, instant = fire
        topic, value = entry.topic, entry.due_value(instant)
        headers = [(MESSAGE_ID, message_id_of(key, instant))]
        if not self._refusals.has_any:
            self._transactions.send(topic, key, value, headers=headers)
        elif reason := self._refusals.reason(topic, key, now):
            self._send_dead_letter(key, value, headers, f"topic {topic} did not take it: {reason}", now)
        elif self._refusals.is_alone(topic, now):
            self._transactions.send_alone(topic, key, value, headers=headers)
        else:
            self._transactions.send(topic, key, value, headers=headers)
        if not entry.period_ms:
            work.changes[key] = None
            self._forget(work, key, entry)

    def _send_dead_letter(
        self, key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes]], reason: str, now: int
    ) -> None:
        """While not even the dead letters can be written, there is only the log."""
        topic = self._options.dead_letter_topic
        if self._refusals.is_closed(topic, now):
            _logger.error("a dead letter is lost", extra={"topic": topic, "reason": reason, "key": repr(key)})
            return
        self._transactions.send(topic, key, value, headers=[*headers, (REASON, reason.encode())])

    # -- commands --------------------------------------------------------------------------------------------------

    def _take(self, work: Work, message: Message, now: int) -> None:
        try:
            command = _command(message)
            key = encode_key(command.key)
            home = partition_of(key, self._count)
            if home != work.partition.number:
                # Another program chose the partition, or wrote the key in another way. What it wrote may be larger than
                # what it says, and more than can be sent.
                value = None if message.value() is None else encode_definition(command)
                self._transactions.send(self._options.input_topic, key, value, partition=home)
            else:
                self._carry_out(work, key, command, now)
        except InvalidInput as error:
            self._bury(message, str(error), now)

    def _carry_out(self, work: Work, key: bytes, command: TaskDefinition, now: int) -> None:
        old = work.changes[key] if key in work.changes else work.partition.definitions.get(key)
        if old is None and command.action is not Action.INSERT:
            raise InvalidInput(command.action, f"there is no task definition {command.host} {command.name}")
        new = None
        if command.action is not Action.DELETE:
            self._options.check_target(command.topic)
            # No instant that was sent, or is sent with it, counts for the new definition.
            since = max(now, work.position.cursor.instant + 1)
            new = entry_of(settled(command, now))
            new.next = first_fire_of(new, since)
            self._keep(work, key, new, since)
        if old is not None and (new is None or self._changelog(new) != self._changelog(old)):
            self._forget(work, key, old)
        work.changes[key] = new

    def _keep(self, work: Work, key: bytes, entry: Entry, since: int) -> None:
        """The time of the record says since when the definition is in force."""
        number = work.partition.number
        self._transactions.send(self._changelog(entry), key, entry.value, partition=number, timestamp=since)

    def _forget(self, work: Work, key: bytes, entry: Entry) -> None:
        self._transactions.send(self._changelog(entry), key, None, partition=work.partition.number)

    def _changelog(self, entry: Entry) -> str:
        return self._options.changelog(entry.unit)

    def _bury(self, message: Message, reason: str, now: int) -> None:
        place = f"{message.topic()}/{message.partition()}/{message.offset()}"
        _logger.warning("a command cannot be carried out", extra={"record": place, "reason": reason})
        value = message.value()
        buried = None if value is None else value[:_MOST_BURIED]
        key = (message.key() or b"")[:_MOST_BURIED_KEY] or None
        self._send_dead_letter(key, buried, [("record", place.encode())], reason, now)

    # -- how far it is ---------------------------------------------------------------------------------------------

    def _offset(self, work: Work) -> TopicPartition:
        """Where to go on, and the cursor with it."""
        cursor = work.position.cursor._replace(owner=self._transactions.owner)
        number, offset = work.partition.number, work.position.offset
        return TopicPartition(self._options.input_topic, number, offset, metadata=cursor.to_text())

    def leave(self, partitions: list[Partition], group: object, now: int) -> None:
        """Record where partitions are, before they are left. `RoundAborted` if it was not recorded."""
        work = [_work_of(one, [], []) for one in partitions if one.recorded != one.position]
        if work:
            self._transactions.begin()
            for one in work:
                self._record(one, now)
            self._transactions.commit([self._offset(one) for one in work], group)

    def _record(self, work: Work, now: int) -> None:
        """What the offset says is in a changelog as well, because a group can be deleted, and its offsets expire."""
        topic, value = self._options.changelog(None), encode_position(work.position)
        self._transactions.send(topic, POSITION_KEY, value, partition=work.partition.number, timestamp=now)


def _work_of(partition: Partition, fires: list[Fire], messages: list[Message]) -> Work:
    last = messages[-1].offset() if messages else None
    offset = partition.position.offset if last is None else last + 1
    return Work(partition, fires, messages, partition.position_after(fires, offset), {})


def _topics_of(work: list[Work]) -> set[str]:
    return {fire.entry.topic for one in work for fire in one.fires}


def _command(message: Message) -> TaskDefinition:
    value = message.value()
    return deletion_of(message.key()) if value is None else decode_definition(value)


def _is_to_be_recorded(work: Work, now: int) -> bool:
    """No command may be taken twice, and no topic's own cursor forgotten; for the others' cursor, now and then will do:
    the offset has it."""
    recorded, position = work.partition.recorded, work.position
    if recorded is None or (recorded.offset, recorded.behind) != (position.offset, position.behind):
        return True
    return now - work.partition.recorded_at >= _RECORD_MS


def _settle(work: Work, now: int) -> None:
    """The brokers have it: now it is so."""
    partition = work.partition
    if _is_to_be_recorded(work, now):
        partition.recorded, partition.recorded_at = work.position, now
    partition.advance(work.position, work.changes)
