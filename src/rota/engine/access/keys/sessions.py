"""Sessions of browsers: a signed text that stands for a key which was shown once. How a browser keeps it is not here.

Nobody keeps a list. The signature covers the key's record, so a key that was revoked or replaced ends its sessions, in
every process. The secret is made by the first who needs it, and never leaves the store.
"""

import hmac
import secrets

from msgspec import Struct

from rota.clock import Clock
from rota.engine.access.keys.access import Caller
from rota.engine.access.keys.key_ring import Holder, KeyRing
from rota.store.contract.store import Store

SECRET = "session_secret"
"""The setting that holds it. It belongs to its store: a backup must not hold what opens the original."""
LIFE_MS = 12 * 3600 * 1000
_LONGEST = 200
_MOST_DIGITS = 15


class Begun(Struct, frozen=True):
    """A new session, and whose it is."""

    session: str
    caller: Caller


class Sessions:
    """Begins sessions, and tells whose one is. Thread-safe; `known` is quick, the others belong in a thread."""

    def __init__(self, store: Store, keys: KeyRing, clock: Clock) -> None:
        self._store = store
        self._keys = keys
        self._clock = clock
        self._secret: bytes | None = None

    def begin(self, holder_id: str, *, by_own_program: bool = False) -> Begun | None:
        """A new session of a key, by what the ring calls its holder; None if that is no longer good."""
        secret = self._read_secret()
        holder = self._keys.holder(holder_id, by_own_program=by_own_program)
        if holder is None:
            return None
        expires = str(self._clock.now() + LIFE_MS)
        return Begun(f"{holder_id}.{expires}.{_signature(secret, holder_id, expires, holder)}", holder.caller)

    def known(self, session: str, *, by_own_program: bool = False) -> Caller | None:
        """Whose the session is, as far as can be told at once."""
        holder_id = session.partition(".")[0]
        holder = self._keys.known_holder(holder_id, by_own_program=by_own_program)
        return None if self._secret is None else self._caller(self._secret, session, holder)

    def identify(self, session: str, *, by_own_program: bool = False) -> Caller | None:
        """Whose the session is, by what the store has."""
        secret = self._read_secret()
        holder = self._keys.holder(session.partition(".")[0], by_own_program=by_own_program)
        return self._caller(secret, session, holder)

    def _caller(self, secret: bytes, session: str, holder: Holder | None) -> Caller | None:
        holder_id, expires, signature = [*session[:_LONGEST].split("."), "", ""][:3]
        if holder is None or not self._is_later(expires):
            return None
        good = _signature(secret, holder_id, expires, holder)
        return holder.caller if hmac.compare_digest(good.encode(), signature.encode()) else None

    def _is_later(self, expires: str) -> bool:
        is_number = expires.isascii() and expires.isdigit() and len(expires) <= _MOST_DIGITS
        return is_number and self._clock.now() < int(expires)

    def _read_secret(self) -> bytes:
        if self._secret is None:
            made = secrets.token_hex(32)
            self._secret = bytes.fromhex(self._store.put_setting(SECRET, made, only_if_absent=True))
        return self._secret


def _signature(secret: bytes, holder_id: str, expires: str, holder: Holder) -> str:
    return hmac.digest(secret, f"{holder_id}.{expires}.{holder.stamp}".encode(), "sha256").hex()
