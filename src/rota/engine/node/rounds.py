"""Rounds over several places of which one may hang, as the queues on one server of a cluster do.

The looks of a round are taken one after the other, as long as all of them are answered soon. One that is not would make
the others late. So what was slow is looked at apart, in a thread that lasts as long as the look, until it was quick
many times in a row; and so is the rest of a round that is late already. In good times there is no such thread.

A round whose look is not answered at all is stuck. Who drives the duty may begin the next one in another thread then:
the old round ends with the look that it is at.
"""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from functools import partial

from rota.clock import Clock
from rota.engine.bridge.store_thread import LONGEST_END_S
from rota.engine.node.duty import Round

Look = Callable[[], bool]
"""Tells whether it left something to do."""
SLOW_S = 0.5
"""A look of a duty that is to be on time is slow if it takes longer."""
_QUICK_LOOKS = 20
"""In a row, after which what was slow is trusted again: as many as a watchdog takes in the dead time."""
_MOST_THREADS = 32


class Rounds:
    """Those of one duty. A look that takes longer than `slow_s` is slow, and a round is late then. At one place there
    is one look at a time, whichever round it is of."""

    def __init__(self, clock: Clock, *, slow_s: float = SLOW_S) -> None:
        self._clock = clock
        self._slow_s = slow_s
        self._quick: dict[str, int] = {}
        """How many quick looks in a row each had of those that are taken apart."""
        self._under_way: dict[str, Future[bool]] = {}
        self._entering = threading.Lock()
        self._round: Round | None = None
        """The latest; no other begins a look."""
        self._late_at = 0.0
        self._look_began_at: float | None = None
        """When the look began that the latest round is at, unless it is taken apart."""

    @property
    def is_stuck(self) -> bool:
        """Whether the look that the latest round is at is slow already."""
        began_at = self._look_began_at
        return began_at is not None and self._clock.monotonic() - began_at > self._slow_s

    def begin(self) -> Round:
        """A new round. If the one before is stuck it is late already, so that nothing else holds it up."""
        self._late_at = float("-inf") if self.is_stuck else self._clock.monotonic() + self._slow_s
        self._look_began_at = None
        self._round = Round()
        return self._round

    def take(self, round: Round, looks: Mapping[str, Look]) -> bool:
        """Take each look, by name, but for those that are still under way; tells whether one left something to do.
        Those that are taken apart are waited for a moment. Errors are the round's."""
        apart, has_left = list[Future[bool]](), list[bool]()
        for name, look in looks.items():
            if round is not self._round:
                break
            if self._is_apart(name):
                apart += self._begin(name, look)
            else:
                has_left += self._look_here(round, name, look)
        wait(apart, timeout=self._slow_s)
        has_left += round.each(self._ended(), Future.result)
        return any(has_left)

    def is_under_way(self, name: str) -> bool:
        """Whether a look is not answered yet."""
        return name in self._under_way

    def end(self) -> None:
        """Begin no look any more, and wait for those that are under way, but not for ever: a store may hang."""
        self._round = None
        wait(list(self._under_way.values()), timeout=LONGEST_END_S)

    def _is_apart(self, name: str) -> bool:
        is_late = self._clock.monotonic() > self._late_at
        return name in self._quick or (is_late and len(self._under_way) < _MOST_THREADS)

    def _begin(self, name: str, look: Look) -> list[Future[bool]]:
        """Take a look apart. What is slow waits for the next round if too many are under way."""
        if len(self._under_way) >= _MOST_THREADS or (future := self._enter(name)) is None:
            return []
        threading.Thread(
            target=_settle, args=(future, partial(self._timed, name, look)), name="rota-look", daemon=True
        ).start()
        return [future]

    def _look_here(self, round: Round, name: str, look: Look) -> list[bool]:
        if (future := self._enter(name)) is None:
            return []
        self._look_began_at = self._clock.monotonic()
        _settle(future, partial(self._timed, name, look))
        if round is self._round:
            self._look_began_at = None
        return round.each(self._ended(), Future.result)

    def _enter(self, name: str) -> Future[bool] | None:
        """None if a look there is under way."""
        with self._entering:
            if name in self._under_way:
                return None
            future = self._under_way[name] = Future[bool]()
            return future

    def _ended(self) -> list[Future[bool]]:
        """Those that have ended since this was last asked."""
        with self._entering:
            names = [name for name, future in self._under_way.items() if future.done()]
            return [self._under_way.pop(name) for name in names]

    def _timed(self, name: str, look: Look) -> bool:
        began_at = self._clock.monotonic()
        try:
            return look()
        finally:
            self._note(name, is_slow=self._clock.monotonic() - began_at > self._slow_s)

    def _note(self, name: str, *, is_slow: bool) -> None:
        if is_slow:
            self._quick[name] = 0
        elif name in self._quick:
            self._quick[name] += 1
            if self._quick[name] >= _QUICK_LOOKS:
                del self._quick[name]


def _settle(future: Future[bool], look: Look) -> None:
    try:
        future.set_result(look())
    except BaseException as error:
        future.set_exception(error)
