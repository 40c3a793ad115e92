"""What `/health` and `rota doctor` say while the brokers are away, and of topics that cannot be made."""

import os
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourceType,
)
from msgspec import structs

from rota.streaming.brokers.watch import Watch
from tests.broker import KafkaBroker
from tests.cli.calling import RotaProcess, rota
from tests.servers import wait_until
from tests.streaming.conftest import own_broker
from tests.streaming.kafka import PARTITIONS, Kafka
from tests.streaming.test_accounts import CLUSTER, forbidden, ruled
from tests.system.up import Up

KEY = "only-for-this-test-0123456789abcdef"
WELL = (200, "ok")


@pytest.fixture
def broker() -> Iterator[KafkaBroker]:
    """One that a test may pause and kill."""
    with own_broker() as made:
        yield made


def start(kafka: Kafka, folder: Path, **variables: str) -> RotaProcess:
    return RotaProcess(
        ["up", "--kafka", kafka.bootstrap, "--port", "0", "--json"],
        folder,
        **{
            "ROTA_API_KEY": KEY,
            "ROTA_KAFKA_INPUT_TOPIC": kafka.options.input_topic,
            "ROTA_KAFKA_PARTITIONS": str(PARTITIONS),
            "ROTA_KAFKA_SESSION_TIMEOUT_S": "15",
            **variables,
        },
    )


def wait_for_health(up: Up, status: int, text: str) -> None:
    seen: list[tuple[int, str]] = []

    def is_so() -> bool:
        seen.append(up.ask("/health"))
        return seen[-1][0] == status and text in seen[-1][1]

    try:
        wait_until(is_so, f"/health to say {text!r}")
    except Exception as error:
        raise AssertionError(f"it says {seen[-1]}") from error


def sends(up: Up, kafka: Kafka, name: str) -> int:
    """The status of the answer to a command for a task that is due in an hour."""
    frequency = {"timeUnit": "HOURS", "time": 1}
    body = {"host": "networknt.com", "name": name, "topic": kafka.due, "frequency": frequency}
    return up.ask("/schedulers", msgspec.json.encode(body))[0]


