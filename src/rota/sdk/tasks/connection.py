"""An app's way to its store: opened when it is first used, and anew in a forked process."""

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.engine.engine import Engine
    from rota.settings import Settings


class Connection:
    """Holds the engine of an app in this process. May be used from any thread."""

    def __init__(self, url: str | None) -> None:
        """Without a URL, the environment or the configuration file names the store."""
        self.url = url
        self._settings: Settings | None = None
        self._lock = threading.Lock()
        self._pid = 0
        self._engines: list[Engine] = []
        """The last is in use. Those before it are of the process that this one was forked from: even to close one would
        touch what is the other's."""

    @property
    def is_open(self) -> bool:
        return self._pid == os.getpid()

    @property
    def engine(self) -> "Engine":
        if self._pid != os.getpid():
            with self._lock:
                if self._pid != os.getpid():
                    self._open()
        return self._engines[-1]

    def settings(self, flags: Mapping[str, object] | None = None) -> "Settings":
        """Those in force, with the app's own store. `flags` go before all others."""
        if self._settings is None or flags:
            from rota.dialects import registry
            from rota.settings import load_settings

            found = {"store": self.url, **(flags or {})}
            self._settings = load_settings(found, os.environ, None, Path.cwd(), registry.sections())
        return self._settings

    def use(self, settings: "Settings") -> None:
        """Use these settings from now on, as the command that starts a worker has them."""
        if settings.store != (self.url if self._settings is None else self._settings.store):
            self.close()
        self.url = settings.store
        self._settings = settings

    @contextmanager
    def lent(self, engine: "Engine") -> "Iterator[None]":
        """Use an engine that somebody else opened and will close, until the end of the block."""
        with self._lock:  # one that a thread is just opening is kept, and closed with the app
            before = self._engines, self._pid
            self._engines, self._pid = [engine], os.getpid()
        try:
            yield
        finally:
            with self._lock:
                self._engines, self._pid = before

    def close(self) -> None:
        """Give up what is open; the next use opens it again."""
        with self._lock:
            is_own, self._pid = self._pid == os.getpid(), 0
            if self._engines and is_own:
                self._engines.pop().store.close()

    def _open(self) -> None:
        # The engine is imported here, so that a program which only defines tasks starts quickly.
        from rota.engine.engine import open_engine

        self._engines.append(open_engine(self.settings()))
        self._pid = os.getpid()
