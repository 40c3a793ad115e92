"""One request to the API, as a value: what to send, and what the answer is. Whoever sends it decides how to wait."""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from rota.errors import InvalidInput, StoreError

T = TypeVar("T")
_decode = msgspec.json.decode
_encode = msgspec.json.Encoder().encode


class Call(Struct, Generic[T], frozen=True, kw_only=True):
    """See the module."""

    method: str
    path: str
    answer: type[T]
    within: str = ""
    """The key of the answer's document that holds what is meant; empty for the document itself."""
    query: dict[str, Any] = {}
    body: Any = None

    @property
    def content(self) -> bytes | None:
        """The body as it is sent. Requests that change something say that they are JSON, also when they have none."""
        if self.body is None:
            return b"{}" if self.method in ("POST", "PUT", "PATCH") else None
        try:
            return _encode(self.body)
        except UnicodeEncodeError:
            raise InvalidInput("body", "holds a lone surrogate, which is not valid Unicode text") from None

    def read(self, content: bytes) -> T:
        """The answer in a good response."""
        try:
            if not self.within:
                return _decode(content, type=self.answer)
            return msgspec.convert(_decode(content, type=dict[str, Any])[self.within], self.answer)
        except (msgspec.MsgspecError, KeyError, ValueError) as error:
            raise StoreError(f"{self.method} {self.path}: this is not the answer of a Rota server: {error}") from None


def path_to(*parts: str) -> str:
    """A path below `/api`; what callers give cannot leave its part."""
    return "/".join(["/api", *map(_part, parts)])


def _part(text: str) -> str:
    """Dots alone would mean another place, above or here."""
    return text.replace(".", "%2E") if text in (".", "..") else quote(text, safe="")


def present(fields: Mapping[str, object]) -> dict[str, Any]:
    """Without those that were not given."""
    return {name: value for name, value in fields.items() if value is not None}
