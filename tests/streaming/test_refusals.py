"""What the brokers refuse, and for how long it is not tried again."""

from confluent_kafka import KafkaError

from rota.streaming.brokers.refusals import Refusals, Refused, refusal_of


def test_brokers_that_are_away_refuse_nothing() -> None:
    for code in (KafkaError._MSG_TIMED_OUT, KafkaError._PURGE_QUEUE, KafkaError._UNKNOWN_TOPIC, KafkaError._TRANSPORT):
        assert refusal_of(KafkaError(code), "due", b"k") is None
    assert refusal_of(KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION, retriable=True), "due", b"k") is None


def test_a_topic_is_refused_as_a_whole_and_what_is_too_large_by_its_key() -> None:
    forbidden, large = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)

    assert refusal_of(forbidden, "due", b"k") == Refused("due")
    assert refusal_of(large, "due", b"k") == Refused("due", b"k")


def test_what_was_refused_is_tried_again_after_a_minute() -> None:
    refusals = Refusals()
    refusals.add({Refused("closed"): "no", Refused("due", b"k"): "too large"}, now=0)

    assert refusals.reason("closed", b"any", 59_999) == "no"
    assert refusals.reason("due", b"k", 59_999) == "too large"
    assert refusals.reason("due", b"other", 59_999) is None
    assert refusals.reason("closed", b"any", 60_000) is None
    assert refusals.reason("due", b"k", 60_000) is None
