"""The key with which instances of the light scheduler ask each other is no way around what slows guessing down."""

import pytest

from rota.clock import ManualClock
from rota.server.api import Api, ServerOptions
from rota.settings import Settings
from rota.store import Store
from rota.streaming.options import StreamOptions
from rota.streaming.scheduler import KafkaScheduler
from tests.server.routes.test_system import guess
from tests.server.serving import make_api, served

PEER_KEY = "made-of-the-admin-key"
NO_PARTITION = "/api/schedulers/partitions/none"
"""Whoever is let in is told that this is no number."""


@pytest.mark.parametrize(("admin_key", "status_then"), [("chosen", 429), ("c4f1" + "0123456789abcdef" * 4, 400)])
def test_one_that_could_be_guessed_is_not_found_among_too_many_guesses(
    kept: Store, admin_key: str, status_then: int
) -> None:
    clock = ManualClock()
    made = make_api(kept, clock=clock)
    made.engine.light = KafkaScheduler(StreamOptions(brokers=("127.0.0.1:1",), peer_key=PEER_KEY), clock)
    settings = Settings(api_key=admin_key)
    api = Api(made.engine, keys=made.keys, health=lambda: None, options=ServerOptions(), settings=settings)
    with served(api, key=None) as client:

        def status(key: str) -> int:
            return client.get(NO_PARTITION, headers={"Authorization": f"Bearer {key}"}).status_code

        before = {status(PEER_KEY) for _ in range(150)}
        wrong = [status(f"{PEER_KEY}-{number}") for number in range(101)]
        guess(client)
        then = status(PEER_KEY)

    assert (before, wrong, then) == ({400}, [401] * 100 + [429], status_then)
