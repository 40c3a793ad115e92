"""When a failed attempt is tried again. Kept apart from any schedule's period."""

from msgspec import Struct

from rota.errors import InvalidInput
from rota.model.triggers.durations import check_duration

MAX_ATTEMPTS = 1_000
MAX_DELAY_MS = 30 * 24 * 3600 * 1000


class RetryPolicy(Struct, frozen=True, omit_defaults=True):
    """Exponential back-off with jitter. The default is one attempt, that is no retry, as Synchrony has it."""

    attempts: int = 1
    """Attempts in all, the first one included."""
    delay_ms: int = 1_000
    """Wait before the second attempt."""
    factor: float = 2.0
    """Each further wait is this many times longer."""
    max_delay_ms: int = 3_600_000
    jitter: float = 0.1
    """Up to this share is added at random, so that jobs that failed together do not return together."""

    def check(self, field: str) -> None:
        """Refuse a policy that cannot be meant."""
        if not 1 <= self.attempts <= MAX_ATTEMPTS:
            raise InvalidInput(f"{field}.attempts", f"must be from 1 to {MAX_ATTEMPTS}, got {self.attempts}")
        check_duration(f"{field}.delay_ms", self.delay_ms, 0, MAX_DELAY_MS)
        if not 1 <= self.factor <= 100:
            raise InvalidInput(f"{field}.factor", f"must be from 1 to 100, got {self.factor}")
        check_duration(f"{field}.max_delay_ms", self.max_delay_ms, 0, MAX_DELAY_MS)
        if not 0 <= self.jitter <= 1:
            raise InvalidInput(f"{field}.jitter", f"must be from 0 to 1, got {self.jitter}")

    def delay_after(self, attempts: int, chance: float) -> int:
        """Milliseconds to wait after this many failed attempts. `chance` is a random number in [0, 1)."""
        growth = self.factor ** min(attempts - 1, 64)
        delay = min(self.delay_ms * growth, float(self.max_delay_ms))
        return round(delay * (1 + self.jitter * chance))
