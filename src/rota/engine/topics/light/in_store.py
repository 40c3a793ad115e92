"""The light scheduler on a store: a definition is a schedule, whose jobs publish due tasks.

A key has one schedule, found by its name. A task that is sent once leaves its schedule behind, over; whoever sends it
removes that. A schedule that is over counts for nothing, and a new definition gets another one, so that none is removed
in its stead.
"""

import hashlib
import re

import msgspec
from msgspec import structs

from rota.engine.definitions.built_in import LIGHT_JOB_TYPE, ensure_built_in
from rota.engine.definitions.ownership import MANAGED_BY_LIGHT
from rota.engine.engine import Engine
from rota.engine.topics.light.scheduler import DefinitionPage, DefinitionQuery
from rota.errors import Conflict, NotFound
from rota.model.schedules.request import CatchUpRequest, Frequency, ScheduleRequest
from rota.model.schedules.schedule import Overlap, Schedule
from rota.model.topics.light.definition import Action, TaskDefinition, TaskKey, read_definition
from rota.model.topics.light.fires import catch_up_of, settled
from rota.model.triggers.catch_up import CatchUpMode
from rota.store.contract.schedules import ScheduleEntry

KIND = "task definition"
_READABLE = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._:/-]+")
_LONGEST = 100
_TRIES = 5
"""A command that lost a race against another one for the same key is carried out again."""


class StoreScheduler:
    """See `rota.engine.topics.light.scheduler.LightScheduler` for what each method promises."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def apply(self, command: TaskDefinition) -> None:
        for _ in range(_TRIES):
            try:
                self._apply(command)
            except _RaceLost:
                continue
            return
        raise Conflict(f"the {KIND} {_shown(command.key)} changes too often; try again")

    def _apply(self, command: TaskDefinition) -> None:
        entry = self._entry(command.key)
        is_there = entry is not None and not is_over(entry)
        if not is_there and command.action is not Action.INSERT:
            raise NotFound(KIND, _shown(command.key), "INSERT makes one")
        if command.action is Action.DELETE and entry is not None:
            self._engine.schedules.remove([entry.schedule])
        elif is_there:
            self._replace(command)
        else:
            self._insert(command, entry)

    def _insert(self, command: TaskDefinition, left: ScheduleEntry | None) -> None:
        """Make its schedule, in the place of one that is over."""
        if left is not None:
            self._engine.store.delete_schedules([left.schedule.uuid])
        try:
            now = self._engine.clock.now()
            self._engine.schedules.create(self._request(command, now), managed_by=MANAGED_BY_LIGHT, now=now)
        except Conflict:
            raise _RaceLost from None  # somebody else made one for the same key

    def _replace(self, command: TaskDefinition) -> None:
        def change(entry: ScheduleEntry, now: int) -> Schedule:
            if is_over(entry):
                raise _RaceLost
            made = self._engine.schedules.make(
                self._request(command, now), entry.schedule.uuid, now, managed_by=MANAGED_BY_LIGHT
            )
            return structs.replace(made, created_at=entry.schedule.created_at)

        try:
            self._engine.schedules.change(schedule_name(command.key), change)
        except NotFound:
            raise _RaceLost from None

    def _request(self, command: TaskDefinition, now: int) -> ScheduleRequest:
        ensure_built_in(self._engine.definitions, LIGHT_JOB_TYPE, now)
        return request_of(settled(command, now), now)

    def find(self, query: DefinitionQuery) -> DefinitionPage:
        if query.key is not None:
            entry = self._entry(query.key)
            return DefinitionPage([] if entry is None else _definitions([entry], query))
        job_type = self._engine.definitions.known_job_type(LIGHT_JOB_TYPE)
        if job_type is None:
            return DefinitionPage([])
        page = self._engine.store.list_schedules(limit=query.limit, cursor=query.cursor, job_type=job_type.uuid)
        return DefinitionPage(_definitions(page.entries, query), page.cursor)

    def _entry(self, key: TaskKey) -> ScheduleEntry | None:
        name = schedule_name(key)
        uuid = self._engine.store.schedule_uuid(name)
        entry = None if uuid is None else self._engine.store.find_schedules([uuid])[0]
        if entry is not None and not _is_definition(entry):
            raise Conflict(f"there is a schedule {name!r} that is no task definition; give one of them another name")
        return entry


class _RaceLost(Exception):
    """What the command was to change is no longer as it was."""


def _is_definition(entry: ScheduleEntry) -> bool:
    return entry.schedule.managed_by == MANAGED_BY_LIGHT


def is_over(entry: ScheduleEntry) -> bool:
    """Whether a schedule will never fire again."""
    return entry.state.nominal is None and not entry.schedule.paused


def request_of(definition: TaskDefinition, now: int) -> ScheduleRequest:
    """The schedule that a settled definition asks for. Whatever is due is sent, also while earlier tasks still wait."""
    request = ScheduleRequest(
        job_type=LIGHT_JOB_TYPE,
        name=schedule_name(definition.key),
        job_arguments=msgspec.to_builtins(definition),
        overlap=Overlap.ALLOW,
    )
    every = definition.frequency
    if every is None:
        at = max(definition.start or 0, now + 1)  # everything up to now counts as decided
        return structs.replace(request, at=at, catch_up=CatchUpRequest(CatchUpMode.LAST, "none"))
    policy = catch_up_of(every.period_ms)
    catch_up = CatchUpRequest(policy.mode, "none" if policy.window_ms is None else policy.window_ms, policy.max_fires)
    frequency = Frequency(every.time_unit, every.time)
    return structs.replace(request, frequency=frequency, start=definition.start, catch_up=catch_up)


def schedule_name(key: TaskKey) -> str:
    """What the schedule of a definition is called: host and name if they are fit for it, else a hash of them."""
    readable = f"{key.host}/{key.name}"
    if "/" not in key.host and len(readable) <= _LONGEST and _READABLE.fullmatch(readable):
        return f"light/{readable}"
    digest = hashlib.sha256(msgspec.json.encode(key)).hexdigest()
    return f"light:{digest[:32]}"


def definition_of(entry: ScheduleEntry) -> TaskDefinition:
    """The settled definition that a schedule was made for."""
    return read_definition(entry.schedule.arguments)


def _definitions(entries: list[ScheduleEntry], query: DefinitionQuery) -> list[TaskDefinition]:
    found = (definition_of(entry) for entry in entries if _is_definition(entry) and not is_over(entry))
    return [one for one in found if query.matches(one)]


def _shown(key: TaskKey) -> str:
    return f"{key.host} {key.name}"
