"""Which dialects there are. A dialect that is not listed here does not exist for a node; its folder is all of it."""

from collections.abc import Callable

from rota.dialects import synchrony
from rota.engine.dialect import Dialect
from rota.settings import Settings
from rota.store import Store

_OPENERS: tuple[Callable[[Settings, Store], Dialect | None], ...] = (synchrony.open_dialect,)


def open_dialects(settings: Settings, store: Store) -> list[Dialect]:
    """The dialects that a node with these settings speaks on this store."""
    opened = [opener(settings, store) for opener in _OPENERS]
    return [dialect for dialect in opened if dialect is not None]
