"""How a worker comes to its end: it drains, then interrupts what runs, then leaves behind what does not end."""

import asyncio
from collections.abc import Callable

from rota.engine.observation.happenings import RunLeftBehind
from rota.engine.observation.observers import Observers
from rota.engine.worker.attempt import Attempt, Stop
from rota.engine.worker.hands import Hands
from rota.model.runs.outcome import INTERRUPTED


class Stopping:
    """The end of one worker. Each step is called at most once with effect, on the event loop."""

    def __init__(
        self,
        hands: Hands,
        *,
        grace_s: float,
        abandon_s: float,
        observers: Observers,
        on_change: Callable[[], None],
    ) -> None:
        self._hands = hands
        self._observers = observers
        self._grace_s = grace_s
        self._abandon_s = abandon_s
        self._on_change = on_change
        self._loop = asyncio.get_running_loop()
        self.is_draining = False
        """Whether nothing more is begun."""
        self.is_at_once = False
        """Whether what runs is interrupted."""
        self.has_abandoned = False
        """Whether runs were left behind."""
        self.left_locked: dict[str, str] = {}
        """Those of them that are under a lock, id to token: they are this node's until its process ends."""

    def drain(self) -> None:
        """Claim nothing more. What was claimed ahead goes back; running jobs go on, and are interrupted after the
        grace."""
        if not self.is_draining:
            self.is_draining = True
            self._hands.close()
            self._loop.call_later(self._grace_s, self.stop)
            self._on_change()

    def stop(self) -> None:
        """Interrupt what runs, now. The jobs go back to their queue; their attempts do not count."""
        if self.is_at_once:
            return
        self.is_draining = self.is_at_once = True
        self._on_change()
        self._hands.close()
        for attempt in self._hands:
            attempt.stop(Stop.INTERRUPTED)
        self._loop.call_later(self._abandon_s, self._abandon)

    def _abandon(self) -> None:
        """Give up on runs that swallow their cancellation; the process ends, and they with it."""
        for attempt in self._hands:
            self._observers.tell(RunLeftBehind(attempt.claim.spec.id))
            self.has_abandoned = True
            self.leave_behind(attempt)
            self._hands.end(attempt, INTERRUPTED)

    def leave_behind(self, attempt: Attempt) -> None:
        """A run was to end and goes on, until its process ends. Under a lock nobody may begin it beside that: it is not
        given back, and when the process has ended others notice."""
        claim = attempt.claim
        if claim.spec.lock_key is not None:
            self.left_locked[claim.spec.id], attempt.reason = claim.token, Stop.LOST
