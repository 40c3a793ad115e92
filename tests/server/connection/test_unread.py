"""Long answers that are not read: the server keeps so much of them and no more, and whoever reads gets his."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from rota.server.connection.facts import CONNECTION, END
from rota.server.connection.unread import SLICE, UnreadAnswers
from rota.server.listen import listen, serve
from tests.engine.working import until

MIB = 1024 * 1024
SIZE = 32 * MIB
"""More than the kernel takes for a client that does not read."""
ASK = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


class Answering:
    """An ASGI app with one long answer for everybody."""

    def __init__(self, most: int) -> None:
        self.unread = UnreadAnswers(most)
        self.waiting = self.unread._waiting

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.unread.give(self.answer(), scope, receive, send)

    def answer(self) -> Response:
        return Response(b"x" * SIZE)


class Streaming(Answering):
    """Gives the same part by part, the last of them short."""

    def answer(self) -> Response:
        async def parts() -> AsyncIterator[bytes]:
            for part in (b"x" * (SIZE - 2), b"y", b"z"):
                yield part

        return StreamingResponse(parts())


def played(app: Answering, scene: Callable[[tuple[str, int]], Awaitable[None]]) -> None:
    async def play() -> None:
        stopping, listener = asyncio.Event(), listen("127.0.0.1", 0)
        serving = asyncio.create_task(serve(app, listener, stopping))
        try:
            await asyncio.wait_for(scene(listener.getsockname()), 90)
        finally:
            stopping.set()
            await serving

    asyncio.run(play())


async def asking(address: tuple[str, int]) -> socket.socket:
    """Somebody who asks and does not read."""
    client = socket.socket()
    client.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(client, address)
    await loop.sock_sendall(client, ASK)
    return client


async def read(client: socket.socket) -> int:
    """How many bytes come until the connection ends, however it ends."""
    count = 0
    try:
        while part := await asyncio.get_running_loop().sock_recv(client, MIB):
            count += len(part)
    except ConnectionError:
        pass
    client.close()
    return count


@pytest.mark.parametrize("kind", [Answering, Streaming])
def test_the_client_that_has_read_nothing_for_longest_is_let_go(kind: type[Answering]) -> None:
    app = kind(most=3 * SIZE)

    async def scene(address: tuple[str, int]) -> None:
        clients = []
        for _ in range(3):
            clients.append(await asking(address))
            await until(lambda: len(app.waiting) == len(clients), "the answer to wait")

        assert await read(await asking(address)) > SIZE
        assert len(app.waiting) == 2

        assert [await read(one) > SIZE for one in clients] == [False, True, True]
        assert not app.waiting

    played(app, scene)


@pytest.mark.parametrize("kind", [Answering, Streaming])
def test_an_answer_larger_than_the_room_is_given_all_the_same(kind: type[Answering]) -> None:
    app = kind(most=MIB)

    async def scene(address: tuple[str, int]) -> None:
        assert await read(await asking(address)) > SIZE
        assert await read(await asking(address)) > SIZE

    played(app, scene)


class Reader:
    """A client whose every slice is waited for until it is told to take it."""

    def __init__(self, unread: UnreadAnswers, size: int) -> None:
        self.slices = 0
        self.is_let_go = False
        self.may_take = asyncio.Semaphore(0)
        scope = {"type": "http", CONNECTION: {END: self._end}}
        self.answered = asyncio.create_task(unread.give(Response(b"x" * size), scope, self._receive, self._send))

    def _end(self) -> None:
        self.is_let_go = True

    async def _receive(self) -> Message:
        return {"type": "http.request"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.body":
            self.slices += 1
            await self.may_take.acquire()


def test_who_goes_on_reading_is_not_let_go_however_early_it_began() -> None:
    size = 4 * SLICE

    async def scene() -> None:
        unread = UnreadAnswers(most=2 * size)
        reading = Reader(unread, size)
        await until(lambda: reading.slices == 1, "the first slice")
        silent = Reader(unread, size)
        await until(lambda: silent.slices == 1, "the first slice")
        assert not reading.is_let_go, "there is room for both"
        reading.may_take.release()
        await until(lambda: reading.slices == 2, "the second slice")

        newest = Reader(unread, size)
        await until(lambda: newest.slices == 1, "the first slice")

        assert [one.is_let_go for one in (reading, silent, newest)] == [False, True, False]
        for one in (reading, silent, newest):
            for _ in range(4):
                one.may_take.release()
            await one.answered
        assert [one.slices for one in (reading, silent, newest)] == [4, 4, 4]
        assert not unread._waiting

    asyncio.run(scene())


def test_long_answers_wait_in_what_the_document_says() -> None:
    """`docs/security.md` names it."""
    assert UnreadAnswers()._most == 128 * MIB
