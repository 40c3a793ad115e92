"""A Kafka broker for the tests of this folder, started when the first of them asks, once per test process."""

import os
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from msgspec import structs

from tests.broker import ACCOUNT, KafkaBroker, kafka_home
from tests.patience import LONG_DEADLINE_S
from tests.streaming.kafka import Kafka

_MISSING = "no Kafka: run the tests with `make test`, or name one with KAFKA_HOME or KAFKA_BOOTSTRAP"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "mock_will_do: where there is no Kafka, librdkafka's mock cluster serves the test"
    )


@pytest.fixture(scope="session")
def shared_broker() -> Iterator[KafkaBroker | None]:
    """The broker that all tests share; None where brokers run already."""
    if os.environ.get("KAFKA_BOOTSTRAP"):
        yield None
        return
    with own_broker() as broker:
        yield broker


@pytest.fixture(scope="session")
def bootstrap(shared_broker: KafkaBroker | None) -> str:
    """Where it is."""
    return shared_broker.bootstrap if shared_broker else os.environ["KAFKA_BOOTSTRAP"]


def own_broker() -> KafkaBroker:
    """A broker for whoever enters it. In CI a missing one is a failure."""
    home = kafka_home()
    if home is None:
        if os.environ.get("CI") == "true":
            pytest.fail(_MISSING)
        pytest.skip(_MISSING)
    return KafkaBroker(home)


@pytest.fixture(scope="session")
def mock_bootstrap() -> Iterator[str]:
    """The cluster that librdkafka has built in. It makes topics by itself, and knows no compaction, no transactions and
    no offsets in them."""
    host = Producer({"bootstrap.servers": "nobody", "test.mock.num.brokers": 1, "log_level": 0})
    brokers = host.list_topics(timeout=LONG_DEADLINE_S).brokers.values()
    yield ",".join(f"{one.host}:{one.port}" for one in brokers)
    host.flush()


@pytest.fixture
def mock(mock_bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kafka]:
    """A light scheduler of its own on that cluster, also where there is a broker: for tests of single parts, none of
    which waits for a session to end. What is slow is the machine."""
    monkeypatch.setattr("rota.streaming.brokers.transactions._ABORT_S", LONG_DEADLINE_S)
    monkeypatch.setattr("rota.streaming.brokers.transactions._TRY_S", LONG_DEADLINE_S)
    with Kafka(mock_bootstrap) as made:
        made.options = structs.replace(made.options, session_timeout_s=LONG_DEADLINE_S)
        made.ask_for_topics()
        yield made


@pytest.fixture
def kafka(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kafka]:
    """A light scheduler of its own on the shared broker: other topics, another group. Without a broker, the tests for
    which it will do have a mock. Whoever asks a slow machine waits for the answer; a user would have to ask again."""
    monkeypatch.setattr("rota.streaming.scheduler._FIND_S", LONG_DEADLINE_S)
    monkeypatch.setattr("rota.streaming.brokers.topics._TIMEOUT_S", 60.0)
    monkeypatch.setattr("rota.streaming.survey._TIMEOUT_S", 60.0)
    monkeypatch.setattr("rota.streaming.brokers.sender._SEND_MS", int(LONG_DEADLINE_S * 1000))
    monkeypatch.setattr("rota.streaming.brokers.sender._MOST_WAIT_S", 2 * LONG_DEADLINE_S)
    is_mock = needs_mock() and request.node.get_closest_marker("mock_will_do") is not None
    with Kafka(request.getfixturevalue("mock_bootstrap" if is_mock else "bootstrap")) as made:
        if is_mock:
            made.ask_for_topics()
        yield made


def needs_mock() -> bool:
    return kafka_home() is None and not os.environ.get("KAFKA_BOOTSTRAP") and os.environ.get("CI") != "true"


@pytest.fixture
def guarded(kafka: Kafka, shared_broker: KafkaBroker | None) -> Kafka:
    """The same, but its instances have to say who they are."""
    if shared_broker is None:
        pytest.skip("the brokers of KAFKA_BOOTSTRAP have no account for tests")
    kafka.options = structs.replace(
        kafka.options, brokers=(shared_broker.guarded,), client_options=account_options(*ACCOUNT)
    )
    return kafka


def account_options(name: str, password: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": name,
        "sasl.password": password,
    }
