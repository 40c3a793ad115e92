"""A Kafka broker for the tests of this folder, started when the first of them asks, once per test process."""

import os
from collections.abc import Iterator

import pytest

from tests.broker import KafkaBroker, kafka_home
from tests.streaming.kafka import Kafka

_MISSING = "no Kafka: run the tests with `make test`, or name one with KAFKA_HOME or KAFKA_BOOTSTRAP"


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    """Where the broker is that all tests share."""
    running = os.environ.get("KAFKA_BOOTSTRAP")
    if running:
        yield running
        return
    with own_broker() as broker:
        yield broker.bootstrap


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
