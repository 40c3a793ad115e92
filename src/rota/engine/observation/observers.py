"""Who hears of what happens in a process. The log always does; others are added for the kinds that they want."""

import logging
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from rota.engine.observation import log_lines
from rota.engine.observation.happenings import Happening

Kind = TypeVar("Kind", bound=Happening)
_Listener = Callable[[Any], None]
_logger = logging.getLogger("rota.observation")


class Observers:
    """One per process. Whoever tells, tells from its own thread; a listener is called there, must be quick, and cannot
    hurt the teller."""

    def __init__(self) -> None:
        self._listeners: dict[type[Happening], tuple[_Listener, ...]] = {}
        self._lock = threading.Lock()

    def add(self, kind: type[Kind], listener: Callable[[Kind], None]) -> None:
        with self._lock:
            self._listeners[kind] = (*self._listeners.get(kind, ()), listener)

    def remove(self, kind: type[Kind], listener: Callable[[Kind], None]) -> None:
        """Forget a listener; one that is being called just now is called to the end."""
        with self._lock:
            self._listeners[kind] = tuple(one for one in self._listeners.get(kind, ()) if one != listener)

    def wants(self, kind: type[Happening]) -> bool:
        """Whether anybody listens. On the hot path nothing is put together for nobody."""
        return bool(self._listeners.get(kind)) or log_lines.is_written(kind)

    def tell(self, happening: Happening) -> None:
        log_lines.write(happening)
        for listener in self._listeners.get(type(happening), ()):
            try:
                listener(happening)
            except Exception:
                _logger.exception("observer failed", extra={"happening": type(happening).__name__})
