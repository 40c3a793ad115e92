"""Whatever a store keeps is in a copy, or is said here to be of the store itself: for something new that is decided
here."""

import sqlite3
from pathlib import Path

from rota.store import open_store
from rota.store.redis.keys import QueueKeys

COPIED = {
    "audit", "configurations", "dependency_index", "evaluations", "event_records", "fences", "forgotten", "job_types",
    "jobs", "logs", "node_types", "outbox", "paused_queues", "schedules", "series", "settings", "stats", "ticks",
    "topic_records", "topics", "validations",
}  # fmt: skip
OF_THE_STORE = {"clocks", "nodes", "pulses", "rates"}
"""What was started before a copy does not count against a rate in it."""

COPIED_KEYS = {
    "cancelled", "configuration_states", "configurations", "delayed", "dependency_index", "ended", "failed", "fence",
    "jobs", "marks", "outbox", "paused", "progress", "ready", "schedule_due", "schedule_states", "schedules", "series",
    "succeeded", "totals", "unique",
}  # fmt: skip
"""Keys of a queue in Redis."""
KEYS_OF_THE_STORE = {
    "awaited_since", "floors", "giving_way", "pulses", "rates", "rates_due", "rates_spent", "synced", "wake",
}  # fmt: skip
"""What was to give way at the moment of a copy gives way to the next tick."""
KEYS_OF_CLAIMS = {"cancelling", "held", "locks", "running"}
"""Nobody has a job in a copy, so nothing is blocked by one."""


def test_every_table_of_sqlite_is_copied_or_is_of_the_store(tmp_path: Path) -> None:
    open_store(f"sqlite:///{tmp_path}/rota.db").close()

    with sqlite3.connect(f"{tmp_path}/rota.db") as db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    db.close()

    assert tables == COPIED | OF_THE_STORE


def test_every_key_of_a_queue_in_redis_is_copied_or_is_of_the_store() -> None:
    assert set(QueueKeys.__annotations__) == COPIED_KEYS | KEYS_OF_THE_STORE | KEYS_OF_CLAIMS
