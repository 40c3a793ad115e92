"""uvicorn's protocol, with bounds: on the size of a head, on time, on requests that wait, on connections.

Times are looked at by one task for all connections, once a second, so they cost a request nothing.
"""

import asyncio
from collections.abc import Iterable
from enum import IntEnum
from functools import partial
from heapq import nsmallest

from uvicorn._types import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from rota.server.connection import limits
from rota.server.connection.facts import CONNECTION, END, IS_GONE
from rota.server.connection.sockets import gone_clients, unread_clients

TOO_LATE = "the server stops and could not wait any longer; what was asked may have been done: look, or ask again"


class Phase(IntEnum):
    """How far the client is with its request."""

    SILENT = 0
    """The connection is new, and nothing has come."""
    HEAD = 1
    BODY = 2
    WHOLE = 3
    """All of it has come. The next one begins with its head."""


class _Refused(Exception):
    """Ends the parsing; the client has been told already."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection."""

    phase = Phase.SILENT
    since = 0.0
    """When the phase began, by the loop's clock."""
    _head_size = 0
    """Of the headers that have come."""
    _head_bytes = 0
    """Of the pieces that were head to the last byte, also where no header has come to its end."""
    _body_size = 0
    _pieces = 0
    """Of the body."""
    _begun = 0
    """Requests that have begun."""
    _is_over = False
    """Nothing more is read of it."""
    _unread = 0
    _unread_since = 0.0
    _answering: RequestResponseCycle | None = None
    """The request that is being answered; others may wait behind it."""

    # -- from the transport ----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._facts: dict[str, object] = {END: self._end}
        self.since = self.loop.time()
        if len(self.connections) > getattr(self.config, "most_connections", limits.MAX_CONNECTIONS):
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_requests()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        before = self.phase, self._begun
        super().data_received(data)
        # What neither began nor ended anything is head to the last byte: of a header that never ends, or empty lines.
        if before == (self.phase, self._begun) and self.phase is not Phase.BODY:
            self._count_head(len(data))
        if len(data) > limits.MAX_TURN:
            self._give_way()

    # -- from the parser -------------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope[CONNECTION] = self._facts  # type: ignore[literal-required]
        self.phase, self.since = Phase.HEAD, self.loop.time()
        self._head_size = self._head_bytes = 0
        self._begun += 1

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > limits.MAX_URL:
            self._refuse(414, f"the URL is longer than {limits.MAX_URL} bytes")
            raise _Refused

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._head_size += len(name) + len(value)
        if self._head_size > limits.MAX_HEAD or len(self.headers) > limits.MAX_HEADERS:
            self._refuse_head()
            raise _Refused

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= limits.MAX_WAITING:
            # The newest of those that wait is the last to be answered; then the connection ends.
            self.pipeline[0][0].keep_alive = False
            self._is_over = True
            raise _Refused
        super().on_headers_complete()
        self.phase, self.since = Phase.BODY, self.loop.time()
        self._body_size = self._pieces = 0

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._body_size += len(body)
        self._pieces += 1
        if self._pieces > limits.MAX_CRUMBS and self._body_size < self._pieces * limits.LEAST_PIECE:
            self._refuse(400, f"the body comes in pieces of less than {limits.LEAST_PIECE} bytes")
            raise _Refused
        if self.cycle.response_complete and self._body_size > limits.MAX_UNWANTED:
            self._end()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self.phase = Phase.WHOLE

    def send_400_response(self, msg: str) -> None:
        """The parser gave up. If that was our doing, the client knows."""
        if not self._is_over:
            self._refuse(400, "this is no valid HTTP request")

    # -- answering -------------------------------------------------------------------------------------------------

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, partial(self._to_the_end, cycle, app))

    async def _to_the_end(
        self,
        cycle: RequestResponseCycle,
        app: ASGI3Application,
        scope: Scope,
        receive: ASGIReceiveCallable,
        send: ASGISendCallable,
    ) -> None:
        """Have the app answer. When the server stops and can wait no longer, the client is told so: uvicorn would take
        it for a fault of the app, with a traceback for each."""
        try:
            await app(scope, receive, send)
        except asyncio.CancelledError:
            if cycle.response_started:
                self._end()
                return
            self.transport.write(_answer(503, TOO_LATE))
            self._is_over = True
            self._forget_requests()
            self.transport.close()

    def _forget_requests(self) -> None:
        """Nobody is there for the answers: nothing more is written, and those that wait are not begun. uvicorn itself
        thinks of the newest request only."""
        self._facts[IS_GONE] = True
        self.pipeline.clear()
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
            self._answering.message_event.set()

    # -- turns -----------------------------------------------------------------------------------------------------

    def _give_way(self) -> None:
        """Read on only after everybody else had a turn: the loop would go on with what one connection has sent, up to
        8 MiB at a time."""
        if not self.flow.read_paused and not self.transport.is_closing():
            self.transport.pause_reading()
            self.loop.call_soon(self._read_on)

    def _read_on(self) -> None:
        if not self.flow.read_paused and not self.transport.is_closing():
            self.transport.resume_reading()

    # -- time and number -------------------------------------------------------------------------------------------

    @property
    def is_idle(self) -> bool:
        """Whether nothing of it is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def check_time(self, now: float) -> None:
        """End it, if its client has been too slow."""
        waited = now - self.since
        # Who reads nothing comes first: a refusal, too, waits in the connection until it is read.
        if self._is_unread(now) or self._is_forgotten(waited):
            self._end()
        elif self.phase in (Phase.SILENT, Phase.HEAD) and waited > limits.HEAD_S and self.is_idle:
            self._refuse(408, f"the head of the request did not come within {limits.HEAD_S:g} seconds")
        elif self.phase is Phase.BODY and not self.flow.read_paused and waited > self._time_for_body():
            self._refuse(408, "the body of the request comes too slowly")

    def _time_for_body(self) -> float:
        return limits.BODY_S + self._body_size / limits.SLOWEST_BODY_PER_S

    def _is_unread(self, now: float) -> bool:
        """Whether nothing of an answer was taken for too long."""
        unread = self.transport.get_write_buffer_size()
        if not unread or unread < self._unread or not self._unread:
            self._unread_since = now
        self._unread = unread
        return now - self._unread_since > limits.UNREAD_S

    def _is_forgotten(self, waited: float) -> bool:
        """Whether it is kept for a next request without an end: empty lines stop uvicorn's own clock."""
        is_kept = self.phase is Phase.WHOLE and self.is_idle and self.timeout_keep_alive_task is None
        return is_kept and waited > limits.HEAD_S

    def _make_room(self) -> None:
        """One connection too many: those go whose clients have gone, else that have been idle for longest, else of
        those who do not read their answers; or this one if all are busy. Last of the idle ones go those with a request
        that the loop has not read yet. Some go at once, so that a flood of new ones does not look at all the others
        for each."""
        others = [one for one in _bounded(self.connections) if one is not self]
        if _end_gone(others):
            return
        idle = [one for one in others if one.is_idle]
        if useless := idle or [one for one in others if one.flow.write_paused]:
            asking = _with_unread_request(idle)
            count = 1 + len(others) // limits.ENDED_OF_ALL
            for one in nsmallest(count, useless, key=lambda one: (one in asking, one.since)):
                one._end()
        else:
            self._refuse(503, "the server has too many connections; try again later")

    # -- refusing --------------------------------------------------------------------------------------------------

    def _count_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > limits.MAX_HEAD:
            self._refuse_head()

    def _refuse_head(self) -> None:
        most = f"{limits.MAX_HEADERS} headers or {limits.MAX_HEAD} bytes of them"
        self._refuse(431, f"the request has more than {most}")

    def _refuse(self, status: int, message: str) -> None:
        """Say why, unless an answer is under way, and end the connection."""
        if self._is_over:
            return
        is_answered = self.phase is Phase.BODY and self.cycle.response_started
        if not is_answered and (self.phase is Phase.BODY or self.is_idle):
            self.transport.write(_answer(status, message))
        self._is_over = True
        self.transport.close()

    def _end(self) -> None:
        self._is_over = True
        self._forget_requests()
        self.connections.discard(self)
        self.transport.abort()


