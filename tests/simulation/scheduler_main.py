"""A scheduler as a process of its own, which can be told to die: `after_claim:3` is the third time it comes to there.

The point is named in ROTA_TEST_FAILPOINT. The product knows nothing of this: it is the store around which it is built.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

from rota.engine.node.node import Node
from rota.engine.node.options import SCHEDULER, NodeOptions
from rota.errors import StoreUnavailable
from rota.store import Store, open_store
from rota.store.contract.schedules import DueSchedules, Firing

VARIABLE = "ROTA_TEST_FAILPOINT"


class MortalStore:
    """A store whose user dies, without a chance to clean up, at a named point."""

    def __init__(self, store: Store, failpoint: str) -> None:
        self._store = store
        self._point, _, times = failpoint.partition(":")
        self._left = int(times or 1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def claim_due_schedules(self, queue: str, *, now: int, lease_ms: int, limit: int) -> DueSchedules:
        self._pass("before_claim")
        found = self._store.claim_due_schedules(queue, now=now, lease_ms=lease_ms, limit=limit)
        if found.entries:
            self._pass("after_claim")
        return found

    def fire_schedules(self, queue: str, firings: Sequence[Firing], *, now: int) -> list[bool]:
        self._pass("before_fire")
        answers = self._store.fire_schedules(queue, firings, now=now)
        self._pass("after_fire")
        return answers

    def _pass(self, point: str) -> None:
        if point == self._point:
            self._left -= 1
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)


def opened(url: str) -> Node:
    """On a slow machine another process may hold the lock of the file for longer than a store waits."""
    while True:
        try:
            store = cast(Store, MortalStore(open_store(url), os.environ.get(VARIABLE, "")))
            node = Node.open(store, NodeOptions(roles=frozenset({SCHEDULER})))
            node.find_queue()
        except StoreUnavailable:
            continue
        return node


def main(url: str) -> None:
    node = opened(url)

    async def live() -> None:
        stop: Callable[[], None] = node.request_stop
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
        await node.run()

    asyncio.run(live())


if __name__ == "__main__":
    main(sys.argv[1])
