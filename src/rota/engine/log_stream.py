"""Log lines on their way from running jobs to the store: gathered from any thread, written in batches."""

import threading

from rota.clock import Clock
from rota.model.job import Claim
from rota.model.log import LogEntry
from rota.store.store import LogBatch

MAX_PENDING = 20_000
"""Lines that wait while the store is slow or away. Further ones are dropped, counted and marked: memory stays
bounded."""
MOST_PER_BATCH = 500


class LogStream:
    """The log lines of one worker that are not in the store yet."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._pending: dict[str, tuple[Claim, list[LogEntry]]] = {}
        self._count = 0
        self._dropped: dict[str, int] = {}

    def add(self, claim: Claim, message: str, level: str) -> None:
        """A line of a job. Called from any thread."""
        entry = LogEntry(self._clock.now(), message, level, claim.attempt)
        with self._lock:
            if self._count >= MAX_PENDING:
                self._dropped[claim.spec.id] = self._dropped.get(claim.spec.id, 0) + 1
                return
            self._count += 1
            known = self._pending.get(claim.spec.id)
            if known is None:
                self._pending[claim.spec.id] = (claim, [entry])
            else:
                known[1].append(entry)

    def has_lines(self) -> bool:
        return bool(self._pending)

    def take(self) -> list[LogBatch]:
        """Everything that waits, for one call of `append_logs` each."""
        with self._lock:
            pending, self._pending, self._count = self._pending, {}, 0
            dropped, self._dropped = self._dropped, {}
        batches = []
        for job_id, (claim, entries) in pending.items():
            if lost := dropped.get(job_id):
                entries.append(
                    LogEntry(
                        entries[-1].time, f"[{lost} lines dropped: the store was too slow]", "warning", claim.attempt
                    )
                )
            for start in range(0, len(entries), MOST_PER_BATCH):
                part = entries[start : start + MOST_PER_BATCH]
                batches.append(LogBatch(claim.spec.queue, job_id, claim.token, part))
        return batches

    def put_back(self, batches: list[LogBatch], claims: dict[str, Claim]) -> None:
        """Lines that could not be written go back to the front."""
        with self._lock:
            for batch in reversed(batches):
                claim = claims.get(batch.job_id)
                if claim is None or self._count + len(batch.entries) > MAX_PENDING:
                    continue
                later = self._pending.get(batch.job_id)
                self._pending[batch.job_id] = (claim, [*batch.entries, *(later[1] if later else [])])
                self._count += len(batch.entries)
