"""What is declared in a configuration file, or in the code of an app, is owned by it: brought into the store, changed
there, removed when it is gone. "The file" stands for both here. What came by another way is never touched; a name that
somebody else's definition has is a conflict."""

from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec import Struct

from rota.engine.audit.actor import acting_here
from rota.engine.definitions.built_in import ensure_default_node_type
from rota.engine.definitions.definitions import Definitions, is_default_node_type
from rota.engine.definitions.file_configurations import FileConfigurations
from rota.engine.definitions.file_schedules import FileSchedules
from rota.engine.definitions.file_types import FileTypes
from rota.engine.definitions.ownership import MANAGED_BY_FILE
from rota.engine.events.configurations import Configurations
from rota.engine.schedules.schedules import Schedules
from rota.errors import Conflict
from rota.model.events.configuration_request import ConfigurationRequest
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.schedules.request import EMIT_JOB_TYPE, ScheduleRequest
from rota.model.schedules.schedule import Schedule
from rota.settings import Settings
from rota.store.store import Store

_UNTOLD = ("uuid", "created_at", "managed_by", "queue")
"""Fields that say nothing about what somebody wrote."""

Fields = dict[str, object]


class Wanted(Struct, frozen=True):
    """What is in a file."""

    node_types: Sequence[NodeType] = ()
    job_types: Sequence[JobType] = ()
    schedules: Sequence[ScheduleRequest] = ()
    configurations: Sequence[ConfigurationRequest] = ()

    @classmethod
    def of(cls, settings: Settings) -> "Wanted":
        return cls(settings.node_types, settings.job_types, settings.schedules, settings.configurations)


class Difference(Struct, frozen=True):
    """One definition that the file has otherwise than the store, or that one of them lacks."""

    kind: str
    name: str
    action: str
    """`create`, `change` or `delete`."""
    before: Fields = {}
    """The fields that differ, as they are."""
    after: Fields = {}
    """The same, as they are to be."""


class FileDefinitions:
    """Compares a file with the store, and makes the store agree with it."""

    def __init__(
        self,
        store: Store,
        definitions: Definitions,
        schedules: Schedules,
        configurations: Configurations,
        *,
        owner: str = MANAGED_BY_FILE,
    ) -> None:
        self._store = store
        self._definitions = definitions
        self._owner = owner
        self._types = FileTypes(definitions, owner)
        self._schedules = FileSchedules(store, schedules, owner)
        self._configurations = FileConfigurations(store, configurations, owner)

    def diff(self, wanted: Wanted) -> list[Difference]:
        """What `apply` would change."""
        node_types, job_types = self._types.owned(wanted.node_types, wanted.job_types)
        found = _differences("node type", self._owned(self._definitions.node_types()), node_types)
        found += _differences("job type", self._owned(self._definitions.job_types()), job_types)
        before = [entry.schedule for entry in self._schedules.owned()]
        uuids = {one.name: one.uuid for one in (*self._definitions.job_types(), *job_types)}
        requests = self._schedules.checked(wanted.schedules, self._job_types_then(wanted))
        found += _differences("schedule", before, [self._schedules.made(request, uuids) for request in requests])
        self._configurations.check(wanted.configurations, uuids)
        return found + [Difference("configuration", *one) for one in self._configurations.diff(wanted.configurations)]

    def apply(self, wanted: Wanted) -> list[Difference]:
        """Make the store agree with the file; returns what changed. Bad input changes nothing."""
        with acting_here(self._owner):
            return self._agree(wanted, self._carry_out)

    def add(self, wanted: Wanted) -> None:
        """Bring what is wanted into the store, and remove nothing: for a program that knows a part of an app."""
        with acting_here(self._owner):
            self._agree(wanted, self._carry_in)

    def _agree(self, wanted: Wanted, carry_out: Callable[[Wanted], object]) -> list[Difference]:
        """Carry a change out.

        Others may do the same at the same time, as nodes that start together do. Whoever finds that another was faster
        begins again; there is one difference less each time.
        """
        differences = self.diff(wanted)
        for _ in differences:
            try:
                carry_out(wanted)
            except Conflict:
                self.diff(wanted)  # which raises if it is a conflict with something else
            else:
                return differences
        carry_out(wanted)
        return differences

    def _carry_in(self, wanted: Wanted) -> None:
        self._put_types(wanted)
        self._schedules.add(wanted.schedules)
        self._configurations.add(wanted.configurations)

    def _put_types(self, wanted: Wanted) -> frozenset[str]:
        if not any(map(is_default_node_type, wanted.node_types)):
            ensure_default_node_type(self._definitions, self._store.now())
        return self._types.put(wanted.node_types, wanted.job_types)

    def _carry_out(self, wanted: Wanted) -> None:
        kept = self._put_types(wanted)
        self._schedules.apply(wanted.schedules)
        self._configurations.apply(wanted.configurations)
        self._types.drop(kept)

    def _job_types_then(self, wanted: Wanted) -> set[str]:
        """Names of the job types that there are when the file has been applied."""
        there = {one.name for one in self._definitions.job_types() if one.managed_by != self._owner}
        return there | {one.name for one in wanted.job_types} | {EMIT_JOB_TYPE}

    def _owned(self, definitions: Iterable[NodeType | JobType]) -> list[NodeType | JobType]:
        return [one for one in definitions if one.managed_by == self._owner]


def _differences(
    kind: str, before: Sequence[NodeType | JobType | Schedule], after: Sequence[NodeType | JobType | Schedule]
) -> list[Difference]:
    old, new = {one.name: _fields(one) for one in before}, {one.name: _fields(one) for one in after}
    found = []
    for name in sorted({*old, *new}):
        was, will = old.get(name), new.get(name)
        if was is None:
            found.append(Difference(kind, name, "create", {}, will or {}))
        elif will is None:
            found.append(Difference(kind, name, "delete", was, {}))
        elif was != will:
            keys = [key for key in {**was, **will} if was.get(key) != will.get(key)]
            pick = [{key: fields.get(key) for key in keys} for fields in (was, will)]
            found.append(Difference(kind, name, "change", *pick))
    return found


def _fields(one: NodeType | JobType | Schedule) -> Fields:
    """All fields, those with their default too: a difference is told by what was and what will be."""
    return {name: msgspec.to_builtins(getattr(one, name)) for name in one.__struct_fields__ if name not in _UNTOLD}
