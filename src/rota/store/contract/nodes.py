"""The contract of a store, for the records of nodes. A node writes its own through its lifeline, see `claims.py`. What
`store.py` says of all operations holds here too.
"""

from typing import Protocol

from rota.model.node import Node


class NodeStore(Protocol):
    """Which nodes there are."""

    def list_nodes(self, *, since: int) -> list[Node]:
        """Nodes whose last beat was at `since` or later."""
        ...

    def remove_nodes(self, *, uuid: str | None = None, silent_since: int | None = None) -> int:
        """Forget one node, or all whose last beat was before an instant; returns how many."""
        ...
