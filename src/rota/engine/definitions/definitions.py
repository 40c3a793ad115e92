"""What is defined: node types and job types, as one process sees them.

Reading them from the store for every job would cost a round trip each, so a process keeps a copy. It is read anew when
the store's `definitions_version` has changed, which a node asks with every beat, and at once for a name that is not
known yet.
"""

import difflib
from collections.abc import Iterable, Sequence
from typing import TypeVar

from msgspec import Struct, structs

from rota.engine.events.moves import move_configurations
from rota.engine.executors.registry import ExecutorRegistry
from rota.engine.schedules.moves import move_schedules
from rota.errors import Conflict, InvalidInput, NotFound
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.schedules.schedule import Schedule
from rota.store.records.unreadable import UNREADABLE
from rota.store.store import Store

DEFAULT_NODE_TYPE = "default"
MANAGED_BY_FILE = "file"
_MOST_NAMED = 5
"""Names that an error lists."""
_KINDS = {NodeType: "node type", JobType: "job type", Schedule: "schedule"}

Definition = TypeVar("Definition", NodeType, JobType)


class _View(Struct, frozen=True):
    version: int
    node_types: dict[str, NodeType]
    job_types: dict[str, JobType]
    awaits_jobs: bool = False


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
            self._view = _View(version, node_types, job_types, bool(self._store.listening_configurations()))

    @property
    def awaits_jobs(self) -> bool:
        """Whether any end of a job is waited for, as far as known."""
        return self._view.awaits_jobs

    def node_types(self) -> list[NodeType]:
        self.refresh()
        return self.known_node_types()

    def job_types(self) -> list[JobType]:
        self.refresh()
        return self.known_job_types()

    def known_node_types(self) -> list[NodeType]:
        """Without asking the store."""
        return _by_name(self._view.node_types)

    def known_job_types(self) -> list[JobType]:
        """Without asking the store."""
        return _by_name(self._view.job_types)

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
        """Check everything first, then store it: bad input changes nothing. Schedules follow their job types."""
        for node_type in node_types:
            node_type.check()
        new_names = {one.name for one in node_types}
        for job_type in job_types:
            self._check_job_type(job_type, new_names)
        self.refresh()
        _check_names_are_free("node type", node_types, self._view.node_types)
        _check_names_are_free("job type", job_types, self._view.job_types)
        moved = [one for one in job_types if self._moves(one)]
        if node_types:
            self._store.put_node_types(node_types)
        if job_types:
            self._store.put_job_types(job_types)
        self.refresh()
        for one in moved:
            queue = self.node_type(one.node_type).uuid
            move_schedules(self._store, one.uuid, queue)
            move_configurations(self._store, one.uuid, queue)

    def _moves(self, job_type: JobType) -> bool:
        """Whether its jobs will wait in another queue than before."""
        there = self.known_job_type(job_type.uuid)
        return there is not None and there.node_type != job_type.node_type

    def _check_job_type(self, job_type: JobType, new_node_types: set[str]) -> None:
        job_type.check()
        self._executors.get(job_type.executor).check(job_type)
        if job_type.node_type not in new_node_types:
            try:
                self.node_type(job_type.node_type)
            except NotFound as error:
                raise InvalidInput("node_type", str(error)) from None

    def create_node_type(self, node_type: NodeType, *, replace: bool = False) -> NodeType:
        """Define a new node type. With `replace` the one of this name, if there is any, is changed and keeps its uuid;
        without, it is a conflict."""
        self.refresh()
        kept = _in_place_of(self.known_node_type(node_type.name), node_type, "node type", replace=replace)
        self.define_node_type(kept)
        return kept

    def create_job_type(self, job_type: JobType, *, replace: bool = False) -> JobType:
        """Define a new job type; `replace` as for node types."""
        self.refresh()
        kept = _in_place_of(self.known_job_type(job_type.name), job_type, "job type", replace=replace)
        self.define_job_type(kept)
        return kept

    def put_node_type(self, node_type: NodeType) -> None:
        """Create a node type, or change the one of this uuid. Its name stays while job types refer to it."""
        self.refresh()
        found = self.known_node_type(node_type.uuid)
        if found is not None:
            refuse_file_owned(found)
            if found.name != node_type.name:
                self._refuse_used(found)
            node_type = _of_same_owner(node_type, found)
        self.define_node_type(node_type)

    def change_job_type(self, job_type: JobType) -> JobType:
        """Change the job type of this uuid, which must be there. Its owner stays."""
        self.refresh()
        found = self.job_type(job_type.uuid)
        refuse_file_owned(found)
        changed = _of_same_owner(job_type, found)
        self.define_job_type(changed)
        return changed

    def delete_node_type(self, name: str) -> None:
        """Remove a node type that no job type uses and whose queue holds no live jobs."""
        node_type = self.node_type(name)
        refuse_file_owned(node_type)
        self._remove_node_type(node_type)

    def _remove_node_type(self, node_type: NodeType) -> None:
        self._refuse_used(node_type)
        self._store.delete_node_types([node_type.uuid])
        self.refresh()

    def _refuse_used(self, node_type: NodeType) -> None:
        users = [one.name for one in self.job_types() if one.node_type in (node_type.name, node_type.uuid)]
        if users:
            raise Conflict(f"node type {node_type.name!r} is used by the job types {', '.join(users)}")

    def delete_job_type(self, name: str) -> None:
        """Remove a job type that no schedule uses. Jobs of it that still wait will fail when they are run."""
        job_type = self.job_type(name)
        refuse_file_owned(job_type)
        self._delete_job_types([job_type])
        self.refresh()

    def _delete_job_types(self, job_types: Sequence[JobType]) -> None:
        for one in job_types:
            users = self._store.list_schedules(limit=_MOST_NAMED + 1, job_type=one.uuid).entries
            if users:
                names = [entry.schedule.name for entry in users[:_MOST_NAMED]] + ["..."] * (len(users) > _MOST_NAMED)
                raise Conflict(f"job type {one.name!r} is used by the schedules {', '.join(names)}")
        self._store.delete_job_types([one.uuid for one in job_types])

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
        self.drop_from_file(self.put_from_file(node_types, job_types))

    def owned_by_file(
        self, node_types: Sequence[NodeType], job_types: Sequence[JobType]
    ) -> tuple[list[NodeType], list[JobType]]:
        """The definitions of a file as its own, under the uuids that their names already have; nothing is stored."""
        self.refresh()
        owned_node_types = [self._owned(one, self._view.node_types) for one in node_types]
        return owned_node_types, [self._owned(one, self._view.job_types) for one in job_types]

    def put_from_file(self, node_types: Sequence[NodeType], job_types: Sequence[JobType]) -> frozenset[str]:
        """The first half of `apply_file`: store what stands in the file; returns its uuids."""
        owned = self.owned_by_file(node_types, job_types)
        self.define(*owned)
        return frozenset(one.uuid for definitions in owned for one in definitions)

    def drop_from_file(self, kept: frozenset[str]) -> None:
        """The second half: remove what the file owned and no longer has."""
        gone = [one for one in self.job_types() if one.managed_by == MANAGED_BY_FILE and one.uuid not in kept]
        self._delete_job_types(gone)
        for node_type in self.node_types():
            if node_type.managed_by == MANAGED_BY_FILE and node_type.uuid not in kept:
                self.disown_node_type(node_type)
        self.refresh()

    def disown_node_type(self, node_type: NodeType) -> None:
        """A node type that its owner dropped goes; `default` stays, but is nobody's any more."""
        if _is_default_node_type(node_type):
            self._store.put_node_types([structs.replace(node_type, managed_by="")])
        else:
            self._remove_node_type(node_type)

    def _owned(self, one: Definition, known: dict[str, Definition]) -> Definition:
        """The definition as the file's own, under the uuid that its name already has there."""
        there = known.get(one.name)
        owners = (MANAGED_BY_FILE, UNREADABLE)
        if there is not None and there.managed_by not in owners and not _is_default_node_type(there):
            raise Conflict(f"{one.name!r} stands in the configuration file, but was defined in another way before")
        uuid = there.uuid if there is not None else one.uuid
        return structs.replace(one, uuid=uuid, managed_by=MANAGED_BY_FILE)


