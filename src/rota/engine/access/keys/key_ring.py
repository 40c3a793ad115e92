"""The ring of all keys that a server accepts.

Keys are compared in constant time with the hashes that the store has. One that was accepted once is remembered by its
digest, and costs microseconds from then on.
"""

import hashlib
import hmac
import threading

import msgspec
from msgspec import Struct

from rota.clock import Clock
from rota.engine.access.keys.access import ADMIN, Caller
from rota.engine.access.keys.admin_key import ADMIN_KEY, SETTING, KeyPlan
from rota.engine.access.keys.dev_key import DEV_KEY, has_ended, is_dev_key
from rota.engine.access.keys.hashes import digest_of, is_quick_hash, matches_hash
from rota.engine.access.keys.named_keys import NamedKey, find_key, list_keys
from rota.errors import StoreError
from rota.store.contract.store import Store

_REREAD_S = 2.0
"""A key that was revoked or replaced is refused within this time."""
_REREAD_UNKNOWN_S = 0.05
"""A key that was made elsewhere is accepted within this time, and `dev_key` refused."""


class Holder(Struct, frozen=True):
    """Somebody with a key, found without it."""

    caller: Caller
    stamp: str
    """What is kept of the key, in short: another one as soon as the key is another one, or may do other things."""


def holder_id(key: str, caller: Caller) -> str:
    """What the ring calls the holder of a key that was found to be good."""
    return DEV_KEY if is_dev_key(key) else caller.key or ADMIN_KEY


class KeyRing:
    """Tells whose a key is. Thread-safe; `known` is quick, `identify` may take long and belongs in a thread."""

    def __init__(self, store: Store, plan: KeyPlan, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._has_configured_key = plan.configured is not None
        self._fixed = None if plan.configured is None else digest_of(plan.configured)
        self._allows_dev_key = plan.allows_dev_key
        self._has_dev_key_ended = True
        self._lock = threading.Lock()
        self._kept: str | None = None
        """The hash of the admin key, unless the settings give one."""
        self._named: dict[str, NamedKey] = {}
        self._seen: dict[bytes, Caller] = {}
        """Digest of each key that was found to be good since the store was last read."""
        self._expiries: dict[bytes, NamedKey] = {}
        self._read_at = float("-inf")

    def known(self, key: str, *, by_own_program: bool = False) -> Caller | None:
        """Whose the key is, as far as can be told at once. `by_own_program`: it is shown by a program of this very user
        on this machine, the only ones for whom `dev_key` works."""
        if is_dev_key(key):
            works = by_own_program and not self._has_dev_key_ended and not self._is_older_than(_REREAD_UNKNOWN_S)
            return ADMIN if works else None
        digest = digest_of(key)
        if self._fixed is not None and hmac.compare_digest(digest, self._fixed):
            return ADMIN
        caller = self._seen.get(digest)
        if caller is None or self._is_older_than(_REREAD_S):
            return None
        record = self._expiries.get(digest)
        return caller if record is None or record.is_good(self._clock.now()) else None

    def was_good(self, key: str) -> bool:
        """Whether the key was good when the store was last read, as far as can be told without a slow hash."""
        if digest_of(key) in self._seen or find_key(self._named, key) is not None:
            return True
        return self._kept is not None and is_quick_hash(self._kept) and matches_hash(key, self._kept)

    def has_keys(self) -> bool:
        """Whether anybody has, or had, a key of this store or of the settings."""
        if self._has_configured_key:
            return True
        with self._lock:
            try:
                self._reread()
            except StoreError:
                return True  # a store that was never read may have keys
            return self._kept is not None or bool(self._named) or has_ended(self._store)

    def identify(self, key: str, *, by_own_program: bool = False) -> Caller | None:
        """Whose the key is, by the hashes in the store. One at a time, so that guessing stays slow. `StoreError` if
        they could never be read: who shows a key then is not told that it is wrong."""
        if caller := self.known(key, by_own_program=by_own_program):
            return caller
        with self._lock:
            self._reread()
            return self.known(key, by_own_program=by_own_program) or self._find(key, by_own_program)

    def still_good(self, key: str, caller: Caller) -> bool:
        """Whether a key that was accepted as this caller's is so still; a revoked or expired one is not."""
        # Whose program is at the other end was asked when it was accepted, and stays so.
        return self.identify(key, by_own_program=is_dev_key(key)) == caller

    def known_holder(self, holder_id: str, *, by_own_program: bool = False) -> Holder | None:
        """Who holds a key, as far as can be told at once."""
        newest_s = _REREAD_UNKNOWN_S if holder_id == DEV_KEY else _REREAD_S
        return None if self._is_older_than(newest_s) else self._holder(holder_id, by_own_program)

    def _holder(self, holder_id: str, by_own_program: bool) -> Holder | None:
        """By what was last read of the store, however long ago that is."""
        if holder_id == DEV_KEY:
            return Holder(ADMIN, DEV_KEY) if by_own_program and not self._has_dev_key_ended else None
        if holder_id == ADMIN_KEY:
            kept = self._kept if self._fixed is None else self._fixed.hex()
            return None if kept is None else Holder(ADMIN, _short(kept.encode()))
        record = self._named.get(holder_id)
        if record is None or not record.is_good(self._clock.now()):
            return None
        return Holder(record.caller, _short(msgspec.json.encode(record)))

    def holder(self, holder_id: str, *, by_own_program: bool = False) -> Holder | None:
        """Who holds a key, by what the store has; None if it is no longer good."""
        if found := self.known_holder(holder_id, by_own_program=by_own_program):
            return found
        with self._lock:
            self._reread()
            # Not by its age: this thread may have stood still since, and what was read just now counts.
            return self._holder(holder_id, by_own_program)

    def _find(self, key: str, by_own_program: bool) -> Caller | None:
        if is_dev_key(key):
            return ADMIN if by_own_program and not self._has_dev_key_ended else None
        record = find_key(self._named, key)
        if record is not None:
            if not record.is_good(self._clock.now()):
                return None
            self._expiries[digest_of(key)] = record
            self._seen[digest_of(key)] = record.caller
            return record.caller
        if self._kept is None or not matches_hash(key, self._kept):
            return None
        self._seen[digest_of(key)] = ADMIN
        return ADMIN

    @property
    def _is_unread(self) -> bool:
        return self._read_at == float("-inf")

    def _is_older_than(self, seconds: float) -> bool:
        """Whether what was read of the store is."""
        return self._clock.monotonic() - self._read_at > seconds

    def _reread(self) -> None:
        if not self._is_older_than(_REREAD_UNKNOWN_S):
            return
        try:
            kept = None if self._has_configured_key else self._store.get_setting(SETTING)
            named = {one.id: one for one in list_keys(self._store)}
            self._has_dev_key_ended = not self._allows_dev_key or bool(named) or has_ended(self._store)
        except StoreError:
            if self._is_unread:
                raise
            # The last known hashes hold until the store answers again; /health tells that it does not.
            kept, named = self._kept, self._named
        if (kept, named) != (self._kept, self._named):
            # A key whose hash is slow stays known while it is the same, or it could not be told from a guess.
            is_same = kept == self._kept
            seen = {digest: caller for digest, caller in self._seen.items() if is_same and caller is ADMIN}
            self._kept, self._named, self._seen, self._expiries = kept, named, seen, {}
        self._read_at = self._clock.monotonic()


def _short(record: bytes) -> str:
    return hashlib.sha256(record).hexdigest()