def test_health_tells_of_brokers_that_are_away_although_nothing_is_due_and_of_their_return(
    broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Kafka(broker.bootstrap) as kafka, start(kafka, tmp_path) as process:
        up = Up(process, key=KEY)
        wait_for_health(up, *WELL)
        wait_until(lambda: sends(up, kafka, "before") == 200, "a command to be taken")

        os.kill(broker.pid, signal.SIGSTOP)
        wait_for_health(up, 503, "the brokers do not answer")
        assert sends(up, kafka, "during") == 503
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("ROTA_KAFKA", broker.bootstrap)
        answer = rota("doctor", "--json")
        (found,) = [one for one in answer.json["findings"] if one["check"] == "kafka"]
        assert (answer.exit_code, "the brokers did not answer" in found["message"]) == (7, True)

        os.kill(broker.pid, signal.SIGCONT)
        wait_for_health(up, *WELL)
        broker.kill9()
        wait_for_health(up, 503, "the brokers do not answer")
        broker.start()
        wait_for_health(up, *WELL)
        wait_for_definition(up, "before")


@pytest.mark.mock_will_do
def test_a_watch_whose_client_forgot_all_brokers_finds_them_with_another_one(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers, is_told = count(), Event()

    class ForgetfulAtFirst(AdminClient):
        def __init__(self, *options: Any) -> None:
            super().__init__(*options)
            self.number = next(numbers)

        def list_topics(self, *args: Any, **options: Any) -> Any:
            if self.number == 0:
                raise KafkaException(KafkaError(KafkaError._TRANSPORT))
            is_told.wait()
            return super().list_topics(*args, **options)

    monkeypatch.setattr("rota.streaming.brokers.watch.AdminClient", ForgetfulAtFirst)
    monkeypatch.setattr("rota.streaming.brokers.watch._EVERY_S", 0.1)
    watch, stopping = Watch(kafka.options), Event()

    watch.start(stopping)

    wait_until(lambda: watch.trouble is not None, "the brokers to be missed")
    assert watch.trouble == "the brokers do not answer: Local: Broker transport failure"
    is_told.set()
    wait_until(lambda: watch.trouble is None, "the brokers to be found")
    stopping.set()


def test_whoever_asks_while_the_brokers_are_away_does_not_end_the_node_when_they_return(
    broker: KafkaBroker, tmp_path: Path
) -> None:
    (tmp_path / "rota.yaml").write_text("light: {optional_parameters: true}\n")
    broker.kill9()
    with Kafka(broker.bootstrap) as kafka, start(kafka, tmp_path) as process:
        up = Up(process, key=KEY)
        status, text = up.ask("/schedulers")
        assert (status, "the brokers did not answer" in text) == (503, True)
        broker.start()
        wait_for_health(up, *WELL)
        wait_until(lambda: up.ask("/schedulers") == (200, "[]"), "an answer")


def wait_for_definition(up: Up, name: str) -> None:
    seen: list[tuple[int, str]] = []

    def is_found() -> bool:
        seen.append(up.ask(f"/schedulers?host=networknt.com&name={name}&unit=HOURS"))
        return seen[-1][0] == 200 and [one["name"] for one in msgspec.json.decode(seen[-1][1])] == [name]

    try:
        wait_until(is_found, "the definition")
    except Exception as error:
        raise AssertionError(f"it says {seen[-1]}, and its log {up.process.log_lines()[-20:]}") from error


def test_more_replicas_than_there_are_brokers_are_told_with_the_topic_and_what_to_do(
    kafka: Kafka, tmp_path: Path
) -> None:
    with start(kafka, tmp_path, ROTA_KAFKA_REPLICATION="3") as process:
        up = Up(process, key=KEY)
        wait_for_health(up, 503, f"topic {kafka.options.input_topic} is missing, or hidden from this account")
        status, text = up.ask("/health")

    assert (status, "kafka.replication" in text) == (503, True)


def test_a_topic_that_the_account_may_not_make_is_told_and_served_when_somebody_else_has_made_it(
    guarded: Kafka,
) -> None:
    name = guarded.options.input_topic
    with (
        forbidden(guarded, ResourceType.BROKER, CLUSTER, AclOperation.CREATE),
        forbidden(guarded, ResourceType.TOPIC, name, AclOperation.CREATE),
        ruled(guarded, ResourceType.TOPIC, name, AclOperation.ALL, AclPermissionType.ALLOW),
    ):
        instance = guarded.start()
        wait_until(lambda: f"topic {name} is missing" in (instance.trouble or ""), "the trouble")

        guarded.make_topic(name, {})

        wait_until(lambda: instance.trouble is None, "the trouble to be over")


def test_tasks_for_a_topic_that_cannot_be_made_wait_and_the_others_go_on(
    kafka: Kafka, caplog: pytest.LogCaptureFixture
) -> None:
    often = {"timeUnit": "MILLISECONDS", "time": 200}
    kafka.started().close()
    kafka.options = structs.replace(kafka.options, replication=3)  # of topics that are missing: those of due tasks
    free = f"{kafka.due}-free"
    kafka.make_topic(free, {})
    instance = kafka.started()

    instance.apply(kafka.command("waits", frequency=often))
    told = "tasks wait: their topic did not take one in time"
    wait_until(lambda: told in caplog.messages, "the topic to be set aside")
    instance.apply(kafka.command("free", topic=free, frequency=often))
    wait_until(lambda: kafka.count(free) > 5, "the others to go on")
    wait_until(lambda: instance.trouble is None, "no trouble: one topic is none")
    kafka.make_topic(kafka.due, {})

    instants = [task.definition.start or 0 for task in kafka.tasks(30)]
    assert instants == list(range(instants[0], instants[0] + 200 * len(instants), 200))
