"""What a round of the stream sends, in one transaction: all of it, with offsets and cursors, or nothing.

One producer for all partitions of an instance. A zombie is fenced by the group: every transaction carries offsets,
which the brokers refuse from whoever is no member of the group's present generation. (A producer for each partition,
with a transactional id of its own, would fence as well, but cost a transaction for each of them in every round.)
"""

from collections.abc import Callable
from itertools import count
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition

from rota.streaming.brokers.complaints import Complaints
from rota.streaming.brokers.refusals import Failures
from rota.streaming.options import StreamOptions

_TRY_S = 5.0
_LEAST_PATIENCE_S = 2 * _TRY_S
_ABORT_S = 1.0
_LEAST_OPEN_S = 1.0
_MOST_OPEN_S = 60.0
"""What librdkafka and the brokers allow, at least and at most, with room to spare."""
_FULL_WAIT_S = 0.05
_GROUP_CHANGES = frozenset({KafkaError.ILLEGAL_GENERATION, KafkaError.REBALANCE_IN_PROGRESS})
# A new transaction is refused while the brokers still end the last one, for some milliseconds.
_RETRY_MS = 2


class RoundAborted(Exception):
    """Nothing of the round was sent. The next may succeed."""

    def __init__(self, error: KafkaError, failures: Failures) -> None:
        super().__init__(error.str())
        self.failures = failures
        """What the brokers did not take."""
        self.is_by_group = error.code() in _GROUP_CHANGES
        """Whether partitions are being shared out anew, which is no trouble."""


class ProducerBroken(Exception):
    """This producer can do nothing more, and nobody knows whether the last round was sent."""


class _Call:
    """Something that another thread does, because nobody knows whether it ends."""

    def __init__(self, do: Callable[[], object]) -> None:
        self.do = do
        self.is_done = Event()
        self.error: KafkaException | None = None


def _carry_out(calls: "SimpleQueue[_Call | None]") -> None:
    while (call := calls.get()) is not None:
        try:
            call.do()
        except KafkaException as error:
            call.error = error
        call.is_done.set()


