"""What is defined: node types and job types, as one process sees them.

Reading them from the store for every job would cost a round trip each, so a process keeps a copy. It is read anew when
the store's `definitions_version` has changed, which a node asks with every beat, and at once for a name that is not
known yet.
"""

import difflib
from collections.abc import Iterable, Sequence
from typing import TypeVar

from msgspec import Struct, structs

from rota.engine.executors.registry import ExecutorRegistry
from rota.errors import Conflict, InvalidInput, NotFound
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.store.store import Store

DEFAULT_NODE_TYPE = "default"
MANAGED_BY_FILE = "file"

Definition = TypeVar("Definition", NodeType, JobType)


class _View(Struct, frozen=True):
    version: int
    node_types: dict[str, NodeType]
    job_types: dict[str, JobType]


class Definitions:
    """Finds definitions by name or uuid, and is the only way to change them."""

    def __init__(self, store: Store, executors: ExecutorRegistry) -> None:
        self._store = store
        self._executors = executors
        self._view = _View(-1, {}, {})

    def refresh(self) -> None:
        """Read what changed since the last time."""
        version = self._store.definitions_version()
        if version != self._view.version:
            node_types = _by_name_and_uuid(self._store.list_node_types())
            job_types = _by_name_and_uuid(self._store.list_job_types())
            self._view = _View(version, node_types, job_types)

    def node_types(self) -> list[NodeType]:
        self.refresh()
        return sorted({one.uuid: one for one in self._view.node_types.values()}.values(), key=lambda one: one.name)

    def cached_node_types(self) -> list[NodeType]:
        """All node types without asking the store; the node refreshes them with every beat."""
        return list({one.uuid: one for one in self._view.node_types.values()}.values())

    def job_types(self) -> list[JobType]:
        self.refresh()
        return sorted({one.uuid: one for one in self._view.job_types.values()}.values(), key=lambda one: one.name)

    def node_type(self, name: str) -> NodeType:
        """By name or uuid."""
        found = self.known_node_type(name)
        if found is None:
            self.refresh()
            found = self.known_node_type(name)
        if found is None:
            raise NotFound("node type", name, _nearest(name, self._view.node_types.values()))
        return found

    def job_type(self, name: str) -> JobType:
        """By name or uuid."""
        found = self.known_job_type(name)
        if found is None:
            self.refresh()
            found = self.known_job_type(name)
        if found is None:
            raise NotFound("job type", name, _nearest(name, self._view.job_types.values()))
        return found

    def known_node_type(self, name: str) -> NodeType | None:
        """Without asking the store."""
        return self._view.node_types.get(name)

    def known_job_type(self, name: str) -> JobType | None:
        """Without asking the store."""
        return self._view.job_types.get(name)

    def define_node_type(self, node_type: NodeType) -> None:
        """Create or replace a node type."""
        self.define([node_type], [])

    def define_job_type(self, job_type: JobType) -> None:
        """Create or replace a job type."""
        self.define([], [job_type])

    def define(self, node_types: Sequence[NodeType], job_types: Sequence[JobType]) -> None:
        """Check everything first, then store it: bad input changes nothing."""
        for node_type in node_types:
            node_type.check()
        new_names = {one.name for one in node_types}
        for job_type in job_types:
            self._check_job_type(job_type, new_names)
        if node_types:
            self._store.put_node_types(node_types)
        if job_types:
            self._store.put_job_types(job_types)
        self.refresh()

    def _check_job_type(self, job_type: JobType, new_node_types: set[str]) -> None:
        job_type.check()
        self._executors.get(job_type.executor).check(job_type)
        if job_type.node_type not in new_node_types:
            try:
                self.node_type(job_type.node_type)
            except NotFound as error:
                raise InvalidInput("node_type", str(error)) from None

    def delete_node_type(self, name: str) -> None:
        """Remove a node type that no job type uses and whose queue holds no live jobs."""
        node_type = self.node_type(name)
        users = [one.name for one in self.job_types() if one.node_type in (node_type.name, node_type.uuid)]
        if users:
            raise Conflict(f"node type {node_type.name!r} is used by the job types {', '.join(users)}")
        self._store.delete_node_types([node_type.uuid])
        self.refresh()

    def delete_job_type(self, name: str) -> None:
        """Remove a job type. Jobs of it that still wait will fail when they are run."""
        self._store.delete_job_types([self.job_type(name).uuid])
        self.refresh()

    def ensure_node_type(self, node_type: NodeType) -> NodeType:
        """The node type of this name, created as given if there is none."""
        self.refresh()
        found = self.known_node_type(node_type.name)
        if found is None:
            try:
                self.define_node_type(node_type)
            except Conflict:
                self.refresh()  # another node was faster
            found = self.node_type(node_type.name)
        return found

    def apply_file(self, node_types: Sequence[NodeType], job_types: Sequence[JobType]) -> None:
        """Make the definitions that a configuration file owns equal to those that stand in it now.

        What came by another way is never touched; a name that somebody else's definition has is a conflict. Only the
        node type `default`, which every installation has, may be taken over.
        """
        self.refresh()
        owned_node_types = [self._owned(one, self._view.node_types) for one in node_types]
        owned_job_types = [self._owned(one, self._view.job_types) for one in job_types]
        self.define(owned_node_types, owned_job_types)
        kept = {one.uuid for one in owned_node_types} | {one.uuid for one in owned_job_types}
        gone = [one for one in self.job_types() if one.managed_by == MANAGED_BY_FILE and one.uuid not in kept]
        self._store.delete_job_types([one.uuid for one in gone])
        for node_type in self.node_types():
            if node_type.managed_by == MANAGED_BY_FILE and node_type.uuid not in kept:
                self.disown_node_type(node_type)
        self.refresh()

    def disown_node_type(self, node_type: NodeType) -> None:
        """A node type that its owner dropped goes; `default` stays, but is nobody's any more."""
        if _is_default_node_type(node_type):
            self._store.put_node_types([structs.replace(node_type, managed_by="")])
        else:
            self.delete_node_type(node_type.uuid)

    def _owned(self, one: Definition, known: dict[str, Definition]) -> Definition:
        """The definition as the file's own, under the uuid that its name already has there."""
        there = known.get(one.name)
        if there is not None and there.managed_by != MANAGED_BY_FILE and not _is_default_node_type(there):
            raise Conflict(f"{one.name!r} stands in the configuration file, but was defined in another way before")
        uuid = there.uuid if there is not None else one.uuid
        return structs.replace(one, uuid=uuid, managed_by=MANAGED_BY_FILE)


def _is_default_node_type(one: NodeType | JobType) -> bool:
    return isinstance(one, NodeType) and one.name == DEFAULT_NODE_TYPE


def _by_name_and_uuid(definitions: Iterable[Definition]) -> dict[str, Definition]:
    return {key: one for one in definitions for key in (one.uuid, one.name)}


def _nearest(name: str, known: Iterable[NodeType] | Iterable[JobType]) -> str:
    names = sorted({one.name for one in known})
    close = difflib.get_close_matches(name, names, 1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(names[:10])}" if names else "none is defined yet"
