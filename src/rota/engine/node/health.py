"""Whether a node is well. One object per node; the surfaces read it."""

import re
from collections.abc import Sequence

from rota.engine.observation.happenings import StoreAnswered, StoreFailed, TroubleBegan, TroubleEnded
from rota.engine.observation.observers import Observers
from rota.errors import NodeStrained


class Health:
    """Remembers what is wrong, by who found it. Tells so once when it begins and once when it is over."""

    def __init__(self, observers: Observers | None = None) -> None:
        self._observers = observers or Observers()
        self._failure: str | None = None
        self._troubles: dict[str, list[str]] = {}

    @property
    def trouble(self) -> str | None:
        """What is wrong, in one line; None when all is well."""
        found = [one for troubles in list(self._troubles.values()) for one in troubles]
        return "; ".join([self._failure, *found] if self._failure else found) or None

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

    def store_failed(self, error: Exception) -> None:
        if self._failure is None:
            self._observers.tell(StoreFailed(error))
        self._failure = f"store unavailable: {error}"

    def store_answered(self) -> None:
        if self._failure is not None:
            self._observers.tell(StoreAnswered())
            self._failure = None


def _without_figures(trouble: str) -> str:
    """The same trouble may have other figures every time, which is no news."""
    return re.sub(r"\d+", "", trouble)
