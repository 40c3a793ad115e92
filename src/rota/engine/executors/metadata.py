"""Checks that several executors make on a job type's metadata."""

import difflib
from collections.abc import Iterable

from rota.errors import InvalidInput


def check_keys(metadata: dict[str, object], known: Iterable[str]) -> None:
    """Refuse a key the executor does not know: it is a slip, and the nearest known key is named."""
    known = sorted(known)
    for key in metadata:
        if key not in known:
            raise InvalidInput(f"metadata.{key}", f"unknown{did_you_mean(key, known)}; known are {', '.join(known)}")


def check_flag(metadata: dict[str, object], key: str) -> bool:
    """An optional true or false, by default false."""
    value = metadata.get(key, False)
    if not isinstance(value, bool):
        raise InvalidInput(f"metadata.{key}", f"must be true or false, got {value!r}")
    return value


def check_text(field: str, value: object) -> str:
    """A string that the operating system can take: no NUL, valid Unicode."""
    if not isinstance(value, str):
        raise InvalidInput(field, f"must be a string, got {value!r}")
    if "\0" in value:
        raise InvalidInput(field, "holds a NUL character")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidInput(field, "holds a lone surrogate, which is not valid Unicode text") from None
    return value


def did_you_mean(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f", did you mean {near[0]!r}?" if near else ""