def check_connections(connections: Iterable[object], now: float) -> None:
    """End those whose clients have gone, or have been too slow."""
    _end_gone(_bounded(connections))
    for one in _bounded(connections):
        one.check_time(now)


def _bounded(connections: Iterable[object]) -> list[BoundedProtocol]:
    return [one for one in connections if isinstance(one, BoundedProtocol)]


def _end_gone(connections: Iterable[BoundedProtocol]) -> bool:
    """End those whose clients have gone; whether there were any."""
    by_transport = {one.transport: one for one in connections}
    gone = gone_clients(by_transport)
    for transport in gone:
        by_transport[transport]._end()
    return bool(gone)


def _with_unread_request(connections: Iterable[BoundedProtocol]) -> set[BoundedProtocol]:
    """Those whose clients have sent a request, or its beginning, of which nothing was read. Half a head, or a body that
    goes on after its answer, says nothing of whether there will ever be a whole one."""
    by_transport = {one.transport: one for one in connections if one.phase in (Phase.SILENT, Phase.WHOLE)}
    return {by_transport[transport] for transport in unread_clients(by_transport)}


def _answer(status: int, message: str) -> bytes:
    body = b'{"status":"error","error":"%s"}' % message.encode()
    head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
    return STATUS_LINE[status] + head + body
