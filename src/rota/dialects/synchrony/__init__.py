"""Synchrony's own Redis keys, beside Rota's.

keys.py        every foreign key, spelled once
shapes.py      Synchrony's JSON, to and from the model
exchange.py    the duty that keeps definitions there and here the same   (agreement.py, sides.py: its parts)
inlet.py       the duty that adopts jobs which others push   (adoption.py: its part)
job_keys.py    the duty that shows running and finished jobs, when a setting asks for it
"""

import logging

from rota.engine.dialect import Dialect
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
