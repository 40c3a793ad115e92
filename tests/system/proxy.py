"""A TCP proxy in front of servers, which breaks connections in the ways that networks do."""

import asyncio
import socket
import struct
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from types import TracebackType
from typing import Self

from tests.servers import RedisCluster, RedisServer

HOST = "127.0.0.1"
_CHUNK = 1 << 16


class Proxy:
    """Runs in a thread of its own while it is entered. Has one port for each of the servers'."""

    def __init__(self, *targets: int) -> None:
        self._targets = list(targets)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._connections: set[_Connection] = set()
        self._is_stopping = False
        self._servers: list[asyncio.Server] = []
        self._marker: bytes | None = None
        self._swallows_left = 0
        self.ports: list[int] = []
        self.swallowed = 0
        """Replies that the server gave and nobody got."""

    def __enter__(self) -> Self:
        self._thread.start()
        self._run(self._start()).result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._stop()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def swallow_replies(self, marker: bytes, times: int) -> None:
        """Let the next requests that contain the marker through, drop the replies, and reset the connections."""
        self._marker, self._swallows_left = marker, times

    def freeze(self) -> None:
        """Hold what is on its way in the present connections, for ever and without a word. New ones work."""

        async def freeze_all() -> None:
            for connection in self._connections:
                connection.is_frozen = True

        self._run(freeze_all()).result()

    def turn_to(self, *targets: int) -> None:
        """Lead new connections to other servers; the present ones are broken."""
        self._targets = list(targets)
        self.reset_all()

    def reset_all(self) -> None:
        """Break all connections, as a fire wall does that forgot them."""

        async def reset() -> None:
            for connection in tuple(self._connections):
                connection.reset()

        self._run(reset()).result()

    def wants_to_swallow(self, request: bytes) -> bool:
        if self._swallows_left and self._marker is not None and self._marker in request:
            self._swallows_left -= 1
            return True
        return False

    def _run(self, coroutine: Coroutine[object, object, None]) -> "Future[None]":
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    async def _start(self) -> None:
        for number in range(len(self._targets)):
            server = await asyncio.start_server(partial(self._serve, number), HOST, 0)
            self._servers.append(server)
            self.ports.append(server.sockets[0].getsockname()[1])

    async def _stop(self) -> None:
        """Nothing stays open, also of a connection that is just being made."""
        self._is_stopping = True
        for server in self._servers:
            server.close()
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for connection in tuple(self._connections):
                connection.reset()
            await asyncio.wait(others)

    async def _serve(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            upstream = await asyncio.open_connection(HOST, self._targets[number])
        except OSError:
            writer.transport.abort()
            return
        connection = _Connection(self, (reader, writer), upstream)
        if self._is_stopping:
            connection.reset()
            return
        self._connections.add(connection)
        try:
            await connection.pump()
        finally:
            self._connections.discard(connection)


@contextmanager
def proxied(redis: RedisServer | RedisCluster) -> Iterator[tuple[Proxy, str]]:
    """A way to the servers that can be broken, and its address. A cluster tells it to everybody from then on."""
    with Proxy(*(server.port for server in redis.servers)) as proxy:
        hosts = ",".join(f"{HOST}:{port}" for port in proxy.ports)
        if isinstance(redis, RedisCluster):
            redis.announce(proxy.ports)
        yield proxy, f"redis+cluster://{hosts}" if isinstance(redis, RedisCluster) else f"redis://{hosts}/0"


class _Connection:
    """One client and its connection to the server."""

    def __init__(
        self,
        proxy: Proxy,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        self._proxy = proxy
        self._client, self._server = client, server
        self._swallows = False
        self.is_frozen = False

    async def pump(self) -> None:
        await asyncio.gather(self._requests(), self._replies())

    def reset(self) -> None:
        """Close with RST instead of FIN."""
        raw: socket.socket = self._client[1].get_extra_info("socket")
        with suppress(OSError):  # the other side was faster
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        for _, writer in (self._client, self._server):
            writer.transport.abort()

    async def _requests(self) -> None:
        async for chunk in _chunks(self._client[0]):
            if not self.is_frozen:
                self._swallows = self._swallows or self._proxy.wants_to_swallow(chunk)
                self._server[1].write(chunk)
        self._server[1].transport.abort()

    async def _replies(self) -> None:
        async for chunk in _chunks(self._server[0]):
            if self._swallows:
                self._proxy.swallowed += 1
                self.reset()
            elif not self.is_frozen:
                self._client[1].write(chunk)
        self._client[1].transport.abort()


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    try:
        while chunk := await reader.read(_CHUNK):
            yield chunk
    except OSError:
        return
