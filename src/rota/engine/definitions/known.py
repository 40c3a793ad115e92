"""What is defined: node types and job types, as one process sees them.

Reading them from the store for every job would cost a round trip each, so a process keeps a copy. It is read anew when
the store's `definitions_version` has changed, which a node asks with every beat, and at once for a name that is not
known yet.
"""

import difflib
from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct

from rota.errors import NotFound
from rota.model.ids import is_id
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.store.contract.store import Store

Definition = TypeVar("Definition", NodeType, JobType)
_MOST_NAMED = 10


class _View(Struct, frozen=True):
    version: int
    node_types: dict[str, NodeType]
    job_types: dict[str, JobType]
    awaits_jobs: bool = False


class KnownDefinitions:
    """Finds node types and job types by name or uuid. What begins with `known` asks the store nothing."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._view = _View(-1, {}, {})

    def refresh(self) -> None:
        """Read what changed since the last time."""
        version = self._store.definitions_version()
        if version != self._view.version:
            node_types = _by_name_and_uuid(self._store.list_node_types())
            job_types = _by_name_and_uuid(self._store.list_job_types())
            self._view = _View(version, node_types, job_types, bool(self._store.listening_configurations()))

    @property
    def awaits_jobs(self) -> bool:
        """Whether any end of a job is waited for by a configuration, as far as known."""
        return self._view.awaits_jobs

    def node_types(self) -> list[NodeType]:
        self.refresh()
        return self.known_node_types()

    def job_types(self) -> list[JobType]:
        self.refresh()
        return self.known_job_types()

    def known_node_types(self) -> list[NodeType]:
        return _by_name(self._view.node_types)

    def known_job_types(self) -> list[JobType]:
        return _by_name(self._view.job_types)

    def queue_names(self) -> dict[str, str]:
        self.refresh()
        return self.known_queue_names()

    def job_type_names(self) -> dict[str, str]:
        self.refresh()
        return self.known_job_type_names()

    def known_queue_names(self) -> dict[str, str]:
        """Name of each node type by uuid, which is that of its queue."""
        return {one.uuid: one.name for one in self._view.node_types.values()}

    def known_job_type_names(self) -> dict[str, str]:
        """Name by uuid."""
        return {one.uuid: one.name for one in self._view.job_types.values()}

    def node_type(self, name: str) -> NodeType:
        """By name or uuid."""
        found = self.known_node_type(name)
        if found is None:
            self.refresh()
            found = self.known_node_type(name)
        if found is None:
            raise NotFound("node type", name, suggestion=_nearest(name, self._view.node_types.values()))
        return found

    def job_type(self, name: str) -> JobType:
        """By name or uuid."""
        found = self.known_job_type(name)
        if found is None:
            self.refresh()
            found = self.known_job_type(name)
        if found is None:
            raise NotFound("job type", name, suggestion=_nearest(name, self._view.job_types.values()))
        return found

    def known_node_type(self, name: str) -> NodeType | None:
        return self._view.node_types.get(name)

    def known_job_type(self, name: str) -> JobType | None:
        return self._view.job_types.get(name)

    def known_queue(self, job_type: str) -> str | None:
        """Where jobs of a type go, by its name or uuid; None if only the store can tell."""
        found = self.known_job_type(job_type)
        node_type = found and self.known_node_type(found.node_type)
        return node_type.uuid if node_type else None

    def current_node_type(self, name: str) -> NodeType:
        """By name or uuid, as the store has it now. What looks like a uuid is one, even if another has that name."""
        self.refresh()
        return _not_another("node type", self.node_type(name), name)

    def current_job_type(self, name: str) -> JobType:
        """By name or uuid, as the store has it now. What looks like a uuid is one, even if another has that name."""
        self.refresh()
        return _not_another("job type", self.job_type(name), name)


def _not_another(kind: str, found: Definition, name: str) -> Definition:
    if is_id(name) and found.uuid != name:
        raise NotFound(kind, name)
    return found


def _by_name(view: dict[str, Definition]) -> list[Definition]:
    return sorted({one.uuid: one for one in view.values()}.values(), key=lambda one: one.name)


def _by_name_and_uuid(definitions: Iterable[Definition]) -> dict[str, Definition]:
    """A name that looks like the uuid of another does not hide it."""
    found = list(definitions)
    return {one.name: one for one in found} | {one.uuid: one for one in found}


def _nearest(name: str, known: Iterable[NodeType] | Iterable[JobType]) -> str:
    names = sorted({one.name for one in known})
    close = difflib.get_close_matches(name, names, 1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(names[:_MOST_NAMED])}" if names else "none is defined yet"
