"""Keys behind a server."""

from collections.abc import Iterable

from rota.cli.remote.server import Server
from rota.engine.access.keys.access import Caller, Role, read_scopes
from rota.engine.access.keys.keys import KeyEntry, Keys
from rota.engine.engine import Engine
from rota.errors import InvalidInput
from rota.sdk.call import present
from rota.shapes.keys import KeyShape, NewKeyShape, key_of


class RemoteKeys(Keys):
    """Keys are made and revoked there."""

    def __init__(self, engine: Engine, server: Server) -> None:
        super().__init__(engine.store, engine.clock)
        self._server = server

    def list(self) -> list[KeyEntry]:
        found = self._server.store.get("keys", answer=list[KeyShape], within="keys")
        return [key_of(one) for one in found]

    def create(
        self,
        name: str,
        *,
        role: Role,
        scopes: Iterable[str] = (),
        lives_ms: int | None = None,
        by: Caller | None = None,
    ) -> tuple[str, KeyEntry]:
        named = read_scopes(scopes, role) if (scopes := list(scopes)) else ()
        body = present({"name": name, "role": role, "scopes": sorted(named), "expires_in": lives_ms})
        made: NewKeyShape = self._server.send("POST", "keys", answer=NewKeyShape, body=body)
        return made.api_key, key_of(made)

    def replace_admin(self) -> str:
        raise InvalidInput(
            "NAME",
            "is needed: the admin key is made anew where the store is, by whoever has no key left to show; "
            "`rota key create NAME --role admin` makes another key that may do the same",
        )

    def revoke(self, name: str, *, by: Caller | None = None) -> None:
        self._server.send("DELETE", "keys", name)
