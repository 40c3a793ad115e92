"""The jobs that a worker has in hand, from their claim to their end, and the slots that take them.

Used on the event loop only, except for `tokens`.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from rota.engine.worker.attempt import Attempt, Stop
from rota.model.outcome import INTERRUPTED, Outcome, cancelled


class Hands:
    """Attempts by job, those that wait for a slot, and slots that wait for an attempt."""

    def __init__(self, *, on_end: Callable[[Attempt, Outcome], None], on_change: Callable[[], None]) -> None:
        """`on_end` hears of each attempt that came to an outcome; `on_change` is called when one is over, and when a
        slot finds nothing to do."""
        self._on_end = on_end
        self._on_change = on_change
        self._attempts: dict[str, Attempt] = {}
        self._idle_slots: deque[asyncio.Future[Attempt]] = deque()
        self._is_closed = False
        self.waiting: deque[Attempt] = deque()
        """Claimed ahead; a slot that is done with its job takes the first of them."""

    def __len__(self) -> int:
        """Jobs in hand, running or waiting."""
        return len(self._attempts)

    def __iter__(self) -> Iterator[Attempt]:
        return iter(list(self._attempts.values()))

    @property
    def running(self) -> int:
        return len(self._attempts) - len(self.waiting)

    @property
    def has_idle_slot(self) -> bool:
        return bool(self._idle_slots)

    def find(self, job_id: str) -> Attempt | None:
        return self._attempts.get(job_id)

    def tokens(self) -> dict[str, str]:
        """The jobs in hand, id to token. Called from any thread."""
        return {job_id: attempt.claim.token for job_id, attempt in list(self._attempts.items())}

    # -- begin -----------------------------------------------------------------------------------------------------

    def take(self, attempt: Attempt) -> None:
        """Take a claimed job in hand. If an earlier attempt at it still runs here, that one is lost: it is stopped, and
        the new one begins when it has ended."""
        earlier = self._attempts.get(attempt.claim.spec.id)
        self._attempts[attempt.claim.spec.id] = attempt
        if earlier is None:
            self._hand_over(attempt)
        else:
            earlier.heir = attempt
            self.stop(earlier, Stop.LOST)

    def _hand_over(self, attempt: Attempt) -> None:
        """Give a job to a free slot, or let it wait for one. A worker that stops meanwhile gives it back."""
        if self._is_closed:
            self.end(attempt, INTERRUPTED)
            return
        while self._idle_slots:
            slot = self._idle_slots.popleft()
            if not slot.done():
                slot.set_result(attempt)
                return
        self.waiting.append(attempt)

    async def next_attempt(self) -> Attempt:
        """For a slot, when nothing waits: what is handed over next."""
        slot: asyncio.Future[Attempt] = asyncio.get_running_loop().create_future()
        self._idle_slots.append(slot)
        self._on_change()
        return await slot

    # -- end -------------------------------------------------------------------------------------------------------

    def end(self, attempt: Attempt, outcome: Outcome) -> None:
        """An attempt came to its end. It counts, unless the claim was lost."""
        if self._attempts.get(attempt.claim.spec.id) is attempt:
            del self._attempts[attempt.claim.spec.id]
        elif attempt.heir is None:
            return  # it was left behind, and its end comes too late
        self._on_change()
        if attempt.heir is not None:
            self._hand_over(attempt.heir)
        elif attempt.reason is not Stop.LOST:
            self._on_end(attempt, outcome)

    def stop(self, attempt: Attempt, reason: Stop) -> None:
        """Stop a run; a job that only waits for a slot ends at once."""
        if attempt in self.waiting:
            self.waiting.remove(attempt)
            attempt.reason = reason
            self.end(attempt, cancelled() if reason is Stop.CANCELLED else INTERRUPTED)
        else:
            attempt.stop(reason)

    def cancel(self, job_ids: Iterable[str]) -> None:
        """Somebody asked to cancel these, as far as they are here."""
        for job_id in job_ids:
            if attempt := self._attempts.get(job_id):
                self.stop(attempt, Stop.CANCELLED)

    def give_back(self, *, claimed_before: float | None = None) -> int:
        """What waits for a slot, or only what was claimed this long ago, goes back to the queue. Returns how many."""
        stale = [one for one in self.waiting if claimed_before is None or one.claimed_at < claimed_before]
        for attempt in stale:
            self.waiting.remove(attempt)
            self.end(attempt, INTERRUPTED)
        return len(stale)

    def close(self) -> None:
        """Begin nothing more: what waits, or is taken later, goes back."""
        self._is_closed = True
        self.give_back()
