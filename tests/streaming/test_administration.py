"""Questions to the brokers: a client that was not answered does not live on."""

import gc
from collections.abc import Callable, Iterator
from weakref import ReferenceType, ref

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from rota.errors import StoreUnavailable
from rota.streaming.brokers.administration import Administration
from rota.streaming.options import StreamOptions
from rota.streaming.restore import LATEST, offsets_of

NOBODY = StreamOptions(brokers=("127.0.0.1:1",))


@pytest.fixture
def uncollected() -> Iterator[None]:
    """What refers to itself stays."""
    gc.disable()
    yield
    gc.enable()


def ask_for_group(client: AdminClient) -> object:
    answers = client.describe_consumer_groups(["group"], request_timeout=0.1)
    return answers["group"].result()


def ask_for_end(client: AdminClient) -> object:
    return offsets_of(client, [TopicPartition("topic", 0)], LATEST, timeout_s=0.1)


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("question", [ask_for_group, ask_for_end])
def test_a_client_that_was_not_answered_is_gone_before_anybody_hears_of_it(
    question: Callable[[AdminClient], object],
) -> None:
    clients: list[ReferenceType[AdminClient]] = []

    def watched(client: AdminClient) -> object:
        clients.append(ref(client))
        return question(client)

    with pytest.raises(StoreUnavailable, match="the brokers did not answer") as refused:
        Administration(NOBODY).ask(watched)

    assert [client() for client in clients] == [None], f"it lives on with {refused.value!r}"
