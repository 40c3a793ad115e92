"""Counting what happens in a queue, as part of the transaction in which it happens."""

import sqlite3
from collections.abc import Iterable

from rota.store.contract.queues import STATS_KEPT_MS, STATS_STEP_MS, STATS_WORDS, Stats
from rota.store.sqlite.database.queries import SQL


def count_up(db: sqlite3.Connection, queue: str, word: str, jobs: int, now: int) -> None:
    """So many more jobs were enqueued or ended at `now`."""
    if not jobs:
        return
    minute = now - now % STATS_STEP_MS
    for place in (0, minute):
        row = {"queue": queue, "minute": place, "word": word, "jobs": jobs}
        (total,) = db.execute(SQL["count_up"], row).fetchone()
    if total == jobs:
        # The first of its minute: a good moment to forget old ones, without a duty of its own.
        db.execute(SQL["trim_stats"], {"queue": queue, "before": minute - STATS_KEPT_MS})


def read_stats(db: sqlite3.Connection, queue: str, since: int, until: int) -> list[Stats]:
    """What happened in the minutes of a range."""
    return gathered(db.execute(SQL["read_stats"], {"queue": queue, "since": since, "until": until}))


def gathered(rows: Iterable[tuple[int, str, int]]) -> list[Stats]:
    """One per minute from rows of minute, word and count."""
    minutes: dict[int, dict[str, int]] = {}
    for minute, word, jobs in rows:
        if word in STATS_WORDS:
            minutes.setdefault(minute, {})[word] = jobs
    return [Stats(minute=minute, **minutes[minute]) for minute in sorted(minutes)]
