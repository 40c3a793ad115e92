"""How often a job is tried again: `Retry(max=3, interval=10)`."""

from collections.abc import Iterable
from itertools import pairwise

from rota.errors import InvalidInput
from rota.model.runs.retry import RetryPolicy


class Retry:
    """So many tries after the first, with a wait before each, or with waits that each are so many times longer."""

    def __init__(self, max: int, interval: int | Iterable[int] = 0, enqueue_at_front: bool = False) -> None:
        if enqueue_at_front:
            raise InvalidInput("enqueue_at_front", "of Retry is not carried by Rota; a retry keeps its job's priority")
        self.max = max
        self.intervals = [interval] if isinstance(interval, int) else list(interval)
        self.policy = _policy(max, self.intervals)


def _policy(most: int, intervals: list[int]) -> RetryPolicy:
    if not isinstance(most, int) or most < 1 or not intervals:
        raise InvalidInput("max", f"must be 1 or more, and interval seconds, got {most!r} and {intervals!r}")
    first, last = intervals[0] * 1000, intervals[-1] * 1000
    factor = _factor(intervals)
    policy = RetryPolicy(most + 1, first, factor, max(last, 1), 0.0)
    policy.check("retry")
    return policy


def _factor(intervals: list[int]) -> float:
    """By how much each wait is longer than the one before."""
    if len(set(intervals)) == 1:
        return 1.0
    factors = {after / before if before else 0.0 for before, after in pairwise(intervals)}
    if len(factors) != 1 or min(factors) < 1:
        raise InvalidInput(
            "interval", f"{intervals} is not carried by Rota; give one wait, or waits that double, such as [10, 20, 40]"
        )
    return factors.pop()
