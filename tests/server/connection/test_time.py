"""A client that is slow on purpose is let go; one that is merely slow is not."""

import asyncio
import threading
from collections.abc import Callable, Coroutine

import pytest
from starlette.types import Receive, Scope, Send

from rota.server.connection import config, limits
from rota.server.connection.protocol import BoundedProtocol
from rota.server.listen import listen, serve
from tests.patience import DEADLINE_S

POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"
BIG = 64 * 1024 * 1024
Scene = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[None, None, bytes]]


async def taking(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads a body and says how long it was; `/big` has an answer that fits no buffer, `/early` refuses at once."""
    size, more = 0, scope["path"] != "/early"
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    body = b"x" * BIG if scope["path"] == "/big" else str(size).encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def played(scene: Scene) -> bytes:
    async def play() -> bytes:
        stopping, listener = asyncio.Event(), listen("127.0.0.1", 0)
        serving = asyncio.create_task(serve(taking, listener, stopping))
        reader, writer = await asyncio.open_connection(*listener.getsockname(), limit=1024)
        try:
            return await asyncio.wait_for(scene(reader, writer), 90)
        finally:
            writer.close()
            stopping.set()
            await serving

    return asyncio.run(play())


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "_LOOK_S", 0.02)
    for name in ("HEAD_S", "BODY_S", "UNREAD_S"):
        monkeypatch.setattr(limits, name, 0.2)


async def read(reader: asyncio.StreamReader) -> bytes:
    """All that comes until the connection ends, however it ends."""
    parts = []
    try:
        while part := await reader.read(65_536):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n", b"G"])
def test_a_head_that_does_not_come_ends_the_connection(sent: bytes) -> None:
    async def scene(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(sent)
        return await read(reader)

    assert played(scene).startswith(b"HTTP/1.1 408")


def test_a_body_that_does_not_come_ends_the_connection() -> None:
    async def scene(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(POST + b"some of it")
        return await read(reader)

    assert played(scene).startswith(b"HTTP/1.1 408")


def test_a_body_that_was_refused_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HEAD_S", 1_000)

    async def scene(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(POST.replace(b"/", b"/early", 1))
        dribbling = asyncio.create_task(dribble(writer))
        answer = await read(reader)
        dribbling.cancel()
        return answer

    async def dribble(writer: asyncio.StreamWriter) -> None:
        while not writer.is_closing():
            writer.write(b"a")
            await asyncio.sleep(0.02)

    assert played(scene).startswith(b"HTTP/1.1 200")


def test_a_body_may_take_its_time_as_long_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HEAD_S", 1_000)
    monkeypatch.setattr(limits, "SLOWEST_BODY_PER_S", 1)

    async def scene(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(POST.replace(b"Host: x", b"Host: x\r\nConnection: close"))
        for _ in range(100):
            writer.write(b"a" * 1_000)
            await asyncio.sleep(0.01)
        return await read(reader)

    answer = played(scene)

    assert answer.startswith(b"HTTP/1.1 200")
    assert b"100000" in answer


@pytest.mark.parametrize(("behind", "head_s"), [(b"", 1_000), (b"G", 0.2)], ids=["alone", "next-head-begun"])
def test_an_answer_that_nobody_reads_is_not_kept_for_ever(
    behind: bytes, head_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "HEAD_S", head_s)
    ended, end = threading.Event(), BoundedProtocol._end

    def end_and_say_so(one: BoundedProtocol) -> None:
        end(one)
        ended.set()

    monkeypatch.setattr(BoundedProtocol, "_end", end_and_say_so)

    async def scene(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n" + behind)
        first = await reader.readuntil(b"\r\n\r\n")
        assert await asyncio.to_thread(ended.wait, DEADLINE_S)
        # What the kernels held comes all the same.
        return first + await read(reader)

    answer = played(scene)

    assert answer.startswith(b"HTTP/1.1 200")
    assert len(answer) < BIG
