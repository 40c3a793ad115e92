"""A node's own line to Redis, when nobody answers: its calls end in time for the next one."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from rota.errors import StoreUnavailable
from rota.model.node import Node
from rota.store.redis.link.connection import Address
from rota.store.redis.nouns.claims.lifeline import RedisLifeline
from tests.contract.racing import error_of
from tests.servers import RedisServer
from tests.system.proxy import Proxy

PATIENCE_S = 0.6
FOR_EVER_S = 100_000


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


NAMES = ["renew_claims", "beat"]
SIGNS_OF_LIFE: list[Callable[[RedisLifeline], object]] = [
    lambda line: line.renew_claims("queue", "node", {}),
    lambda line: line.beat(Node(uuid="node", node_type="queue", last_ping=0)),
]


@pytest.mark.parametrize("call", SIGNS_OF_LIFE, ids=NAMES)
def test_a_sign_of_life_asks_each_sentinel_once(silent: list[Silent], call: Callable[[RedisLifeline], object]) -> None:
    """The heart tries again by itself, and soon."""
    hosts = ",".join(one.address for one in silent)
    line = RedisLifeline(Address(f"sentinel://{hosts}/service/0"), PATIENCE_S)

    with pytest.raises(StoreUnavailable):
        call(line)
    line.close()

    assert [one.count_callers() for one in silent] == [1, 1, 1]


@pytest.mark.parametrize("scheme", ["redis", "redis+cluster"])
@pytest.mark.parametrize("call", SIGNS_OF_LIFE, ids=NAMES)
def test_a_sign_of_life_has_its_own_patience_whatever_that_of_other_calls(
    silent: list[Silent], scheme: str, call: Callable[[RedisLifeline], object]
) -> None:
    address = Address(f"{scheme}://{silent[0].address}?answer_timeout_s={FOR_EVER_S}")

    assert isinstance(error_of(lambda: call(RedisLifeline(address, PATIENCE_S))), StoreUnavailable)


def test_a_renewal_over_a_line_that_was_cut_in_silence_ends_in_time(redis_server: RedisServer) -> None:
    with Proxy(redis_server.port) as proxy:
        address = Address(f"redis://127.0.0.1:{proxy.ports[0]}/0?answer_timeout_s={FOR_EVER_S}")
        with closing(connected_line(address)) as line:
            proxy.freeze()

            assert isinstance(error_of(lambda: line.renew_claims("queue", "node", {})), StoreUnavailable)


def connected_line(address: Address) -> RedisLifeline:
    """One with as little patience as this machine allows just now."""
    for patience_s in (PATIENCE_S * 2**tries for tries in range(8)):
        line = RedisLifeline(address, patience_s)
        try:
            line.renew_claims("queue", "node", {})
        except StoreUnavailable:
            line.close()
        else:
            return line
    raise AssertionError("no renewal was answered")
