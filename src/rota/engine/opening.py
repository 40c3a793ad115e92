"""From settings to an engine: which store is meant, and whether it may be made."""

from pathlib import Path

from rota.engine.engine import Engine
from rota.errors import StoreUnavailable
from rota.settings import Settings
from rota.store import open_store


def open_engine(settings: Settings, *, may_create: bool = True) -> Engine:
    """The installation that the settings name; whoever opened it closes its store. Without `may_create` a file that is
    not there yet is not made: a verb that only looks must not leave an empty store behind in the wrong folder."""
    if not may_create:
        _require_store_file(settings.store)
    store = open_store(store_url(settings))
    try:
        return Engine.open(store, event_types=settings.event_types)
    except BaseException:
        store.close()
        raise


def store_url(settings: Settings) -> str:
    """The store's URL with what the settings say about it."""
    if settings.store.startswith("sqlite:") and "synchronous=" not in settings.store:
        mark = "&" if "?" in settings.store else "?"
        return f"{settings.store}{mark}synchronous={settings.sqlite_synchronous}"
    return settings.store


def store_file(url: str) -> Path | None:
    """The file of a SQLite store; None for any other."""
    if not url.startswith("sqlite:"):
        return None
    from rota.store.sqlite.database import MEMORY, parse_url

    path, _ = parse_url(url)
    return None if path == MEMORY else Path(path)


def _require_store_file(url: str) -> None:
    path = store_file(url)
    if path is not None and not path.exists():
        raise StoreUnavailable(f"there is no store at {path} yet; `rota up` makes one, --store names another")
