"""Who goes when there is one connection too many: last of all a client whose request the server has not read yet."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import ExitStack

import pytest
import uvloop
from starlette.types import Receive, Scope, Send

from rota.server.connection import config
from rota.server.connection.protocol import BoundedProtocol
from rota.server.listen import listen, serve
from tests.patience import DEADLINE_S

MOST = 5
WHOLE = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
LONG = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"


async def here(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers at once, whatever there is of a body."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
    await send({"type": "http.response.body", "body": b"here"})


class Place:
    """A server with room for `MOST` connections, and its clients."""

    def __init__(self, clients: ExitStack) -> None:
        self._clients = clients
        self._listener = listen("127.0.0.1", 0)

    def connected(self) -> socket.socket:
        made = socket.create_connection(self._listener.getsockname(), timeout=DEADLINE_S)
        return self._clients.enter_context(made)

    async def serve_while(self, scene: Callable[["Place"], None]) -> None:
        stopping = asyncio.Event()
        serving = asyncio.create_task(serve(here, self._listener, stopping, max_connections=MOST))
        try:
            await asyncio.to_thread(scene, self)
        finally:
            stopping.set()
            await serving


def played(
    scene: Callable[[Place], None], new_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
) -> None:
    with ExitStack() as clients, asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(Place(clients).serve_while(scene))


def said(connection: socket.socket) -> bytes:
    """All that the server says until it ends the connection, however it does that."""
    parts = []
    try:
        while part := connection.recv(65_536):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


@pytest.fixture
def just_before_one_too_many(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Has something done on the loop in the moment in which one connection too many is made, so that nothing is read
    between the two."""
    monkeypatch.setattr(config, "_LOOK_S", 3600)  # nobody looks at them before
    make = BoundedProtocol.connection_made

    def arrange(act: Callable[[], object]) -> None:
        def act_and_make(one: BoundedProtocol, transport: asyncio.Transport) -> None:
            if len(one.connections) == MOST:
                act()
            make(one, transport)

        monkeypatch.setattr(BoundedProtocol, "connection_made", act_and_make)

    return arrange


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_a_client_whose_request_was_not_read_yet_is_let_go_last(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
    just_before_one_too_many: Callable[[Callable[[], object]], None],
) -> None:
    def scene(place: Place) -> None:
        asking = place.connected()  # the first of all: it has been idle for longest
        just_before_one_too_many(lambda: asking.sendall(WHOLE))
        for _ in range(MOST):
            place.connected()

        assert said(asking).endswith(b"here")

    played(scene, new_loop)


def test_who_goes_on_sending_what_nobody_wants_is_let_go_as_others_are(
    just_before_one_too_many: Callable[[Callable[[], object]], None],
) -> None:
    """On asyncio's loop only: by the other's clock all of them may have come in the same millisecond."""

    def scene(place: Place) -> None:
        sending = place.connected()
        sending.sendall(LONG)
        assert sending.recv(1), "it is answered, and idle since it came"
        just_before_one_too_many(lambda: sending.sendall(b"x"))
        silent = [place.connected() for _ in range(MOST)]
        said(sending)

        silent[0].sendall(WHOLE)
        assert said(silent[0]).endswith(b"here")

    played(scene)
