"""Keys with a name, a role, scopes and an end: made, listed and revoked by `rota key`, kept as hashes in the store.

A key is `rota_ID_SECRET`. The id finds the record, so a wrong key costs one comparison however many keys there are.
"""

import re
import secrets

import msgspec
from msgspec import Struct

from rota.engine.access.audit.record import Change, recorded
from rota.engine.access.keys.access import SCOPES_OF, Caller, Role, Scope, scopes_of_old_key
from rota.engine.access.keys.dev_key import end_dev_key
from rota.engine.access.keys.hashes import hash_made_key, matches_hash
from rota.errors import Conflict, InvalidInput, NotFound
from rota.model.limits import check_name
from rota.store.contract.store import Store
from rota.store.records.unreadable import UnreadableRecords

PREFIX = "rota_"
KIND = "key"
_SETTING = "key:"
_ID = re.compile(r"[0-9a-f]{12}")


class NamedKey(Struct, frozen=True, kw_only=True):
    """What is kept of a key."""

    id: str
    name: str
    role: Role
    scopes: frozenset[Scope]
    hash: str
    made_at: int
    expires_at: int | None = None
    has_whole_role: bool | None = None
    """Whether it may do all that its role may, also what the role gets later; keys of older versions do not say."""

    def is_good(self, now: int) -> bool:
        return self.expires_at is None or now < self.expires_at

    @property
    def caller(self) -> Caller:
        return Caller(self.name, self._all_scopes(), self.id)

    def _all_scopes(self) -> frozenset[Scope]:
        if self.has_whole_role is None:
            return scopes_of_old_key(self.role, self.scopes)
        return SCOPES_OF[self.role] if self.has_whole_role else self.scopes


_decode = msgspec.json.Decoder(NamedKey).decode
_records = UnreadableRecords()


def make_key(
    store: Store, name: str, *, role: Role, scopes: frozenset[Scope], expires_at: int | None, now: int
) -> tuple[str, NamedKey]:
    """A new key, which nobody sees again, and its record. A name is given once."""
    check_name("name", name)
    if _ID.fullmatch(name):
        raise InvalidInput("name", f"{name!r} looks like the id of a key; choose another name")
    if any(one.name == name for one in list_keys(store)):
        raise Conflict(f"there is a key {name!r} already; revoke it first, or choose another name")
    key_id = secrets.token_hex(6)
    key = f"{PREFIX}{key_id}_{secrets.token_urlsafe(32)}"
    kept = NamedKey(
        id=key_id,
        name=name,
        role=role,
        scopes=scopes,
        hash=hash_made_key(key),
        made_at=now,
        expires_at=expires_at,
        has_whole_role=scopes == SCOPES_OF[role],
    )
    shown = {"role": role, "scopes": sorted(scopes), "expires_at": expires_at}
    with recorded(store, Change(action="create", kind=KIND, name=name, uuid=key_id, after=shown), now=now):
        store.put_setting(_SETTING + key_id, msgspec.json.encode(kept).decode())
        end_dev_key(store)
    return key, kept


def list_keys(store: Store) -> list[NamedKey]:
    """All of them, expired ones too, by name. One that cannot be read opens nothing, and keeps nobody else out."""
    found = _records.read_all("keys of", store.url, _decode, list(store.list_settings(_SETTING).values()))
    return sorted(found, key=lambda one: one.name)


def find_record(store: Store, name: str) -> NamedKey:
    """A key, by id or name. Ids come first: no key is hidden by another that has its id for a name."""
    for one in sorted(list_keys(store), key=lambda one: one.id != name):
        if name in (one.id, one.name):
            return one
    raise NotFound("key", name, "`rota key list` shows them")


def revoke_key(store: Store, name: str) -> NamedKey:
    """Forget a key, by name or id. Servers refuse it within seconds."""
    one = find_record(store, name)
    before = {"role": one.role, "scopes": sorted(one.scopes)}
    with recorded(store, Change(action="revoke", kind=KIND, name=one.name, uuid=one.id, before=before)):
        store.delete_setting(_SETTING + one.id)
    return one


def find_key(keys: dict[str, NamedKey], key: str) -> NamedKey | None:
    """The record that a key belongs to, if any."""
    if not key.startswith(PREFIX):
        return None
    found = keys.get(key.removeprefix(PREFIX).partition("_")[0])
    return found if found is not None and matches_hash(key, found.hash) else None
