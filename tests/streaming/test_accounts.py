"""Brokers that ask who comes, and do not let everybody do everything."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)
from msgspec import structs

from rota.engine.topics.topics import named_record
from rota.errors import InvalidInput, RotaError, StoreUnavailable
from rota.streaming.brokers.sender import KafkaPublisher, Outgoing, Sender
from rota.streaming.round import REASON
from tests.broker import ACCOUNT
from tests.cli.calling import rota
from tests.servers import wait_until
from tests.streaming.conftest import account_options
from tests.streaming.kafka import Kafka, header_of

OFTEN = {"timeUnit": "MILLISECONDS", "time": 50}
CLUSTER = "kafka-cluster"


def forbidden(kafka: Kafka, what: ResourceType, name: str, operation: AclOperation) -> AbstractContextManager[None]:
    """The account may not do it, meanwhile."""
    return ruled(kafka, what, name, operation, AclPermissionType.DENY)


@contextmanager
def ruled(
    kafka: Kafka, what: ResourceType, name: str, operation: AclOperation, permission: AclPermissionType
) -> Iterator[None]:
    """The account has a rule of its own, meanwhile: nothing else of the resource is allowed to it then."""
    named = (what, name, ResourcePatternType.LITERAL, f"User:{ACCOUNT[0]}", "*", operation, permission)
    (made,) = kafka.admin.create_acls([AclBinding(*named)]).values()
    made.result()
    known = AclBindingFilter(*named)
    wait_until(lambda: bool(kafka.admin.describe_acls(known).result()), "the rule")
    try:
        yield
    finally:
        (removed,) = kafka.admin.delete_acls([AclBindingFilter(*named)]).values()
        removed.result()


def test_a_topic_that_may_not_be_written_does_not_stop_the_others(guarded: Kafka) -> None:
    closed = f"{guarded.due}-closed"
    guarded.make_topic(closed, {})
    with forbidden(guarded, ResourceType.TOPIC, closed, AclOperation.WRITE):
        instance = guarded.started()
        instance.apply(guarded.command("refused", topic=closed, frequency=OFTEN))
        instance.apply(guarded.command("free", frequency=OFTEN))

        assert len(guarded.tasks(5)) >= 5
        (letter, *_) = guarded.dead_letters(1)
        assert f"topic {closed} did not take it" in header_of(letter, REASON)


def test_a_wrong_password_is_told_by_the_instance_and_the_doctor(
    guarded: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whoever is not let in waits for all of it.
    monkeypatch.setattr("rota.streaming.brokers.topics._TIMEOUT_S", 5.0)
    monkeypatch.setattr("rota.streaming.survey._TIMEOUT_S", 30.0)
    wrong = account_options(ACCOUNT[0], "wrong")
    guarded.options = structs.replace(guarded.options, client_options=wrong)

    instance = guarded.start()

    wait_until(lambda: "uthentication" in (instance.trouble or ""), "the trouble to be told")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROTA_KAFKA", guarded.options.brokers[0])
    monkeypatch.setenv("ROTA_KAFKA_OPTIONS", ",".join(f"{name}={value}" for name, value in wrong.items()))
    answer = rota("doctor", "--json")
    assert answer.exit_code == 7
    (found,) = [one for one in answer.json["findings"] if one["check"] == "kafka"]
    assert "uthentication" in found["message"]


def test_a_group_that_may_not_be_joined_is_told(guarded: Kafka) -> None:
    with forbidden(guarded, ResourceType.GROUP, guarded.options.group, AclOperation.READ):
        instance = guarded.start()
        wait_until(lambda: "roup authorization failed" in (instance.trouble or ""), "the trouble")

    wait_until(lambda: instance.trouble is None, "the trouble to be over")


def test_a_producer_that_met_a_fatal_error_is_made_anew(guarded: Kafka, caplog: pytest.LogCaptureFixture) -> None:
    guarded.make_topic(guarded.due, {})
    with (
        # It finds the topic, or its record would be refused for that before the brokers refuse the producer.
        ruled(guarded, ResourceType.TOPIC, "*", AclOperation.DESCRIBE, AclPermissionType.ALLOW),
        forbidden(guarded, ResourceType.TOPIC, "*", AclOperation.WRITE),
        forbidden(guarded, ResourceType.BROKER, CLUSTER, AclOperation.IDEMPOTENT_WRITE),
    ):
        sender = Sender(guarded.options)

        def meets_fatal_error() -> bool:
            with pytest.raises(StoreUnavailable):
                sender.send(guarded.due, Outgoing(None, b"1"))
            return "a producer is made anew after a fatal error" in caplog.messages

        wait_until(meets_fatal_error, "a fatal error")

    def sends() -> bool:
        return isinstance(sender.send_all(guarded.due, [Outgoing(None, b"2")])[0], int)

    wait_until(sends, "the right to write")


def test_each_record_that_a_job_publishes_has_its_own_fate(kafka: Kafka) -> None:
    kafka.make_topic(kafka.due, {"max.message.bytes": "900"}, partitions=1)
    large = "".join(map(str, range(2_000)))
    records = [
        named_record(f"{number}", key=None, value=large if number == 3 else number, now=0) for number in range(6)
    ]

    fates = KafkaPublisher(kafka.options).publish(kafka.due, records)

    assert [type(fate) for fate in fates] == [int, int, int, InvalidInput, int, int]
    assert sorted(fate for fate in fates if not isinstance(fate, RotaError)) == list(range(5))


def test_the_doctor_finds_brokers_instances_and_dead_letters(
    kafka: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROTA_KAFKA", kafka.bootstrap)
    monkeypatch.setenv("ROTA_KAFKA_INPUT_TOPIC", kafka.options.input_topic)

    def told() -> list[str]:
        answer = rota("doctor", "--json")
        assert answer.exit_code == 0, answer
        return [one["message"] for one in answer.json["findings"] if one["check"] == "kafka"]

    before = told()
    kafka.started()
    kafka.produce_raw(b"k", b"rubbish", 0)
    kafka.dead_letters(1)
    after = told()

    assert before[0] == f"1 brokers answer at {kafka.bootstrap}"
    assert [one.partition(":")[0] for one in before[1:]] == [
        "topics are missing",
        "no instance is running, so nothing is sent",
    ]
    assert after[0] == before[0]
    assert f"{kafka.options.dead_letter_topic} has " in after[1]
    assert len(after) == 2


def test_the_doctor_says_that_topics_do_not_fit_together(
    kafka: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROTA_KAFKA", kafka.bootstrap)
    monkeypatch.setenv("ROTA_KAFKA_INPUT_TOPIC", kafka.options.input_topic)
    kafka.make_topic(kafka.options.input_topic, {}, partitions=1)
    kafka.make_topic(kafka.options.changelogs[0], {}, partitions=2)

    answer = rota("doctor", "--json")

    assert answer.exit_code == 7
    assert any("has 2 partitions" in one["message"] for one in answer.json["findings"])
