"""The duty that listens to Synchrony's lists of waiting jobs, each with a thread that waits in a blocking command.

BLMOVE from a list to the same end of the same list changes nothing, and returns as soon as the list holds something: a
wait that takes nothing away, so that there is nothing to lose.
"""

import logging
import random
import threading
from collections.abc import Callable

from rota.dialects.synchrony import keys
from rota.dialects.synchrony.adoption import Adoption
from rota.dialects.synchrony.definition_hashes import readable_node_types
from rota.engine.node.dialect import DialectContext
from rota.errors import RotaError
from rota.store.redis.link.access import BlockingAccess, RedisAccess
from rota.store.redis.link.skip_refused import SkipRefused

EVERY_S = 1.0
_WAIT_S = 5
"""Short, because a connection that was cut in silence is noticed only when a wait should have ended."""
_AFTER_ERROR_S = 1.0
_AFTER_LOSING_S = 0.05
"""Another node was faster and may be at it still."""
_STOP_STEP_S = 0.05
_STOP_TRIES = 300
"""For longer than a wait lasts by itself, should it not be broken off."""
_logger = logging.getLogger("rota.synchrony")


class Inlet:
    """A duty: `run_once` sees to it that every list has a listener. A mere worker listens for its own node type."""

    def __init__(
        self, access: RedisAccess, context: DialectContext, learn: Callable[[], None], *, everything: bool
    ) -> None:
        self._access = access
        self._definitions = context.engine.definitions
        self._node_type = context.node_type
        self._adoption = Adoption(access, context.engine, learn)
        self._everything = everything
        self._listeners: dict[str, ListListener] = {}
        self._skip_refused = SkipRefused("synchrony")

    def run_once(self, now: int) -> float:
        """Begin and end listening as node types come and go."""
        self._skip_refused.do(keys.NODE_TYPES, self._update)
        return EVERY_S

    def _update(self) -> None:
        wanted = self._lists()
        for key in wanted - self._listeners.keys():
            self._listeners[key] = ListListener(self._access, key, self._adoption)
        for key in self._listeners.keys() - wanted:
            self._listeners.pop(key).stop()

    def close(self) -> None:
        """End listening."""
        for listener in self._listeners.values():
            listener.stop()
        self._listeners.clear()

    def _lists(self) -> set[str]:
        """By the uuids that Rota knows and by those in the hash, which may be others for the same name."""
        raw = self._access.ask("hgetall", keys.NODE_TYPES)
        records = readable_node_types({field.decode("utf-8", "replace"): text for field, text in raw.items()})
        found = {(record.name, record.uuid) for _, record in records}
        found |= {(one.name, one.uuid) for one in self._definitions.node_types()}
        mine = self._node_type
        return {keys.jobs_waiting(uuid) for name, uuid in found if self._everything or mine in (name, uuid)}


class ListListener:
    """A thread that waits for entries of one list and has them adopted."""

    def __init__(self, access: RedisAccess, key: str, adoption: Adoption) -> None:
        self._access = access
        self._key = key
        self._adoption = adoption
        self._connection: BlockingAccess | None = None
        self._stopped = threading.Event()
        self._trouble: str | None = None
        self._thread = threading.Thread(target=self._serve, name="rota-synchrony", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; a wait under way ends with it."""
        self._stopped.set()
        for _ in range(_STOP_TRIES):
            # Again and again: a wait that was about to begin opens its connection anew.
            if self._connection is not None:
                self._connection.close()
            self._thread.join(_STOP_STEP_S)
            if not self._thread.is_alive():
                return

    def _serve(self) -> None:
        while not self._stopped.is_set():
            try:
                self._listen()
                self._trouble = None
            except RotaError as error:
                self._pause_after(str(error))
            except Exception as error:  # a fault in one entry must not end the listening
                self._pause_after(f"{type(error).__name__}: {error}")

    def _listen(self) -> None:
        if self._connection is None:
            self._connection = self._access.connect(longest_wait_s=_WAIT_S)
        while not self._stopped.is_set():
            if self._connection.wait("BLMOVE", self._key, self._key, "LEFT", "LEFT", _WAIT_S) is None:
                continue
            if not self._adoption.take(self._key):
                self._stopped.wait(random.uniform(0, _AFTER_LOSING_S))

    def _pause_after(self, trouble: str) -> None:
        if not self._stopped.is_set() and trouble != self._trouble:
            self._trouble = trouble
            _logger.warning("a list of waiting jobs cannot be read", extra={"key": self._key, "error": trouble})
        self._stopped.wait(_AFTER_ERROR_S)
