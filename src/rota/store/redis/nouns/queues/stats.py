"""Counting what happens in a queue: the keys and arguments that scripts need for it, and reading the counts."""

from collections.abc import Mapping

from rota.store.contract.queues import STATS_KEPT_MS, STATS_STEP_MS, STATS_WORDS, Stats
from rota.store.redis.keys import QueueKeys
from rota.store.redis.link.commands import Value

HOUR_MS = 3_600_000
EXPIRY_S = (STATS_KEPT_MS + HOUR_MS) // 1000


def stats_keys(keys: QueueKeys, now: int) -> list[str]:
    """Where a script counts what happens at `now`."""
    return [keys.stats(now // HOUR_MS), keys.totals]


def stats_args(now: int) -> list[Value]:
    """The minute, and after how many seconds its hour is forgotten."""
    return [now - now % STATS_STEP_MS, EXPIRY_S]


def hours_between(since: int, until: int, now: int) -> range:
    """The hours that a range touches, among those that are kept."""
    first = max(since, now - STATS_KEPT_MS - HOUR_MS) // HOUR_MS
    last = min(until - 1, now + HOUR_MS) // HOUR_MS
    return range(first, last + 1)


def stats_of(raw: Mapping[bytes, bytes], since: int, until: int) -> list[Stats]:
    """The minutes of one hour that lie in a range, in order."""
    minutes: dict[int, dict[str, int]] = {}
    for field, jobs in raw.items():
        minute, _, word = field.decode().partition(" ")
        if word in STATS_WORDS and since <= int(minute) < until:
            minutes.setdefault(int(minute), {})[word] = int(jobs)
    return [Stats(minute=minute, **minutes[minute]) for minute in sorted(minutes)]


def totals_of(raw: Mapping[bytes, bytes]) -> Stats:
    return Stats(**{word.decode(): int(jobs) for word, jobs in raw.items() if word.decode() in STATS_WORDS})
