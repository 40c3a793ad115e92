"""Transactions that come to nothing: which producer goes on, and what is known of their records. On the cluster that
librdkafka has built in, or without any."""

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from msgspec import structs

from rota.clock import ManualClock
from rota.streaming.brokers.complaints import Complaints
from rota.streaming.brokers.refusals import Failures, Refused
from rota.streaming.brokers.transactions import ProducerBroken, RoundAborted, Transactions
from rota.streaming.options import StreamOptions
from tests.streaming.kafka import Kafka

NOBODY = StreamOptions(brokers=("127.0.0.1:1",))


def transactions_of(options: StreamOptions, may_wait: Callable[[str], bool] = lambda reason: True) -> Transactions:
    return Transactions(options, "one", may_wait, Complaints(ManualClock()))


def commit(kafka: Kafka, transactions: Transactions) -> None:
    """One offset, as every transaction has some."""
    consumer = Consumer(kafka.options.client({"group.id": kafka.options.group}))
    try:
        transactions.commit([TopicPartition(kafka.options.input_topic, 0, 5)], consumer.consumer_group_metadata())
    finally:
        consumer.close()


def test_the_same_producer_goes_on_after_a_transaction_that_could_be_ended(mock: Kafka) -> None:
    transactions = transactions_of(mock.options)
    transactions.open()
    transactions.begin()

    with pytest.raises(RoundAborted) as aborted:
        transactions.send(mock.due, b"k", b"x" * 2_000_000)

    assert {*aborted.value.failures.too_large()} == {Refused(mock.due, b"k")}
    assert transactions.owner == "one.0"
    transactions.begin()
    transactions.send(mock.due, b"k", b"next")
    commit(mock, transactions)
    transactions.close()


def send_to_no_partition(kafka: Kafka, transactions: Transactions) -> None:
    """That is refused at once if the topic's partitions are known already, else when it is committed."""
    transactions.send(kafka.due, b"k", b"lost", partition=99)
    commit(kafka, transactions)


def test_another_producer_goes_on_after_a_topic_that_did_not_take_its_record(mock: Kafka) -> None:
    transactions = transactions_of(mock.options)
    transactions.open()
    transactions.begin()

    with pytest.raises(RoundAborted) as aborted:
        send_to_no_partition(mock, transactions)

    assert {*aborted.value.failures.late} == {mock.due}
    assert transactions.owner == "one.1"
    transactions.begin()
    transactions.send(mock.due, b"k", b"next")
    commit(mock, transactions)
    transactions.close()


def test_what_one_transaction_could_not_send_is_not_held_against_the_next(mock: Kafka) -> None:
    transactions = transactions_of(mock.options)
    transactions.open()
    found = []

    for topic in ("first", "second"):
        transactions.begin()
        with pytest.raises(RoundAborted) as aborted:
            transactions.send(topic, b"k", b"x" * 2_000_000)
        found.append({one.topic for one in aborted.value.failures.too_large()})

    assert found == [{"first"}, {"second"}]
    transactions.close()


@pytest.mark.parametrize(
    ("code", "is_by_group"),
    [
        (KafkaError.ILLEGAL_GENERATION, True),
        (KafkaError.REBALANCE_IN_PROGRESS, True),
        (KafkaError._MSG_TIMED_OUT, False),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, False),
    ],
)
def test_a_group_that_shares_out_its_partitions_is_known_as_the_cause(code: int, is_by_group: bool) -> None:
    assert RoundAborted(KafkaError(code), Failures()).is_by_group is is_by_group


def test_brokers_that_are_away_are_waited_for_as_long_as_somebody_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.streaming.brokers.transactions._TRY_S", 0.01)
    answers = [True, True, False]
    transactions = transactions_of(NOBODY, lambda reason: answers.pop(0))

    with pytest.raises(ProducerBroken, match="no longer waiting for the brokers"):
        transactions.open()

    assert answers == []
    transactions.close()


@pytest.mark.parametrize(("may_wait", "asked"), [(True, 3), (False, 1)])
def test_offsets_that_nobody_answers_for_break_the_producer_and_hold_nobody_for_ever(
    monkeypatch: pytest.MonkeyPatch, may_wait: bool, asked: int
) -> None:
    answer, reasons = Event(), []

    class Silent(Producer):
        def send_offsets_to_transaction(self, *_: Any, **__: Any) -> None:
            answer.wait()

    def ask(reason: str) -> bool:
        reasons.append(reason)
        return may_wait

    monkeypatch.setattr("rota.streaming.brokers.transactions.Producer", Silent)
    monkeypatch.setattr("rota.streaming.brokers.transactions._TRY_S", 1 / 64)
    monkeypatch.setattr("rota.streaming.brokers.transactions._LEAST_PATIENCE_S", 4 / 64)
    transactions = transactions_of(structs.replace(NOBODY, session_timeout_s=1 / 64), ask)

    with pytest.raises(ProducerBroken, match="the brokers did not answer in time"):
        transactions.commit([], None)

    assert reasons == ["they do not take offsets"] * asked
    answer.set()
    transactions.close()


@pytest.mark.parametrize(
    ("session_timeout_s", "transaction_ms", "record_ms"),
    [(1, 1_000, 500), (15, 12_000, 6_000), (63, 60_000, 30_000), (300, 60_000, 30_000)],
)
def test_a_transaction_is_open_no_longer_than_the_session_and_a_record_fails_before_it(
    monkeypatch: pytest.MonkeyPatch, session_timeout_s: float, transaction_ms: int, record_ms: int
) -> None:
    made: list[dict[str, Any]] = []

    class Known(Producer):
        def __init__(self, config: dict[str, Any]) -> None:
            made.append(config)
            super().__init__(config)

    monkeypatch.setattr("rota.streaming.brokers.transactions.Producer", Known)

    transactions_of(structs.replace(NOBODY, session_timeout_s=session_timeout_s)).close()

    assert [(one["transaction.timeout.ms"], one["message.timeout.ms"]) for one in made] == [(transaction_ms, record_ms)]
