"""The native JSON of configurations: the keys of the event specification, and ours beside them."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET, Struct, structs

from rota.model.events.configuration import ClockKind, Configuration, Dependency, Group, Late, first_state
from rota.model.events.configuration_request import ConfigurationRequest, read_configuration
from rota.model.events.event import ANY_TYPE
from rota.shapes.events.events import dependency_shape, time_of, time_shape
from rota.store.contract.events import ConfigurationEntry

Part = dict[str, object]
"""A dependency or a group, as they nest."""


class JobWishShape(Struct, frozen=True):
    job_type: str
    arguments: dict[str, object]
    priority: int


class ConfigurationShape(Struct, frozen=True, kw_only=True):
    """A configuration and how far it has come."""

    uuid: str
    name: str
    dependencies: list[Part]
    job: JobWishShape | None
    """Absent: it writes a line to the log."""
    clock: ClockKind
    late: Late
    managed_by: str | None
    created_at: int
    version: int
    last_execution: str | None
    last_execution_at: int | None
    evaluated: int
    triggered: int


def configuration_shape(entry: ConfigurationEntry, job_type_names: Mapping[str, str]) -> ConfigurationShape:
    one, state = entry.configuration, entry.state
    name = job_type_names.get(one.job_type, one.job_type)
    return ConfigurationShape(
        uuid=one.uuid,
        name=one.name,
        dependencies=_parts(one.dependencies, one.tree),
        job=None if one.logs_only else JobWishShape(name, one.arguments, one.priority),
        clock=one.clock,
        late=one.late,
        managed_by=one.managed_by or None,
        created_at=one.created_at,
        version=state.version,
        last_execution=time_shape(state.last_execution),
        last_execution_at=state.last_execution_wall,
        evaluated=state.evaluated,
        triggered=state.triggered,
    )


def configuration_body(one: ConfigurationRequest) -> dict[str, Any]:
    """A request, as the API takes it."""
    job = {name: value for name, value in structs.asdict(one.job).items() if value} if one.job else None
    parts = _parts(one.dependencies, one.tree)
    return {"name": one.name, "dependencies": parts, "job": job, "clock": one.clock, "late": one.late}


def configuration_entry_of(shape: ConfigurationShape) -> ConfigurationEntry:
    """Without what is not told: where its jobs go, the uuid of their job type, and the evidence."""
    job = structs.asdict(shape.job) if shape.job else None
    raw = {"name": shape.name, "dependencies": shape.dependencies, "job": job}
    request = read_configuration(raw, (ANY_TYPE,))
    found = Configuration(
        uuid=shape.uuid,
        name=shape.name,
        queue="",
        job_type=shape.job.job_type if shape.job else "",
        dependencies=request.dependencies,
        rule=request.rule,
        arguments=shape.job.arguments if shape.job else {},
        priority=shape.job.priority if shape.job else 0,
        clock=shape.clock,
        late=shape.late,
        logs_only=shape.job is None,
        created_at=shape.created_at,
        managed_by=shape.managed_by or "",
    )
    state = structs.replace(
        first_state(found, shape.version),
        last_execution=time_of(shape.last_execution),
        last_execution_wall=shape.last_execution_at,
        evaluated=shape.evaluated,
        triggered=shape.triggered,
    )
    return ConfigurationEntry(found, state)


def _parts(dependencies: tuple[Dependency, ...], group: Group) -> list[Part]:
    return [
        _dependency_part(dependencies[part])
        if isinstance(part, int)
        else {"any_of" if part.any_of else "all_of": _parts(dependencies, part)}
        for part in group.parts
    ]


def _dependency_part(one: Dependency) -> Part:
    shape = dependency_shape(one)
    part: Part = {"type": one.type, "resourceId": one.resource, "lifeDuration": one.life_s}
    more = {"match": shape.match, "outcome": shape.outcome}
    return part | {key: value for key, value in more.items() if value is not UNSET}


def count_of_parts(parts: Sequence[Part]) -> int:
    """How many dependencies there are in all, in groups too."""
    groups = [one[key] for one in parts for key in ("all_of", "any_of") if key in one]
    return len(parts) - len(groups) + sum(count_of_parts(group) for group in groups if isinstance(group, list))
