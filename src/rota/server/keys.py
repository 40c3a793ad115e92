"""The API key: made at first start or given by settings, kept as a hash in the store, compared in constant time.

A made key has 256 random bits, so one round of SHA-256 with a salt is as good as any hash. A key that somebody chose
may be short, so its hash is scrypt, which takes long on purpose. A key that was accepted once is remembered by its
digest, and costs microseconds from then on.
"""

import hashlib
import hmac
import secrets
import threading

from msgspec import Struct

from rota.clock import Clock
from rota.errors import InvalidInput, StoreError
from rota.store.store import Store

DEV_KEY = "dev_key"
"""Seed 001's default. Everybody knows it, so it works only where nobody else can connect."""
SETTING = "api_key_hash"
_SCRYPT = {"n": 2**14, "r": 8, "p": 1}
_REREAD_S = 2.0
"""A replaced key is refused, and the new one accepted, within this time."""


def hash_made_key(key: str) -> str:
    salt = secrets.token_bytes(16)
    return f"sha256${salt.hex()}${hmac.digest(salt, _bytes(key), 'sha256').hex()}"


def hash_chosen_key(key: str) -> str:
    salt = secrets.token_bytes(16)
    return f"scrypt${salt.hex()}${hashlib.scrypt(_bytes(key), salt=salt, **_SCRYPT).hex()}"


def matches_hash(key: str, kept: str) -> bool:
    """Whether a key has this hash. A hash of another make fits no key."""
    kind, _, rest = kept.partition("$")
    salt_text, _, digest = rest.partition("$")
    try:
        salt = bytes.fromhex(salt_text)
    except ValueError:
        return False
    if kind == "sha256":
        found = hmac.digest(salt, _bytes(key), "sha256")
    elif kind == "scrypt":
        found = hashlib.scrypt(_bytes(key), salt=salt, **_SCRYPT)
    else:
        return False
    return hmac.compare_digest(found.hex(), digest)


def replace_key(store: Store) -> str:
    """A new key in place of whatever was kept. It is shown once; only its hash stays."""
    key = secrets.token_urlsafe(32)
    store.put_setting(SETTING, hash_made_key(key))
    return key


def is_dev_key(key: str | None) -> bool:
    return key == DEV_KEY


class KeyPlan(Struct, frozen=True):
    """How a server's key came about."""

    made: str | None
    """The key, if it was made just now; nobody will see it again."""
    configured: str | None
    """The key that the settings give."""
    allows_dev_key: bool


def prepare_key(store: Store, *, configured: str | None, is_loopback: bool) -> KeyPlan:
    """Settle which key a server accepts before it starts.

    A key from the settings is the only one; its hash is kept for servers that have none. Without one, a key is made at
    the first start of all, and `dev_key` works too while only this machine can connect.
    """
    if is_dev_key(configured):
        if not is_loopback:
            raise InvalidInput(
                "api_key", f"{DEV_KEY!r} is known to everybody; choose another key, or bind to 127.0.0.1"
            )
        return KeyPlan(None, configured, True)
    if configured is not None:
        _keep_chosen(store, configured)
        return KeyPlan(None, configured, False)
    return KeyPlan(_make_if_absent(store), None, is_loopback)


def _keep_chosen(store: Store, key: str) -> None:
    """A chosen key replaces one that was chosen before, but not one that was made: that one is in use elsewhere."""
    kept = store.put_setting(SETTING, hash_chosen_key(key), only_if_absent=True)
    if kept.startswith("scrypt$") and not matches_hash(key, kept):
        store.put_setting(SETTING, hash_chosen_key(key))


def _make_if_absent(store: Store) -> str | None:
    key = secrets.token_urlsafe(32)
    hashed = hash_made_key(key)
    return key if store.put_setting(SETTING, hashed, only_if_absent=True) == hashed else None


class KeyRing:
    """Tells whether a key is good. Thread-safe; `knows` is quick, `accepts` may take long and belongs in a thread."""

    def __init__(self, store: Store, plan: KeyPlan, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._has_configured_key = plan.configured is not None
        fixed = [plan.configured, DEV_KEY if plan.allows_dev_key else None]
        self._fixed = [_digest(key) for key in fixed if key is not None]
        self._lock = threading.Lock()
        self._kept: str | None = None
        self._kept_digest = b""
        self._read_at = float("-inf")

    def knows(self, key: str) -> bool:
        """Whether the key is good as far as can be told at once."""
        digest = _digest(key)
        is_fixed = [hmac.compare_digest(digest, known) for known in self._fixed]
        is_kept = hmac.compare_digest(digest, self._kept_digest) and not self._is_stale()
        return any(is_fixed) or is_kept

    def accepts(self, key: str) -> bool:
        """Whether the key is good, by the hash in the store. One at a time, so that guessing stays slow."""
        if self.knows(key):
            return True
        if self._has_configured_key:
            return False
        with self._lock:
            self._reread()
            if self.knows(key):
                return True
            if self._kept is None or not matches_hash(key, self._kept):
                return False
            self._kept_digest = _digest(key)
            return True

    def _is_stale(self) -> bool:
        return self._clock.monotonic() - self._read_at > _REREAD_S

    def _reread(self) -> None:
        if not self._is_stale():
            return
        try:
            kept = self._store.get_setting(SETTING)
        except StoreError:
            # The last known hash holds until the store answers again; /health tells that it does not.
            kept = self._kept
        if kept != self._kept:
            self._kept, self._kept_digest = kept, b""
        self._read_at = self._clock.monotonic()


def _bytes(key: str) -> bytes:
    """Environment variables may hold bytes that are no text."""
    return key.encode("utf-8", "surrogateescape")


def _digest(key: str) -> bytes:
    return hashlib.sha256(_bytes(key)).digest()
