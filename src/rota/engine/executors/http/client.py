"""A small HTTP/1.1 client for one request per connection. It knows no proxies, cookies, passwords or compression.

It is our own because the connection must go to an address that was checked before, and because nothing that a server
sends may cost more memory than was agreed: lines, headers and bodies are all cut off at their limits. Time is limited
by the caller, who cancels.
"""

import asyncio
import re
import ssl
from types import TracebackType
from typing import Self

from msgspec import Struct

from rota.engine.executors.http.url import Url
from rota.engine.executors.shortage import raise_if_short

MAX_HEAD_BYTES = 32 * 1024
_MAX_HEADERS = 200
_MAX_INTERIM = 10
"""Answers of the kind `103 Early Hints` before the real one."""
_READ_BYTES = 64 * 1024
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-5][0-9][0-9])(?: .*)?", re.DOTALL)
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?", re.DOTALL)


class HttpFailure(Exception):
    """There is no proper answer. `kind` is `connect`, `tls`, `response` or `redirect`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Request(Struct, frozen=True):
    """What to send. Headers about the connection and the body's length are added."""

    method: str
    headers: dict[str, str]
    body: bytes | None = None


class Answer:
    """What came back, as far as it came."""

    __slots__ = ("body", "headers", "is_cut", "status")

    def __init__(self, status: int, headers: list[tuple[str, str]]) -> None:
        self.status = status
        self.headers = headers
        """Names in lower case."""
        self.body = bytearray()
        self.is_cut = False
        """There was more than the limit; the rest was not read."""

    def values_of(self, name: str) -> list[str]:
        return [value for its_name, value in self.headers if its_name == name]


async def connect(url: Url, addresses: list[str], tls: ssl.SSLContext | None, deadline: float) -> "Connection":
    """Connect to the first address that answers; `HttpFailure` when none does, `NodeStrained` without a descriptor.

    An address but the last gets its share of the time that is left, so that a silent one does not take it all.
    """
    loop = asyncio.get_running_loop()
    reasons = []
    for tries_left, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
        until = None if tries_left == 1 else loop.time() + (deadline - loop.time()) / tries_left
        try:
            async with asyncio.timeout_at(until):
                return await _open(url, address, tls)
        except ssl.SSLError as error:
            raise HttpFailure("tls", f"no trusted TLS connection to {url.authority}: {_reason_of(error)}") from None
        except OSError as error:
            raise_if_short(error)
            reasons.append(f"{address}: {error.strerror or error or 'no answer'}")
    raise HttpFailure("connect", f"cannot connect to {url.authority}: {'; '.join(reasons)}")


async def _open(url: Url, address: str, tls: ssl.SSLContext | None) -> "Connection":
    name = url.host if tls else None
    # The address is a number, so nobody is asked for it again; the name goes into the TLS handshake only.
    reader, writer = await asyncio.open_connection(
        address, url.port, ssl=tls, server_hostname=name, limit=MAX_HEAD_BYTES
    )
    return Connection(url, reader, writer)


def _reason_of(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message or str(error)
    return error.reason or str(error)


class Connection:
    """One connection for one request; leaving its context closes it at once, whatever is still under way."""

    def __init__(self, url: Url, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._url = url
        self._reader = reader
        self._writer = writer
        self._method = ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Not `close`: over TLS it would wait for the other side to say good-bye.
        self._writer.transport.abort()

    def send(self, request: Request) -> None:
        """Send a request. It does not wait: a server may answer before it has read everything."""
        self._method = request.method
        lines = [f"{request.method} {self._url.target} HTTP/1.1", f"Host: {self._url.authority}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in request.headers.items()]
        if request.body is not None or request.method in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Length: {len(request.body or b'')}")
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + (request.body or b""))

    async def read_head(self) -> Answer:
        """Await the status and the headers; the body is still to come."""
        for _ in range(_MAX_INTERIM):
            answer = await self._read_one_head()
            if answer.status >= 200:
                return answer
            if answer.status == 101:
                raise HttpFailure("response", "the server wants to switch protocols")
        raise HttpFailure("response", f"the server sent more than {_MAX_INTERIM} interim answers")

    async def read_body(self, answer: Answer, limit: int) -> None:
        """Read the body into the answer, as far as the limit."""
        if self._method == "HEAD" or answer.status in (204, 304):
            return
        if encodings := answer.values_of("transfer-encoding"):
            if [encoding.lower() for encoding in encodings] != ["chunked"]:
                raise HttpFailure("response", "the answer has an unknown transfer encoding")
            await self._read_chunks(answer, limit)
        else:
            await self._read_bytes(answer, _content_length(answer), limit)

    async def _read_one_head(self) -> Answer:
        line = await self._read_line()
        match = _STATUS_LINE.fullmatch(line)
        if not match:
            raise HttpFailure("response", "the answer does not begin like HTTP/1.1")
        headers: list[tuple[str, str]] = []
        size = 0
        while line := await self._read_line():
            size += len(line)
            if size > MAX_HEAD_BYTES or len(headers) >= _MAX_HEADERS:
                raise HttpFailure("response", "the answer has too many or too long headers")
            headers.append(_read_header(line))
        return Answer(int(match[1]), headers)

    async def _read_chunks(self, answer: Answer, limit: int) -> None:
        while True:
            match = _CHUNK_SIZE.fullmatch(await self._read_line())
            if not match:
                raise HttpFailure("response", "the answer's body has a malformed chunk")
            size = int(match[1], 16)
            if not size:
                return  # trailers may follow, and nobody asks for them
            await self._read_bytes(answer, size, limit)
            if answer.is_cut:
                return
            if await self._read_line():
                raise HttpFailure("response", "the answer's body has a chunk of another size than announced")

    async def _read_bytes(self, answer: Answer, count: int | None, limit: int) -> None:
        """Read this many bytes, or all there are; one more than the limit shows that it is passed."""
        while count is None or count > 0:
            room = limit + 1 - len(answer.body)
            chunk = await self._guarded_read(min(_READ_BYTES, room, room if count is None else count))
            if not chunk:
                if count is None:
                    return
                raise HttpFailure("response", "the connection ended before the answer did")
            answer.body += chunk
            count = None if count is None else count - len(chunk)
            if len(answer.body) > limit:
                del answer.body[limit:]
                answer.is_cut = True
                return

    async def _guarded_read(self, count: int) -> bytes:
        try:
            return await self._reader.read(count)
        except OSError as error:
            raise _broken(error) from None

    async def _read_line(self) -> bytes:
        try:
            line = await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            raise HttpFailure("response", "the connection ended before the answer did") from None
        except asyncio.LimitOverrunError:
            raise HttpFailure("response", "the answer has a line that is too long") from None
        except OSError as error:
            raise _broken(error) from None
        return line[:-2] if line.endswith(b"\r\n") else line[:-1]


def _broken(error: OSError) -> HttpFailure:
    return HttpFailure("response", f"the connection broke: {error.strerror or error or type(error).__name__}")


def _read_header(line: bytes) -> tuple[str, str]:
    name, colon, value = line.partition(b":")
    if not colon or not _NAME.fullmatch(name) or _CONTROL.search(value):
        raise HttpFailure("response", "the answer has a malformed header")
    return name.decode().lower(), value.strip(b" \t").decode("latin-1")


def _content_length(answer: Answer) -> int | None:
    lengths = {part.strip() for value in answer.values_of("content-length") for part in value.split(",")}
    if not lengths:
        return None
    length = lengths.pop()
    if lengths or not (length.isascii() and length.isdecimal() and len(length) <= 18):
        raise HttpFailure("response", "the answer has a malformed Content-Length")
    return int(length)
