"""A node that waits for work, in a thread of its own."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rota.store import Store
from rota.store.contract.queues import Cancellation, Waker
from tests.contract.building import new_node
from tests.patience import DEADLINE_S

LONG_S = 3_600.0
LOOKS = 5
LOOK_S = 0.01
"""A thread that is at the same place in so many looks, so long apart, sleeps there."""


class Waiting:
    """A wait in a thread of its own."""

    def __init__(self, waker: Waker, *, wants_jobs: bool, ended: threading.Event | None = None) -> None:
        self.answer: list[Cancellation] | None = None
        self.ended = ended or threading.Event()
        self._waker, self._wants_jobs = waker, wants_jobs
        self.thread = threading.Thread(target=self._wait, daemon=True)
        self.thread.start()

    def _wait(self) -> None:
        self.answer = self._waker.wait(LONG_S, wants_jobs=self._wants_jobs)
        self.ended.set()

    def ends(self) -> bool:
        return self.ended.wait(DEADLINE_S)

    def asleep(self) -> "Waiting":
        """The same, as soon as it sleeps; or has ended, since there was something to do already."""
        seen: list[object] = []
        deadline = time.monotonic() + DEADLINE_S
        while not self.ended.is_set() and len(seen) < LOOKS:
            assert time.monotonic() < deadline, "the wait does not come to rest"
            place = _place(sys._current_frames().get(self.thread.ident or 0))
            seen = [*seen, place] if seen[-1:] == [place] else [place]
            time.sleep(LOOK_S)
        return self


def _place(frame: FrameType | None) -> tuple[object, ...]:
    """Where a thread is: every call on its way there, and how far each has come."""
    places: list[object] = []
    while frame is not None:
        places += [id(frame), frame.f_lasti]
        frame = frame.f_back
    return tuple(places)


@contextmanager
def waker_of(store: Store, queue: str, node: str | None = None) -> Iterator[Waker]:
    waker = store.waker(queue, node or new_node())
    try:
        yield waker
    finally:
        waker.close()


def quieten(waker: Waker) -> None:
    """Use up what happened before, so that the next wait has a reason of its own."""
    waker.wait(0.01, wants_jobs=True)
