"""Styles, scripts and pictures, read once. Their address has a hash of all of them, so browsers keep them for good."""

import hashlib
from functools import cache
from pathlib import Path

from msgspec import Struct

_FOLDER = Path(__file__).parents[1] / "static"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_HASH_LENGTH = 12


class StaticFile(Struct, frozen=True):
    content: bytes
    media_type: str


@cache
def static_files() -> dict[str, StaticFile]:
    """By name."""
    found = sorted(path for path in _FOLDER.rglob("*") if path.suffix in _TYPES)
    return {path.name: StaticFile(path.read_bytes(), _TYPES[path.suffix]) for path in found}


@cache
def static_version() -> str:
    whole = hashlib.sha256()
    for name, one in static_files().items():
        whole.update(name.encode() + b"\0" + one.content)
    return whole.hexdigest()[:_HASH_LENGTH]


def static_url(name: str) -> str:
    """Where a file is; one that is missing is an error."""
    assert name in static_files(), name
    return f"/static/{static_version()}/{name}"
