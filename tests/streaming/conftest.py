"""A Kafka broker for the tests of this folder, started when the first of them asks, once per test process."""

import os
from collections.abc import Iterator

import pytest
from msgspec import structs

from tests.broker import ACCOUNT, KafkaBroker, kafka_home
from tests.streaming.kafka import Kafka

_MISSING = "no Kafka: run the tests with `make test`, or name one with KAFKA_HOME or KAFKA_BOOTSTRAP"


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


@pytest.fixture
def kafka(bootstrap: str) -> Iterator[Kafka]:
    """A light scheduler of its own on the shared broker: other topics, another group."""
    with Kafka(bootstrap) as made:
        yield made


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
