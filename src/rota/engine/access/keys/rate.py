"""Limits on how often somebody may ask: a bucket of tokens for each, which fills at a steady rate."""

from rota.clock import Clock

WRONG_KEYS_PER_S = 5.0
WRONG_KEYS_AT_ONCE = 100.0
"""How often one address may show a wrong key."""
_MOST_BUCKETS = 10_000
"""Addresses are without number; those that did not ask for longest are forgotten when there are more than this."""


class RateLimit:
    """So many requests per second and caller, in bursts of up to `burst`. Used on one event loop."""

    def __init__(self, clock: Clock, *, per_second: float, burst: float) -> None:
        self._clock = clock
        self._per_second = per_second
        self._burst = burst
        self._buckets: dict[str, tuple[float, float]] = {}
        """Tokens that were left, and when; in the order in which they were last taken."""

    def take(self, who: str) -> float:
        """Take a token; returns 0, or how many seconds to wait because there is none. A rate of 0 limits nothing."""
        if not self._per_second:
            return 0.0
        now = self._clock.monotonic()
        left = self._left(who, now)
        if left < 1:
            return (1 - left) / self._per_second
        self._buckets.pop(who, None)
        if len(self._buckets) >= _MOST_BUCKETS:
            del self._buckets[next(iter(self._buckets))]
        self._buckets[who] = (left - 1, now)
        return 0.0

    def give_back(self, who: str) -> None:
        """A token was taken for nothing."""
        left, since = self._buckets.get(who, (self._burst, 0.0))
        if who in self._buckets:
            self._buckets[who] = (min(self._burst, left + 1), since)

    def _left(self, who: str, now: float) -> float:
        left, since = self._buckets.get(who, (self._burst, now))
        return min(self._burst, left + (now - since) * self._per_second)
