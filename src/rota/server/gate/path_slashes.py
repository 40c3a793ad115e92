"""Slashes within names in a path.

A client sends such a slash as `%2F`; after the path was decoded as a whole nobody could tell it from one that separates
parts. So it reaches the routes in another spelling, and the name gets it back after.
"""

from urllib.parse import unquote

from starlette.types import Scope

SLASH = "\udc2f"
"""Stands for a slash within a name. No text that came as UTF-8 has it."""


def with_slashes_apart(scope: Scope) -> Scope:
    """The scope as the routes are to see it."""
    raw: bytes = scope.get("raw_path") or b""
    if b"%" not in raw or b"%2f" not in raw.lower():
        return scope
    parts = raw.decode("ascii").split("/")
    return {**scope, "path": "/".join(unquote(part).replace("/", SLASH) for part in parts)}
