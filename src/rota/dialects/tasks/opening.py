"""Where the document's keys are: on a single Redis, unless a setting turns them off."""

from rota.dialects.tasks.names import Names
from rota.dialects.tasks.shown import Shown
from rota.engine.node.dialect import Dialect
from rota.store import Store


def open_shown(store: Store, names: Names) -> Shown | None:
    """The keys as schedulers and workers need them."""
    return None


def open_keys(store: Store) -> Dialect | None:
    """The duties of the keys for a node."""
    return None