class Transactions:
    """See the module. Used by the thread of the stream only."""

    def __init__(
        self, options: StreamOptions, name: str, may_wait: Callable[[str], bool], complaints: Complaints
    ) -> None:
        self.name = name
        """Of the instance."""
        self._options = options
        self._may_wait = may_wait
        self._complaints = complaints
        self._producers = 0
        self._producer = self._made()
        self._failures = Failures()
        self._patience_s = max(options.session_s, _LEAST_PATIENCE_S)
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        Thread(target=_carry_out, args=[self._calls], name="rota-offsets", daemon=True).start()

    @property
    def owner(self) -> str:
        """Under which the brokers know the transactions."""
        return f"{self.name}.{self._producers}"

    def _made(self) -> Producer:
        timeout_ms = round(min(max(self._options.session_s, _LEAST_OPEN_S), _MOST_OPEN_S) * 1000)
        return Producer(
            self._options.client(
                {
                    "transactional.id": self._options.transactional_id(self.owner),
                    # A dead instance's open transaction keeps others from reading on, so no longer than its session.
                    "transaction.timeout.ms": timeout_ms,
                    # A topic that takes nothing must be known before the brokers give up the whole transaction.
                    "message.timeout.ms": timeout_ms // 2,
                    "retry.backoff.ms": _RETRY_MS,
                    "linger.ms": 0,
                    "compression.type": "lz4",
                    "queue.buffering.max.messages": 200_000,
                    "delivery.report.only.error": True,
                    "on_delivery": self._on_failure,
                    "error_cb": self._complaints.take,
                }
            )
        )

    def close(self) -> None:
        """Let the connections go. The producer, which calls us, and this would keep each other until the collector of
        garbage comes."""
        self._calls.put(None)
        del self._producer

    def open(self) -> None:
        self._persist(self._producer.init_transactions)

    def begin(self) -> None:
        self._failures = Failures()
        self._producer.begin_transaction()

    def send(self, topic: str, key: bytes | None, value: bytes | None, **more: Any) -> None:
        """Put a record into the transaction."""
        while True:
            try:
                return self._producer.produce(topic, value=value, key=key, **more)
            except BufferError:
                self._producer.poll(_FULL_WAIT_S)
            except KafkaException as error:
                self._failures.add(error.args[0], topic, key)
                self._abort(error)

    def send_alone(self, topic: str, key: bytes | None, value: bytes | None, **more: Any) -> None:
        """Put a record into the transaction, in a batch of its own."""
        self._flush()
        self.send(topic, key, value, **more)
        self._flush()

    def _flush(self) -> None:
        try:
            self._producer.flush(self._patience_s)
        except SystemError as error:  # so confluent-kafka tells of a fatal error that it met when it called us
            raise ProducerBroken(str(error.__cause__ or error)) from error

    def commit(self, offsets: list[TopicPartition], group: object) -> None:
        """Make it all true at once. `RoundAborted` or `ProducerBroken` if not."""
        try:
            self._persist(self._send_offsets, offsets, group)
            self._persist(self._producer.commit_transaction)
        except KafkaException as error:
            self._abort(error)

    def _send_offsets(self, offsets: list[TopicPartition], group: object, timeout_s: float) -> None:
        """librdkafka may wait for ever here when brokers went away, whatever time it is given (its issue 5456). Then
        this producer is left to itself; its transaction ends without effect."""
        producer = self._producer
        call = _Call(lambda: producer.send_offsets_to_transaction(offsets, group, timeout_s))
        self._calls.put(call)
        waited_s = 0.0
        while not call.is_done.wait(_TRY_S):
            waited_s += _TRY_S
            if waited_s >= self._patience_s or not self._may_wait("they do not take offsets"):
                raise ProducerBroken("the brokers did not answer in time")
        if call.error is not None:
            try:
                raise call.error
            finally:
                call.error = None  # whose trace leads back to the call, and both to the producer

    def _abort(self, error: KafkaException) -> None:
        """Always raises."""
        cause: KafkaError = error.args[0]
        if cause.fatal():
            raise ProducerBroken(cause.str()) from error
        try:
            if not self._ends_soon() or self._failures.late:
                self._begin_anew()
        except KafkaException as second:
            raise ProducerBroken(str(second)) from error
        raise RoundAborted(cause, self._failures) from error

    def _ends_soon(self) -> bool:
        try:
            self._producer.abort_transaction(_ABORT_S)
        except KafkaException as error:
            if not error.args[0].retriable():
                raise
            return False
        return True

    def _begin_anew(self) -> None:
        """A transaction does not end before each of its topics was told so, and its producer can begin no other before.
        When a topic cannot be reached, that may take hours. So the brokers are told to end it, and another producer
        goes on."""
        self._producers += 1
        self._producer = self._made()
        if self._persist(self._producer.init_transactions) > 1:
            self._failures.late.clear()  # all brokers were away, so no topic is to blame

    def _persist(self, call: Callable[..., object], *arguments: object) -> int:
        """Call again what may be called again, for as long as it takes: brokers may be away for hours. Returns how
        often it was called."""
        for tries in count(1):
            try:
                call(*arguments, _TRY_S)
                return tries
            except KafkaException as error:
                if not error.args[0].retriable():
                    raise
                self._producer.poll(0)  # for what it complains of
                if not self._may_wait(error.args[0].str()):
                    raise ProducerBroken(f"no longer waiting for the brokers: {error.args[0].str()}") from error
        raise AssertionError("counting does not end")

    def _on_failure(self, error: KafkaError | None, message: Message) -> None:
        key, partition = message.key(), message.partition()
        if error is not None:
            key = key if isinstance(key, bytes) else None
            self._failures.add(error, message.topic() or "", key, -1 if partition is None else partition)
