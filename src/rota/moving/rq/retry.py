"""How often a job is tried again: `Retry(max=3, interval=10)`."""

from collections.abc import Iterable

from rota.errors import InvalidInput
from rota.model.runs.retry import MAX_DELAY_MS, RetryPolicy


class Retry:
    """So many tries after the first, with a wait before each, or with waits of their own; the last one stays."""

    def __init__(self, max: int, interval: int | Iterable[int] = 0, enqueue_at_front: bool = False) -> None:
        if enqueue_at_front:
            raise InvalidInput("enqueue_at_front", "of Retry is not carried by Rota; a retry keeps its job's priority")
        self.max = max
        self.intervals = [interval] if isinstance(interval, int) else list(interval)
        self.policy = _policy(max, self.intervals)
        self.waits_ms = [one * 1000 for one in self.intervals] if len(set(self.intervals)) > 1 else []
        """If they differ."""


def _policy(most: int, intervals: list[int]) -> RetryPolicy:
    if not isinstance(most, int) or most < 1 or not intervals:
        raise InvalidInput("max", f"must be 1 or more, and interval seconds, got {most!r} and {intervals!r}")
    for one in intervals:
        if not isinstance(one, int | float) or not 0 <= one <= MAX_DELAY_MS / 1000:
            raise InvalidInput("interval", f"must be seconds from 0 to {MAX_DELAY_MS // 1000}, got {one!r}")
    policy = RetryPolicy(most + 1, intervals[0] * 1000, 1.0, max(intervals[0] * 1000, 1), 0.0)
    policy.check("retry")
    return policy
