"""The contract of a store, for node types and job types. What `store.py` says of all operations holds here too."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from rota.model.job_type import JobType
from rota.model.node import NodeType


class DefinitionStore(Protocol):
    """Everything Rota remembers of node types and job types."""

    def put_node_types(self, node_types: Sequence[NodeType]) -> None:
        """Create or replace, by uuid. A name belongs to one node type: `Conflict` if another uuid has it."""
        ...

    def list_node_types(self) -> list[NodeType]:
        """All of them, by name."""
        ...

    def delete_node_types(self, uuids: Iterable[str]) -> int:
        """Remove definitions; returns how many there were. `Conflict` while the queue holds live jobs."""
        ...

    def put_job_types(
        self, job_types: Sequence[JobType], *, same_version: bool = False, rules_version: int | None = None
    ) -> bool:
        """Create or replace, by uuid, all or none. A name belongs to one job type: `Conflict` if another uuid has it.

        A new one keeps its version; one that becomes another has the version after the one that was there. With
        `same_version` each must still be there at the version that it has here, else `Conflict`.

        False, and nothing changed, if the job rules are no longer of the version `rules_version`, where one is given:
        what was judged upon them may not hold any more. Where one is given, they are of another version afterwards.
        """
        ...

    def list_job_types(self) -> list[JobType]:
        """All of them, by name."""
        ...

    def delete_job_types(self, uuids: Iterable[str]) -> int:
        """Remove definitions; returns how many there were. Jobs that are still queued will fail when they are run."""
        ...

    def definitions_version(self) -> int:
        """A number that changes whenever a node type or job type does."""
        ...
