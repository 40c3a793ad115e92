"""The key that a request shows."""

from starlette.datastructures import Headers

_SCHEME = "bearer "


def bearer_key(headers: Headers) -> str | None:
    """The key in `Authorization: Bearer KEY`."""
    shown = headers.get("authorization", "")
    if not shown.lower().startswith(_SCHEME):
        return None
    key = shown[len(_SCHEME) :].strip()
    # Headers arrive as Latin-1; a key with other letters was sent as UTF-8.
    return key.encode("latin-1").decode("utf-8", "replace") or None
