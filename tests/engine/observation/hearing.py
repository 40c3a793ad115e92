"""Somebody who listens to everything that happens."""

from typing import TypeVar

from rota.engine.observation.happenings import Happening
from rota.engine.observation.observers import Observers

Kind = TypeVar("Kind", bound=Happening)
KINDS: list[type[Happening]] = Happening.__subclasses__()


class Heard:
    """What happened, in the order in which it was told."""

    def __init__(self) -> None:
        self.observers = Observers()
        self.told: list[Happening] = []
        for kind in KINDS:
            self.observers.add(kind, self.told.append)

    def of(self, kind: type[Kind]) -> list[Kind]:
        return [one for one in self.told if isinstance(one, kind)]

    def the(self, kind: type[Kind]) -> Kind:
        """The only one of a kind."""
        (one,) = self.of(kind)
        return one
