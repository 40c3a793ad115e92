"""What the heart asks a worker and tells it, from its own thread; what follows from it happens on the event loop."""

import asyncio

from rota.clock import Clock
from rota.engine.observation.happenings import ClaimLost, LockedRunStopped
from rota.engine.observation.observers import Observers
from rota.engine.worker.attempt import Attempt, Stop
from rota.engine.worker.hands import Hands
from rota.model.liveness import let_go_grace_s, must_let_go
from rota.store.contract.claims import Renewal


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
        self._observers = observers
        self._loop = asyncio.get_running_loop()
        self._renewed_at = clock.monotonic()
        self._renewed: dict[str, str] = {}
        """What the store was told then to be held."""

    def held(self) -> dict[str, str]:
        """The jobs in hand, id to token."""
        return self._hands.tokens()

    def renewed(self, held: dict[str, str], renewal: Renewal, at: float) -> None:
        """The store was told what is held, not before `at`; hear which jobs are to be cancelled and which are no longer
        ours."""
        self._loop.call_soon_threadsafe(self._obey, held, renewal, at)

    def let_go(self) -> None:
        """The store has not heard of this node for long: end the runs that promise to be the only ones. May be said
        again and again."""
        self._loop.call_soon_threadsafe(self._stop_locked_runs)

    def is_old(self, attempt: Attempt) -> bool:
        """Whether its claim, which was a sign of life too, and the last renewal of it are so long ago that others may
        have the job. A renewal that came before the claim was in hand says nothing of it."""
        now = self._clock.monotonic()
        if not must_let_go(now - attempt.claimed_at, self._dead_after_s):
            return False
        claim = attempt.claim
        is_renewed = self._renewed.get(claim.spec.id) == claim.token
        return not is_renewed or must_let_go(now - self._renewed_at, self._dead_after_s)

    def _obey(self, held: dict[str, str], renewal: Renewal, at: float) -> None:
        self._hands.cancel(renewal.cancelled)
        for job_id in renewal.lost:
            attempt = self._hands.find(job_id)
            # What was lost is the attempt that the store was told of. This node may have been given the job again; and
            # it may have been told before.
            if attempt is not None and attempt.claim.token == held[job_id] and attempt.reason is not Stop.LOST:
                self._observers.tell(ClaimLost(job_id, self._node))
                self._hands.stop(attempt, Stop.LOST)
        self._renewed_at, self._renewed = at, held

    def _stop_locked_runs(self) -> None:
        locked = [attempt for attempt in self._hands if attempt.claim.spec.lock_key is not None]
        for attempt in [one for one in locked if self._must_be_given_up(one)]:
            self._observers.tell(LockedRunStopped(attempt.claim.spec.id))
            attempt.shorten_grace(let_go_grace_s(self._dead_after_s))
            self._hands.stop(attempt, Stop.INTERRUPTED)

    def _must_be_given_up(self, attempt: Attempt) -> bool:
        """What was claimed lately is known to be ours. What cannot be stopped would only run beside its successor."""
        return attempt.reason is None and attempt.can_be_stopped and self.is_old(attempt)
