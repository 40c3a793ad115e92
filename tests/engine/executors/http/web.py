"""Real web servers for tests: on loopback, on free ports, saying exactly the bytes a test wants them to say."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import NamedTuple, Self

from rota.engine.executors.http.http import HttpExecutor
from rota.model.runs.outcome import Outcome
from tests.engine.executors.runs import LoggedRun, make_run


class Seen(NamedTuple):
    """A request as it came."""

    line: str
    headers: dict[str, str]
    body: bytes


Answer = Callable[[Seen], bytes]
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def answer(status: int = 200, body: bytes = b"", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def read_request(reader: asyncio.StreamReader) -> Seen:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    line, *rest = head.rstrip("\r\n").split("\r\n")
    headers = {name.lower(): value for name, _, value in (header.partition(": ") for header in rest)}
    return Seen(line, headers, await reader.readexactly(int(headers.get("content-length", 0))))


class WebServer:
    """Answers every request with `say(request)`, or does with a connection what `serve` does.

    It listens on 127.0.0.1, or on every address of this machine.
    """

    def __init__(
        self,
        say: Answer = lambda seen: answer(),
        *,
        serve: Serve | None = None,
        is_everywhere: bool = False,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._say = say
        self._serve = serve or self._answer
        self._is_everywhere = is_everywhere
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self.connection_count = 0
        self.seen: list[Seen] = []
        self.was_closed = asyncio.Event()
        """The client has ended a connection."""

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, sock=self._open_socket(), ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def wait_until_idle(self) -> None:
        """Until the clients have ended all their connections."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _open_socket(self) -> socket.socket:
        if not self._is_everywhere:
            return socket.create_server(("127.0.0.1", 0))
        if socket.has_dualstack_ipv6():
            return socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        return socket.create_server(("0.0.0.0", 0))

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connection_count += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._serve(reader, writer)
            await writer.drain()
            await reader.read()  # until the client ends it
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError, asyncio.CancelledError):
            pass  # the client is gone, or the test is over
        finally:
            self.was_closed.set()
            writer.transport.abort()
            self._tasks.discard(task)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.seen.append(await read_request(reader))
        writer.write(self._say(self.seen[-1]))


def http_run(url: str, arguments: dict[str, object] | None = None, **metadata: object) -> LoggedRun:
    """A run that may reach 127.0.0.1."""
    return make_run({"url": url, "allow_private": ["127.0.0.1"], **metadata}, arguments)


async def fetch(url: str, arguments: dict[str, object] | None = None, **metadata: object) -> Outcome:
    return await HttpExecutor().run(http_run(url, arguments, **metadata))


async def fetch_by_name(
    url: str, resolve: Callable[[str], list[str]], allow: Sequence[str] = (), **metadata: object
) -> Outcome:
    """Run a job with a resolver of the test's own, and nothing allowed that the test does not allow."""
    executor = HttpExecutor(allow, resolve=resolve)
    try:
        return await executor.run(make_run({"url": url, **metadata}))
    finally:
        await executor.close()
