"""The socket of the server, and uvicorn on it, inside our own loop and without its signal handlers."""

import asyncio
import errno
import ipaddress
import socket
import ssl
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from msgspec import Struct
from starlette.types import ASGIApp

from rota.errors import InvalidInput
from rota.server.connection import limits
from rota.server.connection.config import BoundedConfig, watch_connections
from rota.server.connection.tls_door import TlsDoor

_BACKLOG = 2048


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes any free one. A taken port is `InvalidInput` that says so."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError):
        raise InvalidInput("host", f"{host!r} is no address of this machine") from None
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        # At once: two that are merely bound would not notice each other.
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise InvalidInput("port", _why_not(error, host, port)) from None
    listener.setblocking(False)
    return listener


def _why_not(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"{port} on {host} is taken by another program; choose another with --port, or 0 for any"
    if error.errno == errno.EACCES:
        return f"{port} on {host} needs more rights; choose one above 1023 with --port"
    return f"cannot listen on {host}:{port}: {error.strerror}"


def is_loopback(listener: socket.socket) -> bool:
    """Whether only this machine can connect."""
    address = ipaddress.ip_address(str(listener.getsockname()[0]).partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


class Tls(Struct, frozen=True):
    """The PEM files with which a server speaks HTTPS."""

    certificate: str
    key: str | None = None

    def check(self) -> None:
        """Refuse files that no server could use, before it starts."""
        self.context()

    def context(self) -> ssl.SSLContext:
        """What OpenSSL makes of them."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            made.load_cert_chain(self.certificate, self.key, password=_no_password)
            return made
        except (OSError, ValueError) as error:  # an `SSLError` is an `OSError`
            why = error.strerror if isinstance(error, FileNotFoundError | PermissionError) else error
            files = self.certificate if self.key is None else f"{self.certificate} with {self.key}"
            raise InvalidInput("tls_certificate", f"{files} cannot be used: {why}; both must be PEM files") from None


def _no_password() -> str:
    """OpenSSL would ask on the terminal."""
    raise ValueError("the key needs a password; write it to the file without one, and keep that to yourself")


def address_of(listener: socket.socket, *, has_tls: bool = False) -> str:
    """The URL at which the server can be reached. Of a server on all addresses it is the one on this machine."""
    scheme = "https" if has_tls else "http"
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


class _Server(uvicorn.Server):
    """The node decides when to stop, so uvicorn must leave the signals alone."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def door(self, listener: socket.socket, context: ssl.SSLContext) -> TlsDoor:
        """What takes the connections of a server with TLS."""
        config, state = self.config, self.server_state
        config.load()

        def make() -> asyncio.Protocol:
            return config.http_protocol_class(config=config, server_state=state, app_state={})  # type: ignore[call-arg]

        assert isinstance(config, BoundedConfig)
        return TlsDoor(listener, context, make, most=limits.most_handshakes(config.most_connections))


async def serve(
    app: ASGIApp,
    listener: socket.socket,
    stopping: asyncio.Event,
    *,
    before_end: Callable[[], None] | None = None,
    max_connections: int = limits.MAX_CONNECTIONS,
    tls: Tls | None = None,
) -> None:
    """Serve until `stopping` is set; then call `before_end`, answer what is under way and close the socket."""
    server = _Server(BoundedConfig(app, max_connections=max_connections))
    # With TLS uvicorn listens to nothing, and has the connections that come through the door.
    serving = asyncio.create_task(server.serve(sockets=[listener] if tls is None else []))
    # Clients go also while the server waits for the last answers.
    watching = asyncio.create_task(watch_connections(server))
    beside: list[asyncio.Task[Any]] = [asyncio.create_task(stopping.wait())]
    if tls is not None:
        beside.append(asyncio.create_task(server.door(listener, tls.context()).run()))
    await asyncio.wait([serving, watching, *beside], return_when=asyncio.FIRST_COMPLETED)
    if before_end is not None:
        before_end()
    server.should_exit = True
    ends = await _ended(beside)
    await serving
    ends += await _ended([watching])
    listener.close()
    for fault in (one for one in ends if isinstance(one, Exception)):
        raise fault


async def _ended(tasks: Iterable[asyncio.Task[Any]]) -> list[Any]:
    """Cancel them; how they ended."""
    for task in tasks:
        task.cancel()
    return await asyncio.gather(*tasks, return_exceptions=True)
