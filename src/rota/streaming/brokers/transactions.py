"""What a round of the stream sends, in one transaction: all of it, with offsets and cursors, or nothing.

One producer for all partitions of an instance. A zombie is fenced by the group: every transaction carries offsets,
which the brokers refuse from whoever is no member of the group's present generation. (A producer for each partition,
with a transactional id of its own, would fence as well, but cost a transaction for each of them in every round.)
"""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition

from rota.streaming.brokers.refusals import Refused, refusal_of
from rota.streaming.options import StreamOptions

_TRY_S = 5.0
_FULL_WAIT_S = 0.05
# A new transaction is refused while the brokers still end the last one, for some milliseconds.
_RETRY_MS = 2


class RoundAborted(Exception):
    """Nothing of the round was sent. The next may succeed."""

    def __init__(self, error: KafkaError, refused: dict[Refused, str]) -> None:
        super().__init__(error.str())
        self.refused = refused
        """What the brokers will refuse again, and why."""


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

    def __init__(self, options: StreamOptions, name: str, may_wait: Callable[[str], bool]) -> None:
        self.name = name
        """Of the instance."""
        self._may_wait = may_wait
        timeout_ms = round(options.session_timeout_s * 1000)
        self._producer = Producer(
            options.client(
                {
                    "transactional.id": options.transactional_id(name),
                    # A dead instance's open transaction keeps others from reading on, so no longer than its session.
                    "transaction.timeout.ms": timeout_ms,
                    "message.timeout.ms": timeout_ms,
                    "retry.backoff.ms": _RETRY_MS,
                    "linger.ms": 0,
                    "compression.type": "lz4",
                    "queue.buffering.max.messages": 200_000,
                    "delivery.report.only.error": True,
                    "on_delivery": self._on_failure,
                }
            )
        )
        self._refused: dict[Refused, str] = {}
        self._patience_s = options.session_timeout_s
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        Thread(target=_carry_out, args=[self._calls], name="rota-offsets", daemon=True).start()

    def close(self) -> None:
        self._calls.put(None)

    def open(self) -> None:
        self._persist(self._producer.init_transactions)

    def begin(self) -> None:
        self._refused = {}
        self._producer.begin_transaction()

    def send(self, topic: str, key: bytes | None, value: bytes | None, **more: Any) -> None:
        """Put a record into the transaction."""
        while True:
            try:
                return self._producer.produce(topic, value=value, key=key, **more)
            except BufferError:
                self._producer.poll(_FULL_WAIT_S)
            except KafkaException as error:
                self._note_refusal(error.args[0], topic, key)
                self._abort(error)

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
        call = _Call(lambda: self._producer.send_offsets_to_transaction(offsets, group, timeout_s))
        self._calls.put(call)
        if not call.is_done.wait(self._patience_s):
            raise ProducerBroken("the brokers did not answer in time")
        if call.error is not None:
            raise call.error

    def _abort(self, error: KafkaException) -> None:
        """Always raises."""
        cause: KafkaError = error.args[0]
        if cause.fatal():
            raise ProducerBroken(cause.str()) from error
        try:
            self._persist(self._producer.abort_transaction)
        except KafkaException as second:
            raise ProducerBroken(str(second)) from error
        raise RoundAborted(cause, self._refused) from error

    def _persist(self, call: Callable[..., object], *arguments: object) -> None:
        """Call again what may be called again, for as long as it takes: brokers may be away for hours."""
        while True:
            try:
                call(*arguments, _TRY_S)
                return
            except KafkaException as error:
                if not error.args[0].retriable():
                    raise
                if not self._may_wait(error.args[0].str()):
                    raise ProducerBroken("stopping while the brokers are away") from error

    def _on_failure(self, error: KafkaError | None, message: Message) -> None:
        key = message.key()
        if error is not None:
            self._note_refusal(error, message.topic() or "", key if isinstance(key, bytes) else None)

    def _note_refusal(self, error: KafkaError, topic: str, key: bytes | None) -> None:
        refused = refusal_of(error, topic, key)
        if refused is not None:
            self._refused[refused] = error.str()
