"""A delay that spreads schedules with the same time. It is a hash: every node and every restart finds the same."""

from hashlib import blake2b


def jitter_of(schedule: str, nominal_ms: int, limit_ms: int) -> int:
    """Milliseconds from 0 to below the limit, fixed for this schedule and this nominal instant."""
    if limit_ms <= 0:
        return 0
    digest = blake2b(f"{schedule}\0{nominal_ms}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % limit_ms
