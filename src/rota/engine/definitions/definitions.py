"""What is defined, and the only way to change node types and job types."""

from collections.abc import Mapping, Sequence

from msgspec import structs

from rota.engine.access.audit.record import Change, change_of, recorded
from rota.engine.definitions.job_cycles import find_cycle_through, names_with, refusal_of
from rota.engine.definitions.known import Definition, KnownDefinitions
from rota.engine.definitions.moves import move_configurations, move_schedules
from rota.engine.definitions.ownership import kind_of, refuse_file_owned
from rota.engine.executors.registry import ExecutorRegistry
from rota.errors import Conflict, InvalidInput, NotFound
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.store.contract.store import Store
from rota.store.records.unreadable import UNREADABLE

DEFAULT_NODE_TYPE = "default"
_MOST_NAMED = 5
"""Names that an error lists."""
_TRIES = 100
"""Job types that lost a race against other definitions are judged again upon the newer ones."""


class Definitions(KnownDefinitions):
    """Finds definitions by name or uuid, and changes them."""

    def __init__(self, store: Store, executors: ExecutorRegistry) -> None:
        super().__init__(store)
        self._executors = executors

    def define_node_type(self, node_type: NodeType) -> None:
        """Create or replace a node type."""
        self.define([node_type], [])

    def define_job_type(self, job_type: JobType) -> None:
        """Create or replace a job type."""
        self.define([], [job_type])

    def define(
        self,
        node_types: Sequence[NodeType],
        job_types: Sequence[JobType],
        places: Mapping[str, Mapping[str, str]] | None = None,
        *,
        same_version: bool = False,
    ) -> None:
        """Check everything first, then store it: bad input changes nothing. Schedules follow their job types. `places`
        tells by a job type's name where each of its keys comes from. With `same_version` job types are changed only if
        they are still at the version that they have here."""
        for node_type in node_types:
            node_type.check()
        new_names = {one.name for one in node_types}
        for job_type in job_types:
            try:
                self._check_job_type(job_type, new_names)
            except InvalidInput as error:
                raise _at_its_place(error, (places or {}).get(job_type.name, {})) from None
        self.refresh()
        _check_names_are_free("node type", node_types, self._view.node_types)
        _check_names_are_free("job type", job_types, self._view.job_types)
        self._refuse_cycles(job_types)
        moved = [one for one in job_types if self._moves(one)]
        with recorded(self._store, *self._changes([*node_types, *job_types])):
            if node_types:
                self._store.put_node_types(node_types)
            if job_types:
                self._put_job_types(job_types, same_version=same_version)
            self.refresh()
            for one in moved:
                queue = self.node_type(one.node_type).uuid
                move_schedules(self._store, one.uuid, queue)
                move_configurations(self._store, one.uuid, queue)

    def _changes(self, wanted: Sequence[NodeType | JobType]) -> list[Change]:
        """What is about to change, for the audit log."""
        known: dict[str, NodeType | JobType] = {**self._view.node_types, **self._view.job_types}
        pairs = [(_said(known[one.uuid]) if one.uuid in known else None, _said(one)) for one in wanted]
        return [change_of(kind_of(after), before, after) for before, after in pairs if before != after]

    def _put_job_types(self, job_types: Sequence[JobType], *, same_version: bool) -> None:
        """Job types are put upon the job rules that their names were judged upon: if others define some meanwhile, they
        are judged again."""
        for _ in range(_TRIES):
            rules_version = self._refuse_cycles(job_types)
            if self._store.put_job_types(job_types, same_version=same_version, rules_version=rules_version):
                return
        raise Conflict(f"definitions change too often to define the job type {job_types[0].name!r}; try again")

    def _refuse_cycles(self, job_types: Sequence[JobType]) -> int:
        """Refuse a new name by which jobs would make each other for ever. Returns the version of the job rules against
        which that was checked."""
        rules = self._store.read_job_rules()
        self.refresh()  # only now, so that names which were being given before are known
        before = self.known_job_type_names()
        names = names_with(rules, {**before, **{one.uuid: one.name for one in job_types}})
        made = {rule.job_type for rule in rules.configurations}
        for one in job_types:
            if one.uuid not in made or before.get(one.uuid) == one.name:
                continue
            if cycle := find_cycle_through(one.name, rules.configurations, names):
                raise InvalidInput("name", refusal_of(cycle))
        return rules.version

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

    def create_job_type(self, job_type: JobType, *, replace: bool = False, expected: int | None = None) -> JobType:
        """Define a new job type; `replace` as for node types. With `expected`, only in place of this version."""
        if expected is None:
            return self.create_job_types([job_type], replace=replace)[0]
        uuid = self.current_job_type(job_type.name).uuid
        return self.change_job_type(structs.replace(job_type, uuid=uuid), expected=expected)

    def create_job_types(self, job_types: Sequence[JobType], *, replace: bool = False) -> list[JobType]:
        """Define new job types: all of them or, if one is bad, none."""
        self.refresh()
        kept = [_in_place_of(self.known_job_type(one.name), one, "job type", replace=replace) for one in job_types]
        self.define([], kept)
        return [self.known_job_type(one.uuid) or one for one in kept]

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

    def change_job_type(self, job_type: JobType, *, expected: int | None = None) -> JobType:
        """Change the job type of this uuid, which must be there and, if that is told, at the expected version. Its
        owner stays."""
        self.refresh()
        found = self.job_type(job_type.uuid)
        refuse_file_owned(found)
        changed = structs.replace(
            _of_same_owner(job_type, found), version=found.version if expected is None else expected
        )
        self.define([], [changed], same_version=expected is not None)
        return self.known_job_type(job_type.uuid) or changed

    def delete_node_type(self, *names: str) -> list[NodeType]:
        """Remove node types that no job type uses and whose queues hold no live jobs. If a file owns one of them, none
        is removed."""
        found = [self.node_type(name) for name in names]
        for one in found:
            refuse_file_owned(one)
        for one in found:
            self._remove_node_type(one)
        return found

    def _remove_node_type(self, node_type: NodeType) -> None:
        self._refuse_used(node_type)
        with recorded(self._store, change_of(kind_of(node_type), node_type, None)):
            self._store.delete_node_types([node_type.uuid])
        self.refresh()

    def _refuse_used(self, node_type: NodeType) -> None:
        users = [one.name for one in self.job_types() if one.node_type in (node_type.name, node_type.uuid)]
        if users:
            raise Conflict(f"node type {node_type.name!r} is used by the job types {', '.join(users)}")

    def delete_job_type(self, *names: str) -> list[JobType]:
        """Remove job types that no schedule uses: all of them or none. Jobs of them that still wait will fail when they
        are run."""
        found = [self.job_type(name) for name in names]
        for one in found:
            refuse_file_owned(one)
        self.remove_job_types(found)
        self.refresh()
        return found

    def remove_job_types(self, job_types: Sequence[JobType]) -> None:
        """Remove job types that no schedule uses, whoever owns them."""
        for one in job_types:
            users = self._store.list_schedules(limit=_MOST_NAMED + 1, job_type=one.uuid).entries
            if users:
                names = [entry.schedule.name for entry in users[:_MOST_NAMED]] + ["..."] * (len(users) > _MOST_NAMED)
                raise Conflict(f"job type {one.name!r} is used by the schedules {', '.join(names)}")
        with recorded(self._store, *(change_of(kind_of(one), _said(one), None) for one in job_types)):
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

    def disown_node_type(self, node_type: NodeType) -> None:
        """A node type that its owner dropped goes; `default` stays, but is nobody's any more."""
        if is_default_node_type(node_type):
            self._store.put_node_types([structs.replace(node_type, managed_by="")])
        else:
            self._remove_node_type(node_type)


