"""The admin key: made at the first start of all, or given by settings. Only its hash is kept."""

import secrets

from msgspec import Struct

from rota.engine.access.audit.actor import acting_here
from rota.engine.access.audit.record import Change, recorded
from rota.engine.access.keys.dev_key import DEV_KEY, end_dev_key, is_dev_key
from rota.engine.access.keys.hashes import hash_chosen_key, hash_made_key, matches_hash
from rota.errors import InvalidInput, NotFound
from rota.store.contract.store import Store

SETTING = "api_key_hash"
LEAST_LENGTH = 16
"""Characters of a key that somebody chose, for a server that others can reach."""
_LEAST_VARIETY = 6
ADMIN_KEY = "admin"
"""The name of the first key."""


def replace_key(store: Store) -> str:
    """A new admin key in place of whatever was kept. It is shown once; only its hash stays."""
    key = secrets.token_urlsafe(32)
    with recorded(store, Change(action="replace", kind="key", name=ADMIN_KEY)):
        store.put_setting(SETTING, hash_made_key(key))
        end_dev_key(store)
    return key


def revoke_admin_key(store: Store) -> None:
    """Forget the admin key. Servers without one in their settings refuse it within seconds."""
    with recorded(store, Change(action="revoke", kind="key", name=ADMIN_KEY)):
        if not store.delete_setting(SETTING):
            raise NotFound("key", ADMIN_KEY)


def has_admin_key(store: Store) -> bool:
    return store.get_setting(SETTING) is not None


def is_strong(key: str) -> bool:
    """Whether nobody could guess it, however often they try."""
    return len(key) >= LEAST_LENGTH and len(set(key)) >= _LEAST_VARIETY


def check_strength(field: str, key: str) -> None:
    """Refuse a key that somebody chose and others could guess, where others can connect."""
    if not is_strong(key):
        raise InvalidInput(
            field,
            f"has fewer than {LEAST_LENGTH} characters or hardly different ones, so others could guess it; "
            "choose a longer one (openssl rand -hex 32), leave it out, or bind to 127.0.0.1",
        )


def check_admin_token(token: str, *, is_loopback: bool) -> None:
    """Refuse a token for sync tasks that others know, or could guess where they can connect."""
    if is_dev_key(token):
        raise InvalidInput("admin_token", f"{DEV_KEY!r} is known to everybody; choose another, or leave it out")
    if not is_loopback:
        check_strength("admin_token", token)


class KeyPlan(Struct, frozen=True):
    """How a server's key came about."""

    made: str | None
    """The key, if it was made just now; nobody will see it again."""
    configured: str | None
    """The key that the settings give."""
    allows_dev_key: bool
    """Whether `dev_key` works until a person makes a key, for programs of the same user on this machine."""


def prepare_key(store: Store, *, configured: str | None, is_loopback: bool) -> KeyPlan:
    """Settle which key a server accepts before it starts.

    A key from the settings is the only one; its hash is kept for servers that have none. Without one, a key is made at
    the first start of all, and `dev_key` works too while only this machine can connect and no person has made a key.
    """
    if is_dev_key(configured):
        if not is_loopback:
            raise InvalidInput(
                "api_key", f"{DEV_KEY!r} is known to everybody; choose another key, or bind to 127.0.0.1"
            )
        return KeyPlan(None, None, True)
    if configured is not None:
        if not is_loopback:
            check_strength("api_key", configured)
        _keep_chosen(store, configured)
        return KeyPlan(None, configured, False)
    return KeyPlan(_make_if_absent(store), None, is_loopback)


def _keep_chosen(store: Store, key: str) -> None:
    """A chosen key replaces one that was chosen before, but not one that was made: that one is in use elsewhere."""
    kept = store.get_setting(SETTING)
    if kept is not None and (not kept.startswith("scrypt$") or matches_hash(key, kept)):
        end_dev_key(store)
        return
    change = Change(action="create" if kept is None else "replace", kind="key", name=ADMIN_KEY)
    hashed = hash_chosen_key(key)
    with acting_here("settings"), recorded(store, change) as recording:
        if store.put_setting(SETTING, hashed, only_if_absent=kept is None) != hashed:
            recording.nothing_was_done()  # another server was faster
        end_dev_key(store)


def _make_if_absent(store: Store) -> str | None:
    if has_admin_key(store):
        return None
    key = secrets.token_urlsafe(32)
    hashed = hash_made_key(key)
    change = Change(action="create", kind="key", name=ADMIN_KEY)
    with acting_here("first start"), recorded(store, change) as recording:
        if store.put_setting(SETTING, hashed, only_if_absent=True) == hashed:
            return key
        recording.nothing_was_done()  # another server was faster
    return None
