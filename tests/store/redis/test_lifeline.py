"""A node's own line to Redis, when nobody answers: its calls end in time for the next one."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from rota.errors import StoreUnavailable
from rota.model.node import Node
from rota.store.redis.link.connection import Address
from rota.store.redis.nouns.claims.lifeline import RedisLifeline

PATIENCE_S = 0.6


class Silent:
    """A server that accepts and says nothing, as one looks behind a network that drops packets."""

    def __init__(self, stack: ExitStack) -> None:
        self._listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self._listener.setblocking(False)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"

    def count_callers(self) -> int:
        """How often somebody connected; the kernel keeps them until they are asked for."""
        callers = 0
        while True:
            try:
                self._listener.accept()[0].close()
            except BlockingIOError:
                return callers
            callers += 1


@pytest.fixture
def silent() -> Iterator[list[Silent]]:
    with ExitStack() as stack:
        yield [Silent(stack) for _ in range(3)]


@pytest.mark.parametrize(
    "call",
    [
        lambda line: line.renew_claims("queue", "node", {}),
        lambda line: line.beat(Node(uuid="node", node_type="queue", last_ping=0)),
    ],
    ids=["renew_claims", "beat"],
)
def test_a_sign_of_life_asks_each_sentinel_once(silent: list[Silent], call: Callable[[RedisLifeline], object]) -> None:
    """The heart tries again by itself, and soon."""
    hosts = ",".join(one.address for one in silent)
    line = RedisLifeline(Address(f"sentinel://{hosts}/service/0"), PATIENCE_S)

    with pytest.raises(StoreUnavailable):
        call(line)
    line.close()

    assert [one.count_callers() for one in silent] == [1, 1, 1]