def _said(one: NodeType | JobType) -> NodeType | JobType:
    """What a definition says, without what the store counts."""
    return one.unversioned if isinstance(one, JobType) else one


def _in_place_of(found: Definition | None, made: Definition, kind: str, *, replace: bool) -> Definition:
    if found is None:
        return made
    refuse_file_owned(found)
    if not replace:
        ways = "--replace" if isinstance(made, NodeType) else "PUT or --replace"
        hint = f"choose another name, or change it with {ways}"
        raise Conflict(f"there is a {kind} {found.name!r} already; {hint}")
    return _of_same_owner(structs.replace(made, uuid=found.uuid), found)


def _of_same_owner(made: Definition, found: Definition) -> Definition:
    """Whoever changes a definition does not take it from its owner. What nobody can read is made anew."""
    return structs.replace(made, managed_by="" if found.managed_by == UNREADABLE else found.managed_by)


def _at_its_place(error: InvalidInput, places: Mapping[str, str]) -> InvalidInput:
    """The error with the place of the key that it is about."""
    key, dot, rest = error.field.partition(".")
    place = places.get(key) or places.get("name")
    return InvalidInput(f"{place}{dot}{rest}", error.reason) if place else error


def is_default_node_type(one: NodeType | JobType) -> bool:
    """Whether it is the node type that every installation has."""
    return isinstance(one, NodeType) and one.name == DEFAULT_NODE_TYPE


def _check_names_are_free(kind: str, new: Sequence[Definition], known: dict[str, Definition]) -> None:
    """The stores see to this too, but one call after the other: a job type's name must not come too late."""
    owners: dict[str, str] = {}
    for one in new:
        there = known.get(one.name, one)
        if owners.setdefault(one.name, there.uuid) != one.uuid:
            raise Conflict(f"another {kind} has the name {one.name!r}")
