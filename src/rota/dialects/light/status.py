"""How errors of the light scheduler are told: as a Status, whose code is of the form ERRnnnnn."""

from msgspec import Struct
from starlette.responses import Response

from rota.server.answers import Json
from rota.server.endpoint import identify
from rota.server.operations import Manner

RETRY_AFTER_S = 1
_WORDS = {
    400: ("ERR11000", "VALIDATION_FAILED"),
    401: ("ERR10000", "INVALID_AUTH_TOKEN"),
    403: ("ERR10005", "AUTH_TOKEN_SCOPE_MISMATCH"),
    404: ("ERR11637", "OBJECT_NOT_FOUND"),
    405: ("ERR10008", "METHOD_NOT_ALLOWED"),
}
_OTHERS = {4: ("ERR11000", "REQUEST_REFUSED"), 5: ("ERR10010", "RUNTIME_EXCEPTION")}
"""By the first digit."""


class Status(Struct, frozen=True, rename="camel"):
    """What went wrong. The description says what, with which thing, and what to do next."""

    status_code: int
    code: str
    message: str
    description: str


def error_answer(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    code, word = _WORDS.get(status) or _OTHERS[status // 100]
    added = {"Retry-After": str(RETRY_AFTER_S)} if status == 503 else {}
    return Json(Status(status, code, word, message), status_code=status, headers={**added, **(headers or {})})


MANNER = Manner(identify, error_answer, Status)
