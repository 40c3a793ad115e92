"""Where Synchrony's keys are spoken: on a single Redis, unless a setting turns them off."""

import logging

from rota.engine.node.dialect import Dialect
from rota.settings import Settings
from rota.store import Store

_REDIS = ("redis:", "rediss:", "valkey:", "valkeys:", "sentinel:")
_logger = logging.getLogger("rota.synchrony")


def open_dialect(settings: Settings, store: Store) -> Dialect | None:
    """The dialect, where it is wanted and the store can carry it."""
    if not settings.synchrony_keys:
        return None
    if "+cluster:" in store.url:
        _logger.info("Synchrony's Redis keys are not available on Redis Cluster: they have no hash tags")
        return None
    if not store.url.startswith(_REDIS):
        return None
    # Needs the Redis driver, which a SQLite installation does not have.
    from rota.dialects.synchrony.dialect import open_on_redis

    return open_on_redis(store, shows_jobs=settings.synchrony_job_keys)
