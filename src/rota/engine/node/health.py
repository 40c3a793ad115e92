"""Whether a node is well. One object per node; the surfaces read it."""

import re
from collections.abc import Sequence
from threading import Lock

from rota.engine.observation.happenings import StoreAnswered, StoreFailed, TroubleBegan, TroubleEnded
from rota.engine.observation.observers import Observers
from rota.errors import NodeStrained

Asker = object
"""Who asks the store in a node: its worker, its heart, each of its duties. A store may answer one and not the other, as
one that is full may, or a cluster of which one server is away."""


class Health:
    """Remembers what is wrong, by who found it. Tells so once when it begins and once when it is over. Any thread may
    call."""

    def __init__(self, observers: Observers | None = None) -> None:
        self._observers = observers or Observers()
        self._failures: dict[Asker, str] = {}
        self._failing = Lock()
        self._troubles: dict[str, list[str]] = {}

    @property
    def trouble(self) -> str | None:
        """What is wrong, in one line; None when all is well."""
        found = [one for troubles in list(self._troubles.values()) for one in troubles]
        return "; ".join([*list(self._failures.values())[:1], *found]) or None

    def report(self, finder: str, troubles: Sequence[str]) -> None:
        """All that `finder` (the store, the node itself, ...) finds wrong right now, one sentence each."""
        before = {_without_figures(one) for one in self._troubles.get(finder, [])}
        for one in troubles:
            if _without_figures(one) not in before:
                self._observers.tell(TroubleBegan(finder, one))
        if before and not troubles:
            self._observers.tell(TroubleEnded(finder))
        self._troubles[finder] = list(troubles)

    def strained(self, error: NodeStrained) -> None:
        """A job could not be started, and went back."""
        self.report("node", [f"claiming fewer jobs: {error}"])

    def strain_ended(self) -> None:
        self.report("node", [])

    def store_failed(self, asker: Asker, error: Exception) -> None:
        with self._failing:
            if not self._failures:
                self._observers.tell(StoreFailed(error))
            self._failures[asker] = f"store unavailable: {error}"

    def store_answered(self, asker: Asker) -> None:
        """It is over for who asked."""
        if not self._failures:
            return
        with self._failing:
            if self._failures.pop(asker, None) and not self._failures:
                self._observers.tell(StoreAnswered())


def _without_figures(trouble: str) -> str:
    """The same trouble may have other figures every time, which is no news."""
    return re.sub(r"\d+", "", trouble)
