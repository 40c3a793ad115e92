"""Node types and job types of a configuration file."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import structs

from rota.engine.definitions.definitions import Definitions, is_default_node_type
from rota.engine.definitions.known import Definition
from rota.engine.definitions.ownership import Owned, is_of, managed_by_file, refuse_for_file
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.store.records.unreadable import UNREADABLE


class FileTypes:
    """Makes the node types and job types of a file those of the store. Only the node type `default`, which every
    installation has, may be taken over from somebody else."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions

    def apply(self, node_types: Sequence[NodeType], job_types: Sequence[JobType]) -> None:
        """Make the definitions that a file without a name owns equal to those that are in it now."""
        self.drop(self.put(node_types, job_types), lambda one: is_of(one, ""))

    def owned(
        self, node_types: Sequence[NodeType], job_types: Sequence[JobType], owner: str = ""
    ) -> tuple[list[NodeType], list[JobType]]:
        """The definitions of a file as its own, under the uuids that their names already have; nothing is stored."""
        known = self._definitions
        known.refresh()
        owned_node_types = [_owned(one, known.known_node_type(one.name), owner) for one in node_types]
        return owned_node_types, [_owned(one, known.known_job_type(one.name), owner) for one in job_types]

    def put(
        self,
        node_types: Sequence[NodeType],
        job_types: Sequence[JobType],
        owner: str = "",
        places: Mapping[str, Mapping[str, str]] | None = None,
    ) -> frozenset[str]:
        """The first half of `apply`: store what is in the file; returns its uuids."""
        owned = self.owned(node_types, job_types, owner)
        self._definitions.define(*owned, places)
        return frozenset(one.uuid for definitions in owned for one in definitions)

    def drop(self, kept: frozenset[str], may_go: Callable[[Owned], bool]) -> None:
        """The second half: remove what the file owned and no longer has."""
        gone = [one for one in self._definitions.job_types() if may_go(one) and one.uuid not in kept]
        self._definitions.remove_job_types(gone)
        for node_type in self._definitions.node_types():
            if may_go(node_type) and node_type.uuid not in kept:
                self._definitions.disown_node_type(node_type)
        self._definitions.refresh()


def _owned(one: Definition, there: Definition | None, owner: str) -> Definition:
    """The definition as the file's own, under the uuid that its name already has there."""
    if there is None:
        return structs.replace(one, managed_by=managed_by_file(owner))
    if there.managed_by != UNREADABLE and not is_default_node_type(there):
        refuse_for_file(there, owner)
    return structs.replace(one, uuid=there.uuid, managed_by=managed_by_file(owner))
