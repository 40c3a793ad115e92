"""Answers of the native API: JSON, and errors as `{"status": "error", "error": ...}` with a fitting status."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct
from starlette.responses import Response

from rota.shapes.errors import ErrorShape

FAULT = "something went wrong in the server; its log says what"
_ENCODER = msgspec.json.Encoder()
_JSON_TYPE = (b"content-type", b"application/json")


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

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        if headers is None:  # as of nearly all answers: nothing to look for
            self.raw_headers = [(b"content-length", b"%d" % len(self.body)), _JSON_TYPE]
        else:
            super().init_headers(headers)


def error_answer(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    return Json(ErrorShape("error", message), status_code=status, headers=headers)
