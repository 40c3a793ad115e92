"""Where the document's keys are: on a single Redis, unless a setting turns them off."""

import logging

from rota.dialects.tasks.names import Names
from rota.dialects.tasks.options import options_of
from rota.dialects.tasks.shown import Shown
from rota.engine.node.dialect import Dialect
from rota.settings import Settings
from rota.store import Store

_REDIS = ("redis:", "rediss:", "valkey:", "valkeys:", "sentinel:")
_logger = logging.getLogger("rota.tasks")


def open_dialect(settings: Settings, store: Store) -> Dialect | None:
    """The duties of the keys, for a node of any kind, where they are wanted."""
    return open_keys(store) if options_of(settings).keys else None


def open_keys(store: Store) -> Dialect | None:
    """The duties of the keys, where the store can carry them."""
    if not store.url.startswith(_REDIS):
        return None
    # Needs the Redis driver, which a SQLite installation does not have.
    from rota.dialects.tasks.redis.keeper import TaskKeys
    from rota.store.redis.store import RedisStore

    return TaskKeys(store.access()) if isinstance(store, RedisStore) else None


def open_shown(store: Store, names: Names) -> Shown | None:
    """The keys as schedulers and workers need them."""
    if "+cluster:" in store.url:
        _logger.info("the Redis keys of tasks are not available on Redis Cluster: they have no hash tags")
    if not store.url.startswith(_REDIS):
        return None
    from rota.dialects.tasks.redis.mirror import Mirror
    from rota.store.redis.store import RedisStore

    return Mirror(store.access(), names) if isinstance(store, RedisStore) else None
