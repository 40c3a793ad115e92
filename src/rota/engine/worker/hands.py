"""The jobs that a worker has in hand, from their claim to their end, and the slots that take them.

What was claimed ahead waits here, in the worker's *buffer*. To everybody else it is still queued, and this is why that
holds, at no cost for jobs that are short:

    claim    says how many of its jobs begin at once: as many as slots are left when each job in hand, and each whose
             end is not told yet, has one. The store has the others as queued, though they are this node's.
    begin    of a job that left the buffer and runs for longer than a moment the store is told (`untold`), in the
             exchange that also tells the ends of those before it in the slots. Short ones end untold, so that they
             cost nothing.
    so       the store never has more running jobs of a worker than the worker has slots.
    order    the buffer is kept by rank, and what goes back has the rank that it came with: its place is as it was. What
             is behind it in the buffer goes back with it.
    death    of a node counts only for what the store has as running (`settle_death`). A job that kills its node in the
             moment before it is told is not counted, but noted with all that were there: such jobs begin as soon as
             they are claimed the next time (`was_at_a_death`), whatever else is in hand, and are counted then.

Used on the event loop only, except for `tokens` and for going through all attempts.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from rota.engine.worker.attempt import Attempt, Stop
from rota.model.runs.outcome import INTERRUPTED, Outcome, cancelled
from rota.store.contract.queues import Cancellation


class Hands:
    """Attempts by job, those that wait for a slot, and slots that wait for an attempt."""

    def __init__(self, *, on_end: Callable[[Attempt, Outcome], None], on_change: Callable[[], None]) -> None:
        """`on_end` hears of each attempt that came to an outcome; `on_change` is called when one is over, and when a
        slot finds nothing to do."""
        self._on_end = on_end
        self._on_change = on_change
        self._attempts: dict[str, Attempt] = {}
        self._idle_slots: deque[asyncio.Future[Attempt | None]] = deque()
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

    def untold(self, *, started_before: int) -> list[Attempt]:
        """What was claimed ahead and runs, for a while already, without the store knowing."""
        return [
            one
            for one in self._attempts.values()
            if not one.is_known_to_run and one.task is not None and (one.started_at or 0) <= started_before
        ]

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

    def take_all(self, attempts: list[Attempt]) -> None:
        """Take the jobs of one claim, which are in order. Those that came back, or have a higher priority, may go
        before what waits already."""
        is_in_order = not (self.waiting and attempts and _rank(attempts[0]) < _rank(self.waiting[-1]))
        for attempt in attempts:
            self.take(attempt)
        if not is_in_order:
            self.waiting = deque(sorted(self.waiting, key=_rank))

    async def next_attempt(self) -> Attempt | None:
        """For a slot, when nothing waits: what is handed over next; None if the slot is to see whether it is one too
        many, or was cancelled. What was handed over before that is not lost."""
        slot: asyncio.Future[Attempt | None] = asyncio.get_running_loop().create_future()
        self._idle_slots.append(slot)
        self._on_change()
        try:
            return await slot
        except asyncio.CancelledError:
            return None if slot.cancelled() or not slot.done() else slot.result()

    def wake_slots(self, count: int) -> None:
        """Let so many of the slots that wait, at most, see whether they are too many."""
        while count and self._idle_slots:
            slot = self._idle_slots.pop()
            if not slot.done():
                slot.set_result(None)
                count -= 1

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

    def cancel_attempts(self, cancellations: Iterable[Cancellation]) -> None:
        """Somebody asked to end these attempts, as far as they are here. What is heard late, of an attempt that has
        ended, leaves the next one at the same job alone."""
        for one in cancellations:
            attempt = self._attempts.get(one.job_id)
            if attempt is not None and one.token in (None, attempt.claim.token):
                self.stop(attempt, Stop.CANCELLED)

    def give_back(self, *, claimed_before: float | None = None) -> int:
        """What waits for a slot goes back to its place in the queue; or only what was claimed this long ago, and what
        is behind it, which must not run before it. Returns how many."""
        stale = deque(self.waiting)
        while stale and claimed_before is not None and stale[0].claimed_at >= claimed_before:
            stale.popleft()
        for attempt in stale:
            self.waiting.remove(attempt)
            self.end(attempt, INTERRUPTED)
        return len(stale)

    def close(self) -> None:
        """Begin nothing more: what waits, or is taken later, goes back."""
        self._is_closed = True
        self.give_back()


def _rank(attempt: Attempt) -> int:
    return attempt.claim.rank
