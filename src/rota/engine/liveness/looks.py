"""The looks of a watchdog: one after the other, as long as all of them are answered soon.

One that is not, such as a look at a queue on a server that hangs, would make the others late, and who looks too seldom
has to watch anew each time. So what was slow is looked at apart, in a thread that lasts as long as the look, until it
was quick for a whole dead time; and so is the rest of a round that is late already. In good times there is no such
thread.
"""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from functools import partial

from rota.clock import Clock
from rota.engine.bridge.store_thread import LONGEST_END_S
from rota.engine.node.duty import Round
from rota.model.liveness import LOOKS_PER_DEATH

Look = Callable[[], bool]
"""Tells whether it left something to do."""
_MOST_THREADS = 32


class Looks:
    """Those of one watchdog. A look that takes longer than `slow_s` is slow, and a round is late then."""

    def __init__(self, clock: Clock, *, slow_s: float) -> None:
        self._clock = clock
        self._slow_s = slow_s
        self._quick: dict[str, int] = {}
        """How many quick looks in a row each had of those that are taken apart."""
        self._under_way: dict[str, Future[bool]] = {}
        self._passed_over: dict[str, None] = {}
        """Those for which there was no room apart, the longest ago first."""

    def take(self, looks: Mapping[str, Look], round: Round) -> bool:
        """Take each look, by name, but for those that are still under way; tells whether one left something to do.
        Those that are taken apart are waited for a moment. Errors are the round's."""
        began_at = self._clock.monotonic()
        has_left = round.each(self._ended(), Future.result)
        begun = []
        for name, look in self._in_turn(looks).items():
            if name in self._under_way:
                continue
            if self._is_apart(name, is_late=self._clock.monotonic() - began_at > self._slow_s):
                begun += [one for ones in round.each([look], partial(self._begin, name)) for one in ones]
            else:
                self._passed_over.pop(name, None)
                has_left += round.each([look], partial(self._timed, name))
        wait(begun, timeout=self._slow_s)
        has_left += round.each(self._ended(), Future.result)
        return any(has_left)

    def end(self) -> None:
        """Wait for those that are under way, but not for ever: a store may hang."""
        wait(self._under_way.values(), timeout=LONGEST_END_S)

    def _is_apart(self, name: str, *, is_late: bool) -> bool:
        return name in self._quick or (is_late and len(self._under_way) < _MOST_THREADS)

    def _in_turn(self, looks: Mapping[str, Look]) -> Mapping[str, Look]:
        """Those first that were passed over: else of many that are slow the first would be taken again and again."""
        self._passed_over = {name: None for name in self._passed_over if name in looks}
        return {name: looks[name] for name in dict.fromkeys([*self._passed_over, *looks])}

    def _begin(self, name: str, look: Look) -> list[Future[bool]]:
        """Take a look apart. What is slow waits for the next round if too many are under way."""
        if len(self._under_way) >= _MOST_THREADS:
            self._passed_over.setdefault(name)
            return []
        future = Future[bool]()
        threading.Thread(
            target=_settle, args=(future, partial(self._timed, name, look)), name="rota-watchdog-apart", daemon=True
        ).start()
        self._passed_over.pop(name, None)
        self._under_way[name] = future  # only now: if no thread can be started, it is tried again
        return [future]

    def _ended(self) -> list[Future[bool]]:
        """Those that were taken apart and have ended since this was last asked."""
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
            if self._quick[name] >= LOOKS_PER_DEATH:
                del self._quick[name]


def _settle(future: Future[bool], look: Look) -> None:
    try:
        future.set_result(look())
    except BaseException as error:
        future.set_exception(error)
