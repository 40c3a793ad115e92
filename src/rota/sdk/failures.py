"""A server's refusals as the errors that the same call would raise without a server between."""

import re

import msgspec

from rota.errors import AuthError, Conflict, InvalidInput, NotFound, RotaError, StoreError, StoreFull, StoreUnavailable

_NOT_FOUND = re.compile(r"no (?P<kind>.+?) '(?P<name>[^']*)'(?:; (?P<hint>.*))?", re.DOTALL)
_FIELD = re.compile(r"([\w.\[\]-]+): (.*)", re.DOTALL)
_PASSING = (429, 502, 503, 504)


def failure(status: int, content: bytes, where: str) -> RotaError:
    """The error for a status that is not good."""
    message = _message(content) or f"{where}: the server answered {status}"
    if status in (400, 413, 415, 422):
        found = _FIELD.fullmatch(message)
        return InvalidInput(found[1], found[2]) if found else InvalidInput("request", message)
    if status in (401, 403):
        return AuthError(message)
    if status == 404:
        known = _NOT_FOUND.fullmatch(message)
        return (
            NotFound(known["kind"], known["name"], known["hint"] or "") if known else NotFound("path", where, message)
        )
    if status == 409:
        return Conflict(message)
    if status == 507:
        return StoreFull(message)
    return StoreUnavailable(message) if status in _PASSING else StoreError(message)


def _message(content: bytes) -> str:
    try:
        document = msgspec.json.decode(content)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return ""
    error = document.get("error") if isinstance(document, dict) else None
    return error if isinstance(error, str) else ""
