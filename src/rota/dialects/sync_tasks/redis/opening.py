"""Where the keys are spoken: on a single Redis, unless the file turns them off."""

import logging
from collections.abc import Sequence
from typing import Protocol

from rota.dialects.sync_tasks.options import options_of
from rota.engine.node.dialect import Dialect
from rota.model.job import Job
from rota.settings import Settings
from rota.store import Store

_REDIS = ("redis:", "rediss:", "valkey:", "valkeys:", "sentinel:")
_logger = logging.getLogger("rota.sync_tasks")


class Shown(Protocol):
    """What others see of tasks, brought up to date before an answer speaks of them."""

    def show(self, jobs: Sequence[Job]) -> list[Job]:
        """The jobs as they are shown now."""
        ...

    def show_log(self, job: Job, task_id: str, until: int) -> object:
        """Its log is shown up to this position."""
        ...


class Unseen:
    """Where nobody else looks."""

    def show(self, jobs: Sequence[Job]) -> list[Job]:
        return list(jobs)

    def show_log(self, job: Job, task_id: str, until: int) -> None:
        """There is nothing to do."""


def open_dialect(settings: Settings, store: Store) -> Dialect | None:
    """The duties of the keys, where they are wanted and the store can carry them."""
    if not _has_keys(settings, store):
        return None
    # Needs the Redis driver, which a SQLite installation does not have.
    from rota.dialects.sync_tasks.redis.dialect import SyncTaskKeys
    from rota.store.redis.store import RedisStore

    return SyncTaskKeys(store.access()) if isinstance(store, RedisStore) else None


def open_shown(settings: Settings, store: Store) -> Shown:
    """The keys as the API and the verbs need them."""
    if not _has_keys(settings, store):
        return Unseen()
    from rota.dialects.sync_tasks.redis.mirror import Mirror
    from rota.store.redis.store import RedisStore

    return Mirror(store, store.access()) if isinstance(store, RedisStore) else Unseen()


def _has_keys(settings: Settings, store: Store) -> bool:
    if not options_of(settings).keys:
        return False
    if "+cluster:" in store.url:
        if options_of(settings) is settings.sections.get("sync_tasks"):
            _logger.info("the Redis keys of sync tasks are not available on Redis Cluster: they have no hash tags")
        return False
    return store.url.startswith(_REDIS)
