"""The door of a server that speaks TLS: takes new connections and shakes hands with them, some at a time, for a while.

asyncio alone would hold any number of connections that never begin to speak, for a minute each, with descriptors that
the node's jobs need: a protocol, and so its limits, begins only after the handshake.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress

from rota.server.connection import limits

_AFTER_ERROR_S = 0.5
"""When no connection can be taken: there are no descriptors left, or one was gone before it was taken."""


class TlsDoor:
    """One listening socket."""

    def __init__(
        self, listener: socket.socket, context: ssl.SSLContext, make: Callable[[], asyncio.Protocol], *, most: int
    ) -> None:
        """`make` makes the protocol of a connection after its handshake; `most` handshakes are under way at a time."""
        self._listener = listener
        self._context = context
        self._make = make
        self._most = most
        self._shaking: dict[asyncio.Task[None], None] = {}
        """Handshakes that are under way, the oldest first."""

    async def run(self) -> None:
        """Take connections until it is cancelled."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                try:
                    connection, _ = await loop.sock_accept(self._listener)
                except OSError:
                    await asyncio.sleep(_AFTER_ERROR_S)
                else:
                    self._begin(connection)
                    await asyncio.sleep(0)  # to accept does not wait while there are more, and others have a turn
        finally:
            for one in self._shaking:
                one.cancel()

    def _begin(self, connection: socket.socket) -> None:
        """If that is one too many, the oldest goes."""
        task = asyncio.create_task(self._shake_hands(connection))
        self._shaking[task] = None
        task.add_done_callback(lambda ended: self._shaking.pop(ended, None))
        if len(self._shaking) > self._most:
            oldest = next(iter(self._shaking))
            del self._shaking[oldest]
            oldest.cancel()

    async def _shake_hands(self, connection: socket.socket) -> None:
        loop, is_begun = asyncio.get_running_loop(), False
        with suppress(OSError, asyncio.CancelledError):  # no TLS, too slow, gone, or one too many
            await loop.connect_accepted_socket(
                self._make, connection, ssl=self._context, ssl_handshake_timeout=limits.HEAD_S
            )
            is_begun = True
        if not is_begun:
            connection.close()
