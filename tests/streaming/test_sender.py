"""Single records for the brokers: who sends one learns what becomes of it, whatever that is, and waits for nobody for
ever."""

import gc
from typing import Any

import pytest
from confluent_kafka import KafkaError
from msgspec import structs

from rota.engine.topics.topics import MAX_RECORD_BYTES, named_record
from rota.errors import InvalidInput, RotaError, StoreUnavailable
from rota.streaming.brokers.sender import KafkaPublisher, Outgoing, Sender, _Answer
from rota.streaming.options import StreamOptions
from tests.patience import LONG_DEADLINE_S
from tests.servers import wait_until
from tests.streaming.kafka import Kafka, Reader, living_clients

NOBODY = StreamOptions(brokers=("127.0.0.1:1",))
RECORD = Outgoing(b"k", b"v")


def test_a_record_that_a_job_publishes_has_its_key_value_and_id(mock: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.streaming.brokers.topics._TIMEOUT_S", LONG_DEADLINE_S)
    monkeypatch.setattr("rota.streaming.brokers.sender._SEND_MS", int(LONG_DEADLINE_S * 1000))
    monkeypatch.setattr("rota.streaming.brokers.sender._MOST_WAIT_S", 2 * LONG_DEADLINE_S)
    records = [
        named_record("one", key={"city": "Paris"}, value={"n": 1}, now=0),
        named_record("two", key=None, value=[None], now=0),
    ]

    fates = KafkaPublisher(mock.options).publish(mock.due, records)

    assert [type(fate) for fate in fates] == [int, int]
    with Reader(mock.bootstrap, mock.due) as reader:
        found: Any = {one.value(): (one.key(), one.headers()) for one in reader.read_all()}
    assert found == {
        b'{"n":1}': (b'{"city":"Paris"}', [("message-id", b"one")]),
        b"[null]": (None, [("message-id", b"two")]),
    }


@pytest.mark.parametrize(
    ("topic", "value", "told"), [("not a topic", 1, "topic"), ("t", "x" * MAX_RECORD_BYTES, "record")]
)
def test_what_no_topic_can_carry_is_refused_before_the_brokers_are_asked(topic: str, value: object, told: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        KafkaPublisher(NOBODY).publish(topic, [named_record("1", key=None, value=value, now=0)])

    assert refused.value.field == told


def test_a_job_that_publishes_while_the_brokers_are_away_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.streaming.brokers.topics._TIMEOUT_S", 0.05)

    with pytest.raises(StoreUnavailable, match="topic t cannot be reached"):
        KafkaPublisher(NOBODY).publish("t", [named_record("1", key=None, value=1, now=0)])


def test_a_publisher_that_was_only_made_has_no_connections() -> None:
    before = living_clients()

    _made = KafkaPublisher(NOBODY)

    assert living_clients() <= before


def test_clients_that_were_not_answered_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """They may have forgotten all brokers, and never look for any again."""
    monkeypatch.setattr("rota.streaming.brokers.topics._TIMEOUT_S", 0.05)
    monkeypatch.setattr("rota.streaming.brokers.sender._SEND_MS", 10)
    before, publisher, sender = living_clients(), KafkaPublisher(NOBODY), Sender(NOBODY)

    with pytest.raises(StoreUnavailable):
        publisher.publish("t", [named_record("1", key=None, value=1, now=0)])
    with pytest.raises(StoreUnavailable):
        sender.send("t", RECORD)

    wait_until(lambda: gc.collect() >= 0 and living_clients() <= before, "their clients to be gone")


@pytest.mark.parametrize(
    ("send_ms", "most_s", "told"),
    [
        (10, LONG_DEADLINE_S, "the brokers did not take a record for t"),
        (int(LONG_DEADLINE_S * 1000), 0.0, "nobody knows whether the brokers took a record; try again"),
    ],
    ids=["librdkafka gives up", "nobody answers"],
)
def test_whoever_sends_while_the_brokers_are_away_gets_an_answer(
    monkeypatch: pytest.MonkeyPatch, send_ms: int, most_s: float, told: str
) -> None:
    monkeypatch.setattr("rota.streaming.brokers.sender._SEND_MS", send_ms)
    monkeypatch.setattr("rota.streaming.brokers.sender._MOST_WAIT_S", most_s)
    sender = Sender(NOBODY)

    fates = sender.send_all("t", [RECORD, RECORD])

    assert [type(fate) for fate in fates] == [StoreUnavailable] * 2
    assert {told in str(fate) for fate in fates} == {True}
    with pytest.raises(StoreUnavailable, match=told):
        sender.send("t", RECORD)


def test_more_records_than_can_wait_are_refused_each_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.streaming.brokers.sender._MOST_WAIT_S", 0.0)
    sender = Sender(structs.replace(NOBODY, client_options={"queue.buffering.max.messages": "2"}))

    fates = sender.send_all("t", [RECORD] * 3)

    assert ["too many records wait" in str(fate) for fate in fates] == [False, False, True]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (KafkaError.MSG_SIZE_TOO_LARGE, InvalidInput),
        (KafkaError.RECORD_LIST_TOO_LARGE, InvalidInput),
        (KafkaError._MSG_TIMED_OUT, StoreUnavailable),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, StoreUnavailable),
    ],
)
def test_only_a_record_that_is_too_large_is_the_fault_of_whoever_sends_it(code: int, kind: type[RotaError]) -> None:
    answer = _Answer("t")

    answer.refuse(KafkaError(code))

    assert (type(answer.fate), answer.is_there.is_set(), answer.is_fatal) == (kind, True, False)


@pytest.mark.parametrize("error", [KafkaError(KafkaError._FATAL), KafkaError(KafkaError.UNKNOWN, fatal=True)])
def test_a_fatal_error_is_known_as_such(error: KafkaError) -> None:
    answer = _Answer("t")

    answer.refuse(error)

    assert answer.is_fatal
