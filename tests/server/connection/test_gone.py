"""A client that has gone does not hold its connection, whatever it had asked for."""

import asyncio
import ssl
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path

import pytest
import uvloop
from starlette.types import Receive, Scope, Send

from rota.server.connection import config
from rota.server.connection.sockets import gone_clients
from rota.server.listen import Tls, listen, serve
from tests.patience import DEADLINE_S
from tests.server.test_listen import make_certificate

SLOW = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"
QUICK = b"GET /quick HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
MOST = 5


class Place:
    """A server that answers `/slow` only when it is told to, and counts how many such requests began."""

    def __init__(self) -> None:
        self.begun = 0
        self.may_answer = asyncio.Event()
        self._changed = asyncio.Condition()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/slow":
            async with self._changed:
                self.begun += 1
                self._changed.notify_all()
            await self.may_answer.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"here"})

    async def another_begins(self, before: int) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self.begun > before)


class Visit:
    """Whoever comes to the place."""

    def __init__(self, place: Place, address: tuple[str, int]) -> None:
        self.place = place
        self.address = address

    async def begin(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Two requests, of which the second waits behind the first."""
        before = self.place.begun
        reader, writer = await asyncio.open_connection(*self.address)
        writer.write(SLOW * 2)
        await self.place.another_begins(before)
        return reader, writer

    async def ask(self) -> bytes:
        reader, writer = await asyncio.open_connection(*self.address)
        writer.write(QUICK)
        answer = await reader.read()
        writer.close()
        return answer


def played(scene: Callable[[Visit], Coroutine[None, None, None]]) -> None:
    async def play() -> None:
        place, stopping, listener = Place(), asyncio.Event(), listen("127.0.0.1", 0)
        serving = asyncio.create_task(serve(place, listener, stopping, max_connections=MOST))
        try:
            await asyncio.wait_for(scene(Visit(place, listener.getsockname())), 90)
        finally:
            place.may_answer.set()
            stopping.set()
            await serving

    asyncio.run(play())


def test_those_who_have_gone_make_room_for_those_who_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "_LOOK_S", 3600)  # nobody looks at them before there is one too many

    async def scene(visit: Visit) -> None:
        for _ in range(3 * MOST):
            _, writer = await visit.begin()
            writer.close()
            await writer.wait_closed()
        for _ in range(MOST):
            assert b"here" in await visit.ask()

    played(scene)


def test_what_those_who_have_gone_asked_for_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "_LOOK_S", 0.02)

    async def scene(visit: Visit) -> None:
        reader, writer = await visit.begin()
        writer.write_eof()
        with suppress(ConnectionError):
            assert await reader.read() == b"", "the server ends it, too"
        writer.close()
        visit.place.may_answer.set()
        assert b"here" in await visit.ask()

        assert visit.place.begun == 1, "the one that waited was not begun"

    played(scene)


def test_those_who_stay_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "_LOOK_S", 0.02)

    async def scene(visit: Visit) -> None:
        staying, writer = await visit.begin()
        writer.write(QUICK)
        leaving, leaver = await visit.begin()
        leaver.write_eof()
        with suppress(ConnectionError):
            await leaving.read()  # it ends when they have all been looked at
        leaver.close()
        visit.place.may_answer.set()

        assert (await staying.read()).count(b"here") == 3
        writer.close()

    played(scene)


class Looking(asyncio.Protocol):
    """Looks who has gone in the very moment in which it hears that its own client has."""

    def __init__(self) -> None:
        self.found: asyncio.Future[list[object]] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        try:
            self.found.set_result(gone_clients([self._transport]))
        except Exception as error:  # the loop would keep it to itself
            self.found.set_exception(error)


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_a_connection_with_tls_that_has_just_ended_is_passed_over(
    new_loop: Callable[[], asyncio.AbstractEventLoop], tmp_path: Path
) -> None:
    certificate, key = make_certificate(tmp_path)
    trusting = ssl.create_default_context(cafile=certificate)

    async def play() -> list[object]:
        protocol = Looking()
        server = await asyncio.get_running_loop().create_server(
            lambda: protocol, sock=listen("127.0.0.1", 0), ssl=Tls(certificate, key).context()
        )
        async with server:
            _, writer = await asyncio.open_connection(*server.sockets[0].getsockname(), ssl=trusting)
            writer.close()
            return await asyncio.wait_for(protocol.found, DEADLINE_S)

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(play()) == []
