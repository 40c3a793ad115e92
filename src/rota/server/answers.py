"""Answers of the native API: JSON, and errors as `{"status": "error", "error": ...}` with a fitting status."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from rota.shapes.errors import ErrorShape

FAULT = "something went wrong in the server; its log says what"
_ENCODER = msgspec.json.Encoder()


class Refusal(Exception):
    """A request that is refused before any rule of Rota is asked."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})


class Done(Struct, frozen=True):
    """It was done."""

    status: str = "ok"


class DoneTo(Struct, frozen=True, kw_only=True):
    """It was done to this one."""

    status: str = "ok"
    uuid: str


class Json(Response):
    """A JSON body."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        return _ENCODER.encode(content)


def error_answer(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    return Json(ErrorShape("error", message), status_code=status, headers=headers)


async def answer_fault(request: Request, error: Exception) -> Response:
    """A fault of ours outside of any operation: the log has the details, the client does not."""
    return error_answer(500, FAULT)
