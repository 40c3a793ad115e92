"""Finds tasks of other programs whose time has come without anybody hearing of it: stored with a ttl and nothing else,
and the ttl is gone. Redis tells of an expiry once, to whoever listens just then."""

from collections.abc import Mapping

import msgspec

from rota.dialects.tasks.redis.inlet import PATIENCE_MS, Inlet
from rota.dialects.tasks.redis.mirror import Mirror
from rota.errors import StoreError, StoreFull, StoreUnavailable
from rota.store.redis.link.access import RedisAccess

_KEYS_PER_ROUND = 500
_TIMED = ("expire", "schedule")
_GONE = -2
"""What Redis says of the time that a key has left when there is no such key."""


class Strays:
    """Looks at some keys in each round, and at all of them in turn."""

    def __init__(self, access: RedisAccess, mirror: Mirror, inlet: Inlet) -> None:
        self._access = access
        self._mirror = mirror
        self._inlet = inlet
        self._cursor = 0
        self._had_ttl: set[str] = set()
        """Those that had a ttl in one of the turns in which they have been there."""
        self._now_had_ttl: set[str] = set()
        """The same, as far as this turn has come. What is there no more is forgotten with the turn before."""
        self._since: dict[str, int] = {}
        """When a task was first seen that waits for nothing; whoever stores it has a moment for its ttl."""
        self._now_since: dict[str, int] = {}
        """As far as this turn has come."""

    def run_once(self, now: int) -> None:
        keys, scan = self._mirror.keys, self._access.ask
        cursor, found = scan("scan", self._cursor, match=keys.any_task, count=_KEYS_PER_ROUND)
        ids = [id for key in found if (id := keys.id_of_task(key.decode("utf-8", "replace")))]
        for id, shown in zip(ids, self._mirror.lists_of(ids), strict=True):
            if shown is None and self._waits_for_nothing(id):
                self._note(id, now)
        self._cursor = cursor  # only now: what an error keeps from being looked at is looked at again
        if not cursor:
            self._since, self._now_since = self._now_since, {}
            self._had_ttl, self._now_had_ttl = self._now_had_ttl, set()

    def _note(self, id: str, now: int) -> None:
        since = self._now_since[id] = self._since.get(id, now)
        if now - since >= PATIENCE_MS:
            self._now_had_ttl.discard(id)
            self._inlet.wake(id)

    def _waits_for_nothing(self, id: str) -> bool:
        """Whether it is a task, its ttl is gone, and it is in none of the lists from which somebody would take it."""
        keys, ask = self._mirror.keys, self._access.ask
        has_ttl = ask("pttl", keys.ttl(id)) != _GONE
        had_ttl = has_ttl or id in self._had_ttl or id in self._now_had_ttl
        if had_ttl:
            self._now_had_ttl.add(id)
        if has_ttl or any(ask("lpos", key, id) is not None for key in (keys.queue, keys.active, keys.failed)):
            return False
        return had_ttl or self._is_task(id)

    def _is_task(self, id: str) -> bool:
        """Other programs have other things under such plain names: only what says when it runs, or is listed as a task,
        is taken for one."""
        try:
            stored = msgspec.json.decode(self._access.ask("get", self._mirror.keys.task(id)) or b"null")
        except (StoreUnavailable, StoreFull):
            raise
        except (msgspec.MsgspecError, ValueError, RecursionError, StoreError):
            return False
        if not isinstance(stored, Mapping) or stored.get("id") != id:
            return False
        is_timed = any(stored.get(name) for name in _TIMED)
        return is_timed or self._access.ask("lpos", self._mirror.keys.ids, id) is not None
