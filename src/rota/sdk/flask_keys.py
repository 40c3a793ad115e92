"""Who may post events to a Flask app: the same keys, rights and limits as at a server."""

import threading
from math import ceil

from flask import Request

from rota.engine.access.keys.access import Caller, Scope
from rota.engine.access.keys.admin_key import KeyPlan, is_strong
from rota.engine.access.keys.dev_key import is_dev_key
from rota.engine.access.keys.key_ring import KeyRing
from rota.engine.access.keys.rate import WRONG_KEYS_AT_ONCE, WRONG_KEYS_PER_S, RateLimit
from rota.engine.engine import Engine
from rota.errors import StoreError

_NEEDED = "a valid key is needed: Authorization: Bearer KEY"


class Refused(Exception):
    """The request is not answered, with this status and these headers."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}


class FlaskKeys:
    """The keys of a store, and the one of the settings. Thread-safe, as Flask serves in threads."""

    def __init__(self, engine: Engine, api_key: str | None) -> None:
        # The well-known key is for a server's own machine alone, and Flask does not tell who is there.
        configured = None if is_dev_key(api_key) else api_key
        self._ring = KeyRing(engine.store, KeyPlan(None, configured, False), engine.clock)
        self._needs_key = api_key is not None
        self._wrong_keys = RateLimit(engine.clock, per_second=WRONG_KEYS_PER_S, burst=WRONG_KEYS_AT_ONCE)
        self._lock = threading.Lock()

    def check(self, request: Request) -> None:
        """Refuse whoever has no key for events, unless nobody has any key."""
        key = _bearer_key(request)
        if key is None:
            if self._needs_key or self._ring.has_keys():
                raise Refused(401, _NEEDED, {"WWW-Authenticate": "Bearer"})
            return
        known = self._ring.known(key) if is_strong(key) else None
        caller = known or self._look_up(key, request.remote_addr or "?")
        if caller is None:
            raise Refused(401, _NEEDED, {"WWW-Authenticate": "Bearer"})
        if not caller.may(Scope.EVENTS_WRITE):
            raise Refused(403, f"the key {caller.name!r} lacks the scope {Scope.EVENTS_WRITE}")

    def _look_up(self, key: str, address: str) -> Caller | None:
        """By the hashes in the store. A token is taken before it is known whether the key is good: many who try at the
        same moment count like one after another. A key that could be guessed counts like a guess."""
        if is_strong(key) and self._ring.was_good(key):
            return self._ring.identify(key)
        with self._lock:
            wait_s = self._wrong_keys.take(address)
        if wait_s:
            message = f"too many requests; try again in {wait_s:.1f} s"
            raise Refused(429, message, {"Retry-After": str(ceil(wait_s))})
        try:
            caller = self._ring.identify(key)
        except StoreError:
            self._give_back(address)  # nobody knows whether it is wrong
            raise
        if caller is not None:
            self._give_back(address)
        return caller

    def _give_back(self, address: str) -> None:
        with self._lock:
            self._wrong_keys.give_back(address)


def _bearer_key(request: Request) -> str | None:
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None
