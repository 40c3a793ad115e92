"""Log lines on their way from running jobs to the store: gathered from any thread, written in batches."""

import threading

from rota.clock import Clock
from rota.model.job import Claim
from rota.model.log import LogEntry
from rota.store.store import LogBatch

MAX_PENDING_LINES = 20_000
MAX_PENDING_CHARS = 32 * 1024 * 1024
"""What waits while the store is slow or away. Further lines are dropped, counted and marked: memory stays bounded."""
MOST_PER_BATCH = 500


class _Pending:
    """Lines of one attempt, and how many had to be dropped behind them."""

    __slots__ = ("claim", "dropped", "entries")

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.entries: list[LogEntry] = []
        self.dropped = 0


class LogStream:
    """The log lines of one worker that are not in the store yet."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._pending: dict[tuple[str, str], _Pending] = {}
        self._lines = 0
        self._chars = 0

    def add(self, claim: Claim, message: str, level: str) -> None:
        """A line of a job. Called from any thread."""
        entry = LogEntry(self._clock.now(), message, level, claim.attempt)
        with self._lock:
            pending = self._of(claim)
            if self._has_room([entry]):
                self._count([entry])
                pending.entries.append(entry)
            else:
                pending.dropped += 1

    def has_lines(self) -> bool:
        return bool(self._pending)

    def take(self) -> list[LogBatch]:
        """Everything that waits, for one call of `append_logs` each."""
        with self._lock:
            taken, self._pending = self._pending, {}
            self._lines = self._chars = 0
        return [batch for pending in taken.values() for batch in self._batches_of(pending)]

    def put_back(self, batches: list[LogBatch], claims: dict[str, Claim]) -> None:
        """Lines that could not be written go back to the front. Without a claim nobody may write them any more."""
        with self._lock:
            for batch in reversed(batches):
                claim = claims.get(batch.job_id)
                if claim is None or claim.token != batch.token:
                    continue
                pending = self._of(claim)
                if self._has_room(batch.entries):
                    self._count(batch.entries)
                    pending.entries[:0] = batch.entries
                else:
                    pending.dropped += len(batch.entries)

    def _of(self, claim: Claim) -> _Pending:
        key = claim.spec.id, claim.token
        pending = self._pending.get(key)
        if pending is None:
            pending = self._pending[key] = _Pending(claim)
        return pending

    def _has_room(self, entries: list[LogEntry]) -> bool:
        return self._lines + len(entries) <= MAX_PENDING_LINES and self._chars + _chars(entries) <= MAX_PENDING_CHARS

    def _count(self, entries: list[LogEntry]) -> None:
        self._lines += len(entries)
        self._chars += _chars(entries)

    def _batches_of(self, pending: _Pending) -> list[LogBatch]:
        claim, entries = pending.claim, pending.entries
        if pending.dropped:
            text = f"[{pending.dropped} lines dropped: the store was too slow]"
            entries.append(LogEntry(self._clock.now(), text, "warning", claim.attempt))
        parts = (entries[start : start + MOST_PER_BATCH] for start in range(0, len(entries), MOST_PER_BATCH))
        return [LogBatch(claim.spec.queue, claim.spec.id, claim.token, part) for part in parts]


def _chars(entries: list[LogEntry]) -> int:
    return sum(len(entry.message) for entry in entries)
