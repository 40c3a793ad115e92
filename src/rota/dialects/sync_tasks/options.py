"""The settings of sync tasks themselves, from `sync_tasks:` in the configuration file."""

from msgspec import Struct

from rota.dialects.sync_tasks.names import NODE_TYPE
from rota.settings import Settings

SECTION = "sync_tasks"
THREADS = 16


class SyncOptions(Struct, frozen=True, kw_only=True):
    """How tasks are run and shown."""

    threads: int = THREADS
    """Tasks at a time in one process; 0 for none."""
    keys: bool = True
    """Show tasks in the Redis keys of the original, and take what others put there."""
    last_runs: int = 100
    """Ended tasks kept per collection."""
    log_max_age_days: float | None = None
    """How long logs are kept after the end of their tasks; by default as long as these."""
    notify: str | None = None
    """A URL that is told when a collection's final status is another one than before."""


def options_of(settings: Settings) -> SyncOptions:
    found = settings.sections.get(SECTION)
    return found if isinstance(found, SyncOptions) else SyncOptions()


def side_queues(settings: Settings) -> dict[str, int]:
    """Every worker runs sync tasks too, as many as its file says."""
    return {NODE_TYPE: options_of(settings).threads}
