"""What is defined in a configuration file is owned by it: brought into the store, changed there, removed when it is
gone. What came by another way is never touched; a name that somebody else's definition has is a conflict."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext

import msgspec
from msgspec import Struct

from rota.engine.access.audit.actor import acting_here
from rota.engine.access.keys.access import Caller
from rota.engine.access.keys.rights import check_may_apply
from rota.engine.definitions.built_in import ensure_default_node_type
from rota.engine.definitions.definitions import Definitions, is_default_node_type
from rota.engine.definitions.file_configurations import FileConfigurations
from rota.engine.definitions.file_schedules import FileSchedules
from rota.engine.definitions.file_types import FileTypes
from rota.engine.definitions.ownership import MANAGED_BY_FILE, Owned, is_app, is_of, is_of_file
from rota.engine.events.configurations import Configurations
from rota.engine.schedules.schedules import Schedules
from rota.errors import Conflict
from rota.model.events.configuration_request import ConfigurationRequest
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.schedules.hints import request_hints
from rota.model.schedules.request import EMIT_JOB_TYPE, ScheduleRequest
from rota.model.schedules.schedule import Schedule
from rota.settings import Settings
from rota.store.contract.store import Store

_UNTOLD = ("uuid", "created_at", "managed_by", "queue", "version")
"""Fields that say nothing about what somebody wrote."""

Fields = dict[str, object]


class Wanted(Struct, frozen=True):
    """What is in a file, or in the code of an app, which owns it in the same way."""

    node_types: Sequence[NodeType] = ()
    job_types: Sequence[JobType] = ()
    schedules: Sequence[ScheduleRequest] = ()
    configurations: Sequence[ConfigurationRequest] = ()
    owner: str = ""
    """The name of the file, by which it owns what it has; without one it is the only file."""
    prunes: bool = False
    """Whether what other files own goes too."""
    places: Mapping[str, Mapping[str, str]] = {}
    """Where each key of a job type is in the file, by the job type's name."""
    written: Mapping[str, object] = {}
    """The definitions as the file itself has them, for a server, which reads them again."""
    keeps: bool = False
    """Whether what is no longer in it stays all the same: for a program that has only some of an app's tasks."""

    @classmethod
    def of(cls, settings: Settings, *, prunes: bool = False, written: Mapping[str, object] | None = None) -> "Wanted":
        found = settings.node_types, settings.job_types, settings.schedules, settings.configurations
        return cls(*found, owner=settings.owner, prunes=prunes, places=settings.places, written=written or {})

    def may_remove(self, found: Owned) -> bool:
        """Whether a definition that is not in the file goes."""
        if self.keeps:
            return False
        return is_of_file(found) if self.prunes else is_of(found, self.owner)

    def has_before(self, found: Owned, names: Collection[str]) -> bool:
        """Whether a definition is one to compare the file with: its own, or one that it takes over."""
        return self.may_remove(found) or (found.managed_by == MANAGED_BY_FILE and found.name in names)


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
        self, store: Store, definitions: Definitions, schedules: Schedules, configurations: Configurations
    ) -> None:
        self._store = store
        self._definitions = definitions
        self._types = FileTypes(definitions)
        self._schedules = FileSchedules(store, schedules)
        self._configurations = FileConfigurations(store, configurations)

    def diff(self, wanted: Wanted, *, by: Caller | None = None) -> list[Difference]:
        """What `apply` would change; it tells secrets, so it needs the same rights."""
        check_may_apply(by)
        node_types, job_types = self._types.owned(wanted.node_types, wanted.job_types, wanted.owner)
        found = _differences("node type", _before(wanted, self._definitions.node_types(), node_types), node_types)
        found += _differences("job type", _before(wanted, self._definitions.job_types(), job_types), job_types)
        uuids = {one.name: one.uuid for one in (*self._definitions.job_types(), *job_types)}
        requests = self._schedules.checked(wanted.schedules, self._job_types_then(wanted), wanted.owner)
        made = [self._schedules.made(request, uuids) for request in requests]
        there = self._schedules.compared(wanted.schedules, wanted.owner, prunes=wanted.prunes)
        found += _differences("schedule", [entry.schedule for entry in there], made)
        self._configurations.check(wanted.configurations, uuids, wanted.owner)
        told = self._configurations.diff(wanted.configurations, wanted.owner, prunes=wanted.prunes)
        return found + [Difference("configuration", *one) for one in told]

    def apply(self, wanted: Wanted, *, by: Caller | None = None) -> list[Difference]:
        """Make the store agree with the file; returns what changed. Bad input changes nothing.

        Others may do the same at the same time, as nodes that start together do. Whoever finds that another was faster
        begins again; there is one difference less each time.
        """
        check_may_apply(by)
        origin = wanted.owner if is_app(wanted.owner) else MANAGED_BY_FILE
        with acting_here(origin) if by is None else nullcontext():
            return self._apply(wanted)

    def _apply(self, wanted: Wanted) -> list[Difference]:
        differences = self.diff(wanted)
        for _ in differences:
            try:
                self._carry_out(wanted)
            except Conflict:
                self.diff(wanted)  # which raises if it is a conflict with something else
            else:
                return differences
        self._carry_out(wanted)
        return differences

    def _carry_out(self, wanted: Wanted) -> None:
        if not any(map(is_default_node_type, wanted.node_types)):
            ensure_default_node_type(self._definitions, self._store.now())
        kept = self._types.put(wanted.node_types, wanted.job_types, wanted.owner, wanted.places)
        self._schedules.apply(wanted.schedules, wanted.owner, prunes=wanted.prunes, keeps=wanted.keeps)
        self._configurations.apply(wanted.configurations, wanted.owner, prunes=wanted.prunes, keeps=wanted.keeps)
        self._types.drop(kept, wanted.may_remove)

    def _job_types_then(self, wanted: Wanted) -> set[str]:
        """Names of the job types that there are when the file has been applied."""
        there = {one.name for one in self._definitions.job_types() if not wanted.may_remove(one)}
        return there | {one.name for one in wanted.job_types} | {EMIT_JOB_TYPE}


def schedule_hints(wanted: Wanted, changes: Iterable[Difference], now: int) -> list[str]:
    """What looks like a slip in the schedules that are new or changed."""
    changed = {one.name for one in changes if one.kind == "schedule" and one.action != "delete"}
    requests = [one for one in wanted.schedules if one.name in changed]
    return [f"schedule {one.name}: {hint}" for one in requests for hint in request_hints(one, now)]


def _before(
    wanted: Wanted, there: Iterable[NodeType | JobType], made: Sequence[NodeType | JobType]
) -> list[NodeType | JobType]:
    names = {one.name for one in made}
    return [one for one in there if wanted.has_before(one, names)]


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
