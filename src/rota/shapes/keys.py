"""The native JSON of keys: who has one, and what it may do. Nobody sees the keys themselves."""

from msgspec import Struct

from rota.engine.access.keys.access import Role, Scope
from rota.engine.access.keys.keys import KeyEntry
from rota.shapes.codec import As, Codec


class KeyShape(Struct, frozen=True, kw_only=True):
    """A key: its name, its role and scopes, and its end."""

    id: str
    name: str
    role: Role
    scopes: list[Scope]
    made_at: int | None
    expires_at: int | None
    expired: bool


class NewKeyShape(KeyShape, frozen=True, kw_only=True):
    """A key that was just made, and the key itself, which nobody sees again."""

    api_key: str


_FIELDS = {"scopes": As("scopes", sorted, frozenset), "expired": As("is_expired")}
_KEY = Codec(KeyEntry, KeyShape, **_FIELDS)
_NEW_KEY = Codec(KeyEntry, NewKeyShape, **_FIELDS)

key_shape = _KEY.shape
key_of = _KEY.value


def new_key_shape(api_key: str, entry: KeyEntry) -> NewKeyShape:
    return _NEW_KEY.shape(entry, api_key=api_key)
