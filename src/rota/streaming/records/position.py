"""How far a partition has come, and how that is written: with the group's offset, and as a record of a changelog."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple

import msgspec
from msgspec import Struct

POSITION_KEY = b"\0position"
"""The key of its record. That of a definition begins with the length of its host, which is not 0."""


class Cursor(NamedTuple):
    """All that was due up to here was sent: of this instant, the definitions up to this key."""

    instant: int
    key: bytes
    owner: str = ""
    """The instance that says so, by its name."""

    def to_text(self) -> str:
        return f"{self.instant}:{urlsafe_b64encode(self.key).decode()}:{self.owner}"


BEGINNING = Cursor(-1, b"")


def read_cursor(text: str | None) -> Cursor:
    """A cursor from its text. What nobody here wrote counts as none."""
    instant, _, rest = (text or "").partition(":")
    key, _, owner = rest.partition(":")
    try:
        return Cursor(int(instant), urlsafe_b64decode(key), owner)
    except ValueError:
        return BEGINNING


class Position(Struct, frozen=True):
    """How far a partition has come."""

    offset: int
    """The next command to take."""
    cursor: Cursor = BEGINNING
    behind: dict[str, Cursor] = {}
    """The topics whose tasks wait, or have waited and are not all sent yet."""


def encode_position(position: Position) -> bytes:
    return msgspec.json.encode(position)


def read_position(value: bytes | None) -> Position | None:
    """A position from its record. What nobody here wrote counts as none."""
    try:
        return None if value is None else msgspec.json.decode(value, type=Position)
    except msgspec.DecodeError:
        return None
