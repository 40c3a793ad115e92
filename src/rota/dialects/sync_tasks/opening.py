"""The duties of sync tasks for a node: notices where the file has sources, the original's keys where Redis is."""

from collections.abc import Sequence

from rota.dialects.sync_tasks.notices import Notices
from rota.dialects.sync_tasks.options import SECTION
from rota.dialects.sync_tasks.redis import opening
from rota.engine.node.dialect import Dialect, DialectContext
from rota.engine.node.duty import Duty
from rota.engine.node.options import SCHEDULER
from rota.settings import Settings
from rota.store import Store


class SyncTasks:
    """See the module."""

    def __init__(self, keys: Dialect | None) -> None:
        self._keys = keys

    def join(self, context: DialectContext) -> Sequence[Duty]:
        duties: list[Duty] = [Notices(context.engine)] if SCHEDULER in context.roles else []
        return [*duties, *(self._keys.join(context) if self._keys else ())]

    def leave(self) -> None:
        if self._keys:
            self._keys.leave()


def open_dialect(settings: Settings, store: Store) -> Dialect | None:
    keys = opening.open_dialect(settings, store)
    return SyncTasks(keys) if keys is not None or SECTION in settings.sections else None
