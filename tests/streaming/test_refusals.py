"""What the brokers did not take, what becomes of it, and for how long it is not tried again."""

from typing import Any

from confluent_kafka import KafkaError

from rota.streaming.brokers.refusals import Failures, Refusals, Refused
from rota.streaming.options import StreamOptions
from rota.streaming.round import Rounds
from tests.streaming.test_partition import NOW, entry, partition_with

SLOW: frozenset[str] = frozenset({"slow"})
NOTHING: frozenset[str] = frozenset()


def failures(*errors: tuple[int, str, bytes | None]) -> Failures:
    """Of records in one partition."""
    made = Failures()
    for code, topic, key in errors:
        made.add(KafkaError(code), topic, key, 0)
    return made


def test_only_what_is_known_to_condemn_a_topic_refuses_its_records() -> None:
    found = failures(
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "forbidden", b"k"),
        (KafkaError._MSG_TIMED_OUT, "slow", b"k"),
        (KafkaError.NOT_ENOUGH_REPLICAS, "few", b"k"),
        (KafkaError.UNKNOWN, "odd", b"k"),
        (KafkaError._UNKNOWN_TOPIC, "gone", b"k"),
    )

    assert {*found.refused} == {Refused("forbidden")}
    assert {*found.late} == {"slow", "few", "odd", "gone"}


def test_records_that_share_the_fate_of_a_transaction_are_not_to_blame() -> None:
    found = failures(
        (KafkaError._PURGE_QUEUE, "due", b"k"),
        (KafkaError._PURGE_INFLIGHT, "due", b"k"),
        (KafkaError._STATE, "due", b"k"),
    )

    assert (found.refused, found.late, found.too_large()) == ({}, {}, {})


def test_a_record_is_too_large_if_it_was_alone_and_neighbours_of_a_batch_are_sent_alone() -> None:
    alone = failures((KafkaError.MSG_SIZE_TOO_LARGE, "due", b"large"))
    together = failures((KafkaError.MSG_SIZE_TOO_LARGE, "due", b"large"), (KafkaError.MSG_SIZE_TOO_LARGE, "due", b"k"))
    refusals = Refusals()

    refusals.learn(together, now=0)
    assert refusals.reason("due", b"large", 1) is None
    assert (refusals.is_alone("due", 1), refusals.is_alone("other", 1)) == (True, False)
    refusals.learn(alone, now=1)

    assert refusals.reason("due", b"large", 2)
    assert refusals.reason("due", b"k", 2) is None
    assert not refusals.is_closed("due", 2)


def test_while_records_are_sent_alone_a_round_has_no_more_of_them_than_fit_a_transaction() -> None:
    together = failures((KafkaError.MSG_SIZE_TOO_LARGE, "due", b"large"), (KafkaError.MSG_SIZE_TOO_LARGE, "due", b"k"))
    nobody: Any = None
    rounds = Rounds(StreamOptions(brokers=("nobody",)), nobody, nobody, partitions=2)

    def planned(now: int) -> int:
        partitions = [partition_with({str(n).encode(): entry(60_000) for n in range(1_000)}) for _ in range(2)]
        return sum(len(work.fires) for work in rounds._plan(partitions, [], now))

    assert planned(NOW) == 2_000
    rounds.learn(together, NOW)

    assert planned(NOW) == 100
    assert planned(NOW + 60_000) > 2_000


def test_several_tasks_of_one_definition_that_are_too_large_together_are_sent_alone_too() -> None:
    large = (KafkaError.MSG_SIZE_TOO_LARGE, "due", b"k")

    found = failures(large, large)

    assert (found.too_large(), found.large_batches()) == ({}, {"due"})


def test_what_was_refused_is_tried_again_after_a_minute() -> None:
    refusals = Refusals()
    refusals.learn(
        failures((KafkaError.POLICY_VIOLATION, "closed", None), (KafkaError.MSG_SIZE_TOO_LARGE, "due", b"k")), now=0
    )

    assert refusals.reason("closed", b"any", 59_999)
    assert refusals.is_closed("closed", 59_999)
    assert refusals.reason("due", b"k", 59_999)
    assert refusals.reason("due", b"other", 59_999) is None
    assert refusals.reason("closed", b"any", 60_000) is None
    assert not refusals.is_closed("closed", 60_000)
    assert refusals.reason("due", b"k", 60_000) is None


def test_a_topic_is_set_aside_for_longer_each_time_until_it_takes_something() -> None:
    refusals = Refusals()
    late = failures((KafkaError._MSG_TIMED_OUT, "slow", b"k"))

    refusals.learn(late, now=0)
    assert (refusals.aside(4_999), refusals.aside(5_000)) == (SLOW, NOTHING)
    refusals.learn(late, now=5_000)
    assert (refusals.aside(14_999), refusals.aside(15_000)) == (SLOW, NOTHING)
    for _ in range(20):
        refusals.learn(late, now=15_000)
    assert (refusals.aside(314_999), refusals.aside(315_000)) == (SLOW, NOTHING)
    refusals.took(["slow"])
    refusals.learn(late, now=400_000)

    assert (refusals.aside(404_999), refusals.aside(405_000)) == (SLOW, NOTHING)


def test_a_topic_that_is_set_aside_or_refused_is_closed_and_no_other() -> None:
    """No round waits for a topic that is missing and cannot be made."""
    refusals, failures = Refusals(), Failures()
    failures.late["slow"] = "it took nothing in time"
    failures.refused[Refused("forbidden")] = "it may not be written"

    refusals.learn(failures, NOW)

    assert [refusals.is_closed(one, NOW) for one in ("slow", "forbidden", "other")] == [True, True, False]
    assert [refusals.is_closed(one, NOW + 5_000) for one in ("slow", "forbidden")] == [False, True]
