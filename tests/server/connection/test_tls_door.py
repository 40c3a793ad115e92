"""Connections to a server with TLS that never shake hands: they are few, and not for long."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
import uvloop

from rota.server.connection import limits
from rota.server.listen import Tls, address_of, listen, serve
from tests.server.test_listen import fetch, hello, make_certificate

LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]
Scene = Callable[[tuple[str, int], str], None]


@pytest.fixture(params=LOOPS, ids=["asyncio", "uvloop"])
def play(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Scene], None]:
    """Plays a scene in a thread, with a server of at most 40 connections."""
    certificate, key = make_certificate(tmp_path)
    trusting = ssl.create_default_context(cafile=certificate)

    async def serving(scene: Scene) -> None:
        stopping, listener = asyncio.Event(), listen("127.0.0.1", 0)
        address, url = listener.getsockname(), address_of(listener, has_tls=True)
        server = asyncio.create_task(serve(hello, listener, stopping, tls=Tls(certificate, key), max_connections=40))
        try:
            await asyncio.to_thread(scene, address, url)
            assert await asyncio.to_thread(fetch, url, trusting) == b"hello"
        finally:
            stopping.set()
            await server

    def played(scene: Scene) -> None:
        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(serving(scene))

    return played


def ended(client: socket.socket) -> bool:
    """Wait for the end of a connection."""
    try:
        return client.recv(1) == b""
    except ConnectionError:
        return True


def test_those_that_begin_no_handshake_make_room(
    play: Callable[[Scene], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "HEAD_S", 1_000)

    def scene(address: tuple[str, int], url: str) -> None:
        clients = [socket.create_connection(address, timeout=60) for _ in range(60)]

        assert all(ended(one) for one in clients[:50])
        for one in clients:
            one.close()

    play(scene)


def test_a_handshake_has_a_time(play: Callable[[Scene], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HEAD_S", 0.2)

    def scene(address: tuple[str, int], url: str) -> None:
        for said in (b"", b"\x16\x03", b"GET / HTTP/1.1\r\n\r\n"):
            with socket.create_connection(address, timeout=60) as client:
                client.sendall(said)
                while client.recv(100):
                    pass  # an alert may come first
        monkeypatch.setattr(limits, "HEAD_S", 1_000)  # for whoever asks next

    play(scene)
