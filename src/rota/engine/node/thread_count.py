"""The duty that lets a worker have as many slots as its node type says, also when that changes."""

import asyncio
from collections.abc import Callable

from rota.engine.definitions.definitions import Definitions
from rota.engine.worker.worker import Worker

LOOK_S = 1.0
"""A change of `thread_count` is followed within two of these, whoever made it, and the node's record says so."""


class ThreadCount:
    """A duty. Called from any thread; what follows happens on the event loop on which it was made."""

    def __init__(
        self, definitions: Definitions, worker: Worker, *, node_type: str, on_change: Callable[[], None]
    ) -> None:
        self._definitions = definitions
        self._worker = worker
        self._node_type = node_type
        self._on_change = on_change
        self._loop = asyncio.get_running_loop()

    def run_once(self, now: int) -> float:
        self._definitions.refresh()
        found = self._definitions.known_node_type(self._node_type)
        if found is not None and found.thread_count != self._worker.slots:
            self._loop.call_soon_threadsafe(self._resize, found.thread_count)
        return LOOK_S

    def _resize(self, slots: int) -> None:
        self._worker.resize(slots)
        self._on_change()
