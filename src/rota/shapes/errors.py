"""How an error is told over HTTP: its status, and the body `{"status": "error", "error": ...}`."""

from msgspec import Struct

from rota.errors import AuthError, Conflict, InvalidInput, NotAllowed, NotFound, RotaError, StoreError, StoreFull

_STATUS_OF_ERROR: tuple[tuple[type[RotaError], int], ...] = (
    (InvalidInput, 400),
    (NotAllowed, 403),
    (AuthError, 401),
    (NotFound, 404),
    (Conflict, 409),
    (StoreFull, 507),
    (StoreError, 503),
)


class ErrorShape(Struct, frozen=True):
    """It was not done, and why."""

    status: str
    error: str


def status_of(error: RotaError) -> int:
    return next((status for kind, status in _STATUS_OF_ERROR if isinstance(error, kind)), 500)
