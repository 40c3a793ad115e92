"""A server that stops and can wait no longer says so to whoever still waits, and to the log once."""

import asyncio
import logging

import pytest
from starlette.types import Receive, Scope, Send

from rota.server.connection import config
from rota.server.connection.facts import is_client_gone
from rota.server.listen import listen, serve
from tests.engine.working import until
from tests.patience import DEADLINE_S


class Slow:
    """An app that comes to the end of an answer when it is told to."""

    def __init__(self) -> None:
        self.begun: list[Scope] = []
        self.may_end = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun.append(scope)
        if scope["path"] == "/half":
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"9")]})
            await send({"type": "http.response.body", "body": b"half", "more_body": True})
        await self.may_end.wait()


def question(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


def test_whoever_still_waits_is_told_and_the_log_has_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(config, "_GRACE_S", 0.05)

    async def play() -> list[bytes]:
        app, stopping, listener = Slow(), asyncio.Event(), listen("127.0.0.1", 0)
        serving = asyncio.create_task(serve(app, listener, stopping))
        clients = [await asyncio.open_connection(*listener.getsockname()) for _ in range(3)]
        for (_, writer), path in zip(clients, ("/whole", "/whole", "/half"), strict=True):
            writer.write(question(path) * 2)
        await until(lambda: len(app.begun) == 3, "all to begin")
        stopping.set()
        await serving
        said = [await _all_of(reader) for reader, _ in clients]
        for _, writer in clients:
            writer.close()
        assert len(app.begun) == 3, "none that waited behind another was begun"
        return said

    with caplog.at_level(logging.ERROR):
        first, second, half = asyncio.run(play())

    assert first == second
    assert first.startswith(b"HTTP/1.1 503 ")
    assert first.endswith(b'what was asked may have been done: look, or ask again"}')
    assert b"connection: close" in first
    assert half.endswith(b"half") or half == b"", "no other answer behind one that had begun"
    assert ["Cancel 3 running" in record.getMessage() for record in caplog.records] == [True]


def test_who_goes_while_the_server_waits_for_the_last_answers_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "_LOOK_S", 0.02)
    monkeypatch.setattr(config, "_GRACE_S", DEADLINE_S)

    async def play() -> None:
        app, stopping, listener = Slow(), asyncio.Event(), listen("127.0.0.1", 0)
        serving = asyncio.create_task(serve(app, listener, stopping))
        _, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(question("/whole") * 2)
        await until(lambda: len(app.begun) == 1, "it to begin")
        try:
            stopping.set()
            await until(lambda: listener.fileno() == -1, "the server to stop")
            writer.close()
            await until(lambda: is_client_gone(app.begun[0]), "the server to hear of it")
        finally:
            app.may_end.set()
            await serving

    asyncio.run(play())


async def _all_of(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionError:
        return b""
