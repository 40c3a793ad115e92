"""Wakers of a real store that are watched, and can be held back."""

import threading

from rota.store import Store
from rota.store.contract.queues import Cancellation, Waker
from rota.testing import Faults


class WatchedWaker:
    """The waker of a store. Nothing is heard from it while it is held back."""

    def __init__(self, waker: Waker, goes_on: threading.Event) -> None:
        self._waker = waker
        self._goes_on = goes_on
        self.waits = 0
        """How many have ended."""

    def wait(self, timeout_s: float, *, wants_jobs: bool) -> list[Cancellation]:
        self._goes_on.wait()
        news = self._waker.wait(timeout_s, wants_jobs=wants_jobs)
        self.waits += 1
        return news

    def nudge(self) -> None:
        self._waker.nudge()

    def close(self) -> None:
        self._goes_on.set()
        self._waker.close()


class WatchedStore(Faults):
    """A store for one node, whose waker is watched."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._goes_on = threading.Event()
        self._goes_on.set()
        self._wakers: list[WatchedWaker] = []

    def waker(self, queue: str, node: str) -> WatchedWaker:
        self._wakers.append(WatchedWaker(self.real.waker(queue, node), self._goes_on))
        return self._wakers[-1]

    def hold_back(self) -> None:
        """Let no wait begin until `go_on`."""
        self._goes_on.clear()

    def go_on(self) -> None:
        self._goes_on.set()

    @property
    def waits(self) -> int:
        """How many waits have ended."""
        return sum(waker.waits for waker in self._wakers)
