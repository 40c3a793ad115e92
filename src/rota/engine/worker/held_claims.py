"""What the heart asks a worker and tells it, from its own thread; what follows from it happens on the event loop.

Runs that promise to be the only ones end before others may begin them, although the node cannot be heard. That is
decided here, by a timer that asks nobody: a call to the store may take longer than it says (names that are looked up,
one server after the other), and the heart with it. User code may block the loop, and the timer with it: then the lock
guard ends what are processes (`lock_guard.py`).
"""

import asyncio

from rota.clock import Clock
from rota.engine.observation.happenings import ClaimLost, LockedRunStopped
from rota.engine.observation.observers import Observers
from rota.engine.worker.attempt import Attempt, Stop
from rota.engine.worker.hands import Hands
from rota.engine.worker.lock_guard import LockGuard
from rota.model.liveness import BEATS_PER_DEATH, LOOKS_PER_DEATH, let_go_after_s, let_go_grace_s
from rota.store.contract.claims import Renewal
from rota.store.contract.queues import Cancellation

_LONGEST_PAUSE_S = 1.0
"""Between two looks: a timer does not count the time for which the machine was suspended, the clock does."""


class HeldClaims:
    """The claims of a worker, which the heart renews (`liveness/heart.py`, `ClaimHolder`)."""

    def __init__(
        self,
        hands: Hands,
        *,
        node: str,
        clock: Clock,
        dead_after_s: float,
        observers: Observers,
    ) -> None:
        self._hands = hands
        self._node = node
        self._clock = clock
        self._dead_after_s = dead_after_s
        self._let_go_after_s = let_go_after_s(dead_after_s)
        self._pause_s = min(dead_after_s / LOOKS_PER_DEATH, _LONGEST_PAUSE_S)
        self._observers = observers
        self._loop = asyncio.get_running_loop()
        self._renewed: tuple[float, dict[str, str]] = clock.monotonic(), {}
        """When the store was told what is held, and what of that is ours. Set from the heart's thread, so that a loop
        that was blocked does not let go of what was renewed all the time."""
        self.is_in_haste = False
        """Claims came so late that they are old already; until the store is told of them. Asked from the heart's
        thread."""
        self._timer: asyncio.TimerHandle | None = None
        self._guard = LockGuard(
            hands,
            is_old=self.is_old,
            clock=clock,
            pause_s=self._pause_s,
            grace_s=let_go_grace_s(dead_after_s),
            observers=observers,
        )

    def watch(self) -> None:
        """See to it, from now on, that what must not run twice ends in time."""
        self._guard.start()
        self._look()

    def _look(self) -> None:
        # The next look is certain before anything can go wrong with this one.
        self._timer = self._loop.call_later(self._pause_s, self._look)
        if self._is_long_ago(self._renewed[0]):
            self._stop_locked_runs()

    def close(self) -> None:
        """There is nothing left to watch."""
        self._guard.stop()
        if self._timer is not None:
            self._timer.cancel()

    def took(self, *, asked_at: float) -> None:
        """Claims are in hand that were asked for then. The store may have hung meanwhile, or this process."""
        if self._clock.monotonic() - asked_at >= self._dead_after_s / BEATS_PER_DEATH:
            self.is_in_haste = True

    def held(self) -> dict[str, str]:
        """The jobs in hand, id to token."""
        self.is_in_haste = False  # before they are read: what comes meanwhile may not be among them
        return self._hands.tokens()

    def renewed(self, held: dict[str, str], renewal: Renewal, *, at: float) -> None:
        """The store was told what is held; hear which jobs are to be cancelled and which are no longer ours."""
        # When it was told, not when it answered: others count from when it heard.
        lost = set(renewal.lost)
        self._renewed = at, {job_id: token for job_id, token in held.items() if job_id not in lost}
        self._loop.call_soon_threadsafe(self._obey, held, renewal)

    def is_old(self, attempt: Attempt) -> bool:
        """Whether its claim, which was a sign of life too, and the last renewal of it are so long ago that others may
        have the job. A renewal that came before the claim was in hand says nothing of it. Asked from any thread."""
        if not self._is_long_ago(attempt.claimed_at):
            return False
        claim, (renewed_at, renewed) = attempt.claim, self._renewed
        return renewed.get(claim.spec.id) != claim.token or self._is_long_ago(renewed_at)

    def _is_long_ago(self, heard_at: float) -> bool:
        return self._clock.monotonic() - heard_at >= self._let_go_after_s

    def _obey(self, held: dict[str, str], renewal: Renewal) -> None:
        self._hands.cancel_attempts(Cancellation(job_id, held[job_id]) for job_id in renewal.cancelled)
        for job_id in renewal.lost:
            attempt = self._hands.find(job_id)
            # What was lost is the attempt that the store was told of. This node may have been given the job again; and
            # it may have been told before.
            if attempt is not None and attempt.claim.token == held[job_id] and attempt.reason is not Stop.LOST:
                self._observers.tell(ClaimLost(job_id, self._node))
                self._hands.stop(attempt, Stop.LOST)

    def _stop_locked_runs(self) -> None:
        locked = [attempt for attempt in self._hands if attempt.claim.spec.lock_key is not None]
        for attempt in [one for one in locked if self._must_be_given_up(one)]:
            self._observers.tell(LockedRunStopped(attempt.claim.spec.id))
            attempt.shorten_grace(let_go_grace_s(self._dead_after_s))
            self._hands.stop(attempt, Stop.INTERRUPTED)

    def _must_be_given_up(self, attempt: Attempt) -> bool:
        """What was claimed lately is known to be ours. What cannot be stopped would only run beside its successor."""
        return attempt.reason is None and attempt.can_be_stopped and self.is_old(attempt)
