"""The keys of an installation, for people: made, listed, revoked. What a key is worth to a server is in `key_ring.py`.

Over HTTP nobody gets beyond what they have: a key makes and revokes only keys that may do no more than it may itself,
and makes none that lives longer.
"""

from collections.abc import Iterable

from msgspec import Struct

from rota.clock import Clock
from rota.engine.access.keys.access import SCOPES_OF, Caller, Role, Scope, read_scopes
from rota.engine.access.keys.admin_key import ADMIN_KEY, has_admin_key, replace_key, revoke_admin_key
from rota.engine.access.keys.named_keys import NamedKey, find_record, list_keys, make_key, revoke_key
from rota.errors import InvalidInput, NotAllowed
from rota.store.contract.store import Store


class KeyEntry(Struct, frozen=True, kw_only=True):
    """What anybody may see of a key: not the key itself."""

    id: str
    name: str
    role: Role
    scopes: frozenset[Scope]
    made_at: int | None = None
    expires_at: int | None = None
    is_expired: bool = False


_ADMIN = KeyEntry(id=ADMIN_KEY, name=ADMIN_KEY, role=Role.ADMIN, scopes=SCOPES_OF[Role.ADMIN])


class Keys:
    """Makes, lists and revokes keys."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def list(self) -> list[KeyEntry]:
        """The admin key, if there is one, and the others by name; expired ones too."""
        first = [_ADMIN] if has_admin_key(self._store) else []
        return first + [self._entry(one) for one in list_keys(self._store)]

    def create(
        self,
        name: str,
        *,
        role: Role,
        scopes: Iterable[str] = (),
        lives_ms: int | None = None,
        by: Caller | None = None,
    ) -> tuple[str, KeyEntry]:
        """A new key, which nobody sees again, and what is known of it. Without scopes it has all of its role's."""
        if name == ADMIN_KEY:
            raise InvalidInput(
                "name", f"{ADMIN_KEY!r} is the first key; `rota key create` without a name makes it anew"
            )
        now, wanted = self._clock.now(), read_scopes(scopes, role)
        expires_at = None if lives_ms is None else now + lives_ms
        self._check_reach(by, wanted)
        self._check_end(by, expires_at)
        made, record = make_key(self._store, name, role=role, scopes=wanted, expires_at=expires_at, now=now)
        return made, self._entry(record)

    def replace_admin(self) -> str:
        """A new admin key in place of the old one. For those who can write to the store itself."""
        return replace_key(self._store)

    def revoke(self, name: str, *, by: Caller | None = None) -> None:
        """Forget a key, by name or id. Servers refuse it within seconds."""
        if name == ADMIN_KEY:
            self._check_reach(by, _ADMIN.scopes)
            revoke_admin_key(self._store)
            return
        self._check_reach(by, find_record(self._store, name).caller.scopes)
        revoke_key(self._store, name)

    def _entry(self, one: NamedKey) -> KeyEntry:
        return KeyEntry(
            id=one.id,
            name=one.name,
            role=one.role,
            scopes=one.scopes,
            made_at=one.made_at,
            expires_at=one.expires_at,
            is_expired=not one.is_good(self._clock.now()),
        )

    def _check_reach(self, by: Caller | None, scopes: frozenset[Scope]) -> None:
        beyond = sorted(scopes - by.scopes) if by is not None else []
        if by is not None and beyond:
            raise NotAllowed(
                f"the key {by.name!r} lacks {', '.join(beyond)}, so it has no say over keys that have that"
            )

    def _check_end(self, by: Caller | None, expires_at: int | None) -> None:
        if by is None or not by.key:
            return
        end = find_record(self._store, by.key).expires_at
        if end is not None and (expires_at is None or expires_at > end):
            raise NotAllowed(f"the key {by.name!r} has an end, so it makes no key that lives longer")
