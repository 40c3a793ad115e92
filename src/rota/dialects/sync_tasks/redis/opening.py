"""Where the keys are spoken: on a single Redis, unless the file turns them off."""

import logging
from collections.abc import Callable

from rota.engine.dialect import Dialect
from rota.model.job import Job
from rota.settings import Settings
from rota.store import Store

_REDIS = ("redis:", "rediss:", "valkey:", "valkeys:", "sentinel:")
_logger = logging.getLogger("rota.sync_tasks")


def open_dialect(settings: Settings, store: Store) -> Dialect | None:
    return None


def open_show(settings: Settings, store: Store) -> Callable[[list[Job]], None]:
    return lambda jobs: None
