"""What a node offers to a dialect, and what it asks of one.

A dialect is a foreign vocabulary: other programs' words, shapes and keys. The engine knows that there are dialects, and
none of them by name; whoever makes a node says which ones it speaks.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from rota.engine.engine import Engine
from rota.engine.node.duty import Duty


class DialectContext(Struct, frozen=True, kw_only=True):
    """The node that speaks a dialect, and its engine: everything that changes the store goes through that."""

    engine: Engine
    node: str
    """Uuid of the node."""
    node_type: str
    """Name of the node type that it serves."""
    roles: frozenset[str]


class Dialect(Protocol):
    """One foreign vocabulary, as one node speaks it."""

    def join(self, context: DialectContext) -> Sequence[Duty]:
        """Learn what is defined in the foreign words, before the node looks for its node type; returns its duties."""
        ...

    def leave(self) -> None:
        """End what was begun. The node has stopped."""
        ...
