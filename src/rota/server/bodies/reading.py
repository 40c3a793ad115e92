"""Takes the body of a request as it comes, within its limits."""

from starlette.datastructures import Headers
from starlette.types import Receive

from rota.server.answers import Refusal
from rota.server.bodies.room import Place
from rota.server.operations import JSON, Operation

_JSON = JSON.encode()


async def read_body(operation: Operation, headers: Headers, receive: Receive, place: Place) -> bytes | bytearray:
    """All of it. What is counted is what came, not what was announced: who sends slowly keeps nobody out."""
    if not operation.takes_json:
        return b""
    _check_head(operation, headers)
    body, more = await _part(receive)
    if not more and len(body) <= operation.body_limit:
        return body
    whole = bytearray(body)  # it grows in place; joining parts would take twice the memory, and the loop's time
    while True:
        if len(whole) > operation.body_limit:
            raise _too_large(operation.body_limit)
        place.need(len(whole))
        if not more:
            return whole
        body, more = await _part(receive)
        whole += body


def _check_head(operation: Operation, headers: Headers) -> None:
    kind, length = b"", b""
    for name, value in headers.raw:  # in one pass
        if name == b"content-type":
            kind = kind or value
        elif name == b"content-length":
            length = value
    if kind != _JSON and kind.partition(b";")[0].strip().lower() != _JSON:
        shown = kind.partition(b";")[0].strip().lower().decode("latin-1")
        raise Refusal(415, f"Content-Type must be {JSON}, got {shown or 'none'!r}")
    if length.isdigit() and int(length[:18]) > operation.body_limit:
        raise _too_large(operation.body_limit)


async def _part(receive: Receive) -> tuple[bytes, bool]:
    """A part, and whether there are more."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Refusal(400, "the connection ended in the middle of the body")
    return message.get("body", b""), message.get("more_body", False)


def _too_large(limit: int) -> Refusal:
    return Refusal(413, f"the body is larger than {limit} bytes")
