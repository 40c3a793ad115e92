"""Settlements on their way to the store, behind the last log lines of their jobs."""

from rota.engine.worker.logs.log_stream import LogStream
from rota.model.job import Claim
from rota.model.runs.outcome import refused
from rota.model.runs.retry import RetryPolicy
from rota.model.runs.settlement import Settlement, settle
from rota.store.contract.logs import LogBatch
from rota.store.records.codec import encode


class PendingSettlements:
    """What has ended and is not told to the store yet."""

    def __init__(self, logs: LogStream) -> None:
        self._logs = logs
        self._pending: list[Settlement] = []
        self._held_back = 0
        """How many of them wait until the log lines of their jobs are written."""

    def __len__(self) -> int:
        return len(self._pending)

    @property
    def can_be_told(self) -> bool:
        """Whether one of them waits for nothing."""
        return len(self._pending) > self._held_back

    def add(self, settlement: Settlement) -> None:
        self._pending.append(settlement)

    def take(self, *, at_once: bool) -> tuple[list[Settlement], list[LogBatch]]:
        """The ends that can be told now, and the last log lines of their jobs. One who wrote a lot waits until the
        lines are in the store, and keeps nobody else waiting; with `at_once` nobody waits who need not."""
        pending, self._pending = self._pending, []
        if not self._logs.has_lines():
            self._held_back = 0
            return pending, []
        batches, late = self._logs.last_lines((one.claim for one in pending), at_once=at_once)
        self._pending = [one for one in pending if one.claim.spec.id in late]
        self._held_back = len(self._pending)
        return [one for one in pending if one.claim.spec.id not in late], batches

    def put_back(self, settlements: list[Settlement], batches: list[LogBatch]) -> None:
        """The store did not answer: keep what was to be told."""
        self._pending = settlements + self._pending
        self._logs.put_back(batches)

    def let_out(self) -> bool:
        """Log lines were written: try those that waited for it again. Tells whether there are any."""
        is_any, self._held_back = self._held_back > 0, 0
        return is_any

    def tokens(self) -> dict[str, str]:
        """Their jobs, id to token: in hand until the store knows better."""
        return {one.claim.spec.id: one.claim.token for one in self._pending}


def tellable(settlement: Settlement, now: int) -> Settlement:
    """The settlement, or another one in its place if no store can carry it: all that go out with it would wait for
    ever."""
    try:
        encode(settlement.ending)
        encode(settlement.past)
    except Exception as error:
        return not_settled(settlement.claim, error, started_at=settlement.ran and settlement.ran[0], now=now)
    return settlement


def not_settled(claim: Claim, error: Exception, *, started_at: int | None, now: int) -> Settlement:
    """The end of a job of whose attempt nothing can be told but that."""
    outcome = refused("settlement", f"what became of its attempt could not be settled: {error!a:.500}")
    return settle(claim, outcome, policy=RetryPolicy(), started_at=started_at, now=now, chance=0.0)