def refuse_file_owned(found: NodeType | JobType | Schedule) -> None:
    """What stands in the file would come back, or be changed back, at the next start."""
    if found.managed_by == MANAGED_BY_FILE:
        raise Conflict(f"the {_KINDS[type(found)]} {found.name!r} stands in the configuration file; change it there")


def _in_place_of(found: Definition | None, made: Definition, kind: str, *, replace: bool) -> Definition:
    if found is None:
        return made
    refuse_file_owned(found)
    if not replace:
        hint = "choose another name, or change it with PUT or --replace"
        raise Conflict(f"there is a {kind} {found.name!r} already; {hint}")
    return _of_same_owner(structs.replace(made, uuid=found.uuid), found)


def _of_same_owner(made: Definition, found: Definition) -> Definition:
    """Whoever changes a definition does not take it from its owner. What nobody can read is made anew."""
    return structs.replace(made, managed_by="" if found.managed_by == UNREADABLE else found.managed_by)


def _is_default_node_type(one: NodeType | JobType) -> bool:
    return isinstance(one, NodeType) and one.name == DEFAULT_NODE_TYPE


def _check_names_are_free(kind: str, new: Sequence[Definition], known: dict[str, Definition]) -> None:
    """The stores see to this too, but one call after the other: a job type's name must not come too late."""
    owners: dict[str, str] = {}
    for one in new:
        there = known.get(one.name, one)
        if owners.setdefault(one.name, there.uuid) != one.uuid:
            raise Conflict(f"another {kind} has the name {one.name!r}")


def _by_name(view: dict[str, Definition]) -> list[Definition]:
    return sorted({one.uuid: one for one in view.values()}.values(), key=lambda one: one.name)


def _by_name_and_uuid(definitions: Iterable[Definition]) -> dict[str, Definition]:
    return {key: one for one in definitions for key in (one.uuid, one.name)}


def _nearest(name: str, known: Iterable[NodeType] | Iterable[JobType]) -> str:
    names = sorted({one.name for one in known})
    close = difflib.get_close_matches(name, names, 1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(names[:10])}" if names else "none is defined yet"
