"""What stands in a configuration file is owned by it: brought into the store, changed there, removed when it is gone.

What came by another way is never touched; a name that somebody else's definition has is a conflict. That a schedule of
the file is paused by a person stays so: the file says what it is, not whether it rests just now.
"""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct, structs

from rota.clock import Clock
from rota.engine.definitions.definitions import MANAGED_BY_FILE, Definitions
from rota.engine.definitions.file_configurations import FileConfigurations
from rota.engine.events.configurations import Configurations
from rota.engine.schedules.schedules import PAUSED_BY_FILE, Schedules
from rota.errors import Conflict, InvalidInput
from rota.model.events.configuration_request import ConfigurationRequest
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.schedules.request import EMIT_JOB_TYPE, ScheduleRequest, make_schedule
from rota.model.schedules.schedule import Schedule
from rota.settings import Settings
from rota.settings.definition_ids import definition_uuid
from rota.store.schedules import ScheduleEntry
from rota.store.store import Store

_OWNED = "file_schedules"
"""The setting that names the schedules of the file, so that those which are gone are found without looking at all."""
_UNTOLD = ("uuid", "created_at", "managed_by", "queue")
"""Fields that say nothing about what somebody wrote."""

Fields = dict[str, object]


class Wanted(Struct, frozen=True):
    """What stands in a file."""

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

    def __init__(self, store: Store, definitions: Definitions, schedules: Schedules, clock: Clock) -> None:
        self._store = store
        self._definitions = definitions
        self._schedules = schedules
        self._configurations = FileConfigurations(store, Configurations(store, definitions, clock))
        self._clock = clock

    def diff(self, wanted: Wanted) -> list[Difference]:
        """What `apply` would change."""
        node_types, job_types = self._definitions.owned_by_file(wanted.node_types, wanted.job_types)
        found = _differences("node type", _file_owned(self._definitions.node_types()), node_types)
        found += _differences("job type", _file_owned(self._definitions.job_types()), job_types)
        before = [entry.schedule for entry in self._owned_schedules()]
        uuids = {one.name: one.uuid for one in (*self._definitions.job_types(), *job_types)}
        after = [self._made(request, uuids) for request in self._checked(wanted)]
        found += _differences("schedule", before, after)
        self._configurations.check(wanted.configurations, uuids)
        return found + [Difference("configuration", *one) for one in self._configurations.diff(wanted.configurations)]

    def apply(self, wanted: Wanted) -> list[Difference]:
        """Make the store agree with the file; returns what changed. Bad input changes nothing.

        Others may do the same at the same time, as nodes that start together do. Whoever finds that another was faster
        begins again; there is one difference less each time.
        """
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
        kept = self._definitions.put_from_file(wanted.node_types, wanted.job_types)
        before = self._owned_schedules()
        self._remember([entry.schedule.uuid for entry in before], wanted.schedules)
        for request in wanted.schedules:
            self._put(request)
        names = {request.name for request in wanted.schedules}
        gone = [entry.schedule.uuid for entry in before if entry.schedule.name not in names]
        self._store.delete_schedules(gone)
        self._remember([], wanted.schedules)
        self._configurations.apply(wanted.configurations)
        self._definitions.drop_from_file(kept)

    def _checked(self, wanted: Wanted) -> Sequence[ScheduleRequest]:
        """The schedules of the file, if their job types exist then and their names are free."""
        there = {one.name for one in self._definitions.job_types() if one.managed_by != MANAGED_BY_FILE}
        there |= {one.name for one in wanted.job_types} | {EMIT_JOB_TYPE}
        schedules = [request.settled() for request in wanted.schedules]
        for number, request in enumerate(schedules):
            if request.job_type not in there:
                hint = f"known: {', '.join(sorted(there)[:10])}" if there else "none is defined"
                raise InvalidInput(f"schedules[{number}].job_type", f"no job type {request.job_type!r}; {hint}")
            found = self._find(request.name or "")
            if found is not None and found.schedule.managed_by != MANAGED_BY_FILE:
                raise Conflict(
                    f"{request.name!r} stands in the configuration file, but was defined in another way before"
                )
        return schedules

    def _made(self, request: ScheduleRequest, job_types: dict[str, str]) -> Schedule:
        """The schedule as the file has it, for comparing; its job type may not be stored yet."""
        made = make_schedule(
            request, uuid="", job_type=job_types.get(request.job_type, ""), queue="", created_at=0, now=None
        )
        return _with_pause(made, self._find(request.name or ""))

    def _put(self, request: ScheduleRequest) -> None:
        there = self._find(request.name or "")
        if there is None:
            self._schedules.create(request, uuid=_new_uuid(request), managed_by=MANAGED_BY_FILE)
            return

        def change(entry: ScheduleEntry, now: int) -> Schedule:
            made = self._schedules.make(request, entry.schedule.uuid, now, managed_by=MANAGED_BY_FILE)
            return structs.replace(_with_pause(made, entry), created_at=entry.schedule.created_at)

        self._schedules.change(there.schedule.uuid, change)

    def _find(self, name: str) -> ScheduleEntry | None:
        uuid = self._store.schedule_uuid(name)
        return None if uuid is None else self._store.find_schedules([uuid])[0]

    def _owned_schedules(self) -> list[ScheduleEntry]:
        uuids: list[str] = msgspec.json.decode(self._store.get_setting(_OWNED) or "[]")
        found = self._store.find_schedules(uuids)
        return [entry for entry in found if entry and entry.schedule.managed_by == MANAGED_BY_FILE]

    def _remember(self, others: list[str], requests: Sequence[ScheduleRequest]) -> None:
        """Before something changes also those that may be left over, afterwards only what stands in the file."""
        uuids = {self._store.schedule_uuid(request.name or "") or _new_uuid(request) for request in requests}
        uuids.update(others)
        self._store.put_setting(_OWNED, msgspec.json.encode(sorted(uuids)).decode())


def _new_uuid(request: ScheduleRequest) -> str:
    """The same for a name at every start, so that it is known before the schedule is made."""
    return definition_uuid("schedules", request.name or "")


def _file_owned(definitions: Iterable[NodeType | JobType]) -> list[NodeType | JobType]:
    return [one for one in definitions if one.managed_by == MANAGED_BY_FILE]


def _with_pause(made: Schedule, there: ScheduleEntry | None) -> Schedule:
    """The schedule with the pause of the file, or the one that a person or a failure brought about."""
    if made.paused:
        return structs.replace(made, pause_note=made.pause_note or PAUSED_BY_FILE)
    if there is None or not there.schedule.paused or there.schedule.pause_note == PAUSED_BY_FILE:
        return made
    return structs.replace(made, paused=True, pause_note=there.schedule.pause_note)


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
    """All fields, those with their standard value too: a difference is told by what was and what will be."""
    return {name: msgspec.to_builtins(getattr(one, name)) for name in one.__struct_fields__ if name not in _UNTOLD}
