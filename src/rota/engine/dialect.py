"""What a node offers to a dialect, and what it asks of one.

A dialect is a foreign vocabulary: other programs' words, shapes and keys. The engine knows that there are dialects, and
none of them by name; whoever makes a node says which ones it speaks.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from rota.clock import Clock
from rota.engine.definitions.definitions import Definitions
from rota.engine.duty import Duty
from rota.engine.jobs.intake import Intake
from rota.engine.schedules.schedules import Schedules


class Engine(Struct, frozen=True, kw_only=True):
    """The parts of a node that a dialect may use: everything that changes the store goes through them."""

    node: str
    """Uuid of the node."""
    node_type: str
    """Name of the node type that it serves."""
    roles: frozenset[str]
    definitions: Definitions
    intake: Intake
    schedules: Schedules
    clock: Clock


class Dialect(Protocol):
    """One foreign vocabulary, as one node speaks it."""

    def join(self, engine: Engine) -> Sequence[Duty]:
        """Learn what is defined in the foreign words, before the node looks for its node type; returns its duties."""
        ...

    def leave(self) -> None:
        """End what was begun. The node has stopped."""
        ...
