"""Keys: who may use the API, and how."""

from typing import Annotated

from msgspec import Meta, Struct

from rota.engine.access.keys.access import Role, Scope
from rota.server.answers import DoneTo
from rota.server.api import Api
from rota.server.operations import Call, Routes
from rota.shapes import fields
from rota.shapes.keys import KeyShape, NewKeyShape, key_shape, new_key_shape

routes = Routes("keys")
_NEEDS = Scope.KEYS_WRITE
MAX_LIFE_MS = 10 * 365 * 24 * 3600 * 1000


class NewKey(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A key: all that its role may do, or only what its scopes name."""

    name: fields.Name
    role: Role = Role.VIEWER
    scopes: Annotated[list[Scope], Meta(max_length=len(Scope))] = []
    expires_in: Annotated[int, Meta(ge=1, le=MAX_LIFE_MS, description="Milliseconds.")] | None = None


class KeyList(Struct, frozen=True):
    """All keys, the admin key first."""

    keys: list[KeyShape]


@routes.get("/api/keys", needs=_NEEDS, answer=KeyList)
def list_keys(api: Api, call: Call[None, None]) -> KeyList:
    """All keys, by name. Nobody can see the keys themselves."""
    return KeyList([key_shape(one) for one in api.engine.keys.list()])


@routes.post("/api/keys", needs=_NEEDS, body=NewKey, answer=NewKeyShape, errors=(409,))
def create_key(api: Api, call: Call[NewKey, None]) -> NewKeyShape:
    """Make a key, which may do no more than the one that makes it, and lives no longer. It is shown once."""
    one = call.body
    made, entry = api.engine.keys.create(
        one.name, role=one.role, scopes=one.scopes, lives_ms=one.expires_in, by=call.caller
    )
    return new_key_shape(made, entry)


@routes.delete("/api/keys/{key}", needs=_NEEDS, answer=DoneTo, errors=(404,))
def revoke_key(api: Api, call: Call[None, None]) -> DoneTo:
    """Forget a key, by name or id. Servers refuse it within seconds."""
    api.engine.keys.revoke(call.path["key"], by=call.caller)
    return DoneTo(uuid=call.path["key"])
