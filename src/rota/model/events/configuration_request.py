"""What users write to define a configuration, in the API, in files and on the command line: read and checked here.

An error names the place by its path, such as `dependencies[1].lifeDuration`.
"""

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import TypeVar

from msgspec import Struct

from rota.errors import InvalidInput
from rota.model.events.configuration import (
    MAX_DEPENDENCIES,
    MAX_LIFE_S,
    MAX_NESTING,
    ClockKind,
    Dependency,
    Group,
    Late,
    Match,
    default_match,
    tree_of,
)
from rota.model.events.event import JOB, check_event_type, check_resource
from rota.model.job import FINAL_STATES, MAX_PRIORITY
from rota.model.limits import check_name, check_payload, check_range

_KEYS = ("name", "dependencies", "job", "clock", "late")
_JOB_KEYS = ("job_type", "arguments", "priority", "executor", "metadata")
_DEPENDENCY_KEYS = ("type", "resourceId", "lifeDuration", "match", "outcome")
_GROUP_KEYS = ("all_of", "any_of")
_ALIASES = {"resourceld": "resourceId", "resource_id": "resourceId", "life_duration": "lifeDuration"}
"""The first is how the event specification itself spells it in places."""
_WHOLE = re.compile(r"[0-9]{1,12}", re.ASCII)
_MAX_SHOWN = 60

Word = TypeVar("Word", bound=StrEnum)


class JobWish(Struct, frozen=True, kw_only=True):
    """Which job a configuration makes: one of a job type, or one of an executor that stands here."""

    job_type: str | None = None
    arguments: dict[str, object] = {}
    priority: int = 0
    executor: str | None = None
    metadata: dict[str, object] = {}


class ConfigurationRequest(Struct, frozen=True, kw_only=True):
    """A request for a configuration. Without a job it writes a line to the log."""

    name: str
    dependencies: tuple[Dependency, ...]
    rule: Group | None = None
    job: JobWish | None = None
    clock: ClockKind = ClockKind.EVENT
    late: Late = Late.IGNORE

    @property
    def tree(self) -> Group:
        return tree_of(self.dependencies, self.rule)


def read_configuration(raw: object, event_types: Collection[str] = ()) -> ConfigurationRequest:
    """A request from plain JSON values, or `InvalidInput` that names the place."""
    given = _mapping("", raw, _KEYS)
    for key in ("name", "dependencies"):
        if key not in given:
            raise InvalidInput(key, "is missing")
    reader = _Dependencies(event_types)
    tree = reader.read_list("dependencies", given["dependencies"], any_of=False, depth=1)
    is_flat = tree == tree_of(reader.found, None)
    return ConfigurationRequest(
        name=check_name("name", given["name"]),
        dependencies=tuple(reader.found),
        rule=None if is_flat else tree,
        job=None if given.get("job") is None else _job(given["job"]),
        clock=_word("clock", ClockKind, given.get("clock"), ClockKind.EVENT),
        late=_word("late", Late, given.get("late"), Late.IGNORE),
    )


class _Dependencies:
    """Reads the tree of dependencies; `found` has the leaves in the order in which they are given."""

    def __init__(self, event_types: Collection[str]) -> None:
        self._event_types = event_types
        self.found: list[Dependency] = []

    def read_list(self, path: str, raw: object, *, any_of: bool, depth: int) -> Group:
        if not isinstance(raw, list | tuple) or not raw:
            raise InvalidInput(path, f"must be a list of at least one dependency, got {_shown(raw)}")
        if depth > MAX_NESTING:
            raise InvalidInput(path, f"is nested deeper than {MAX_NESTING} levels")
        return Group(tuple(self._part(f"{path}[{n}]", one, depth) for n, one in enumerate(raw)), any_of)

    def _part(self, path: str, raw: object, depth: int) -> int | Group:
        if isinstance(raw, dict):
            for key in _GROUP_KEYS:
                if key in raw:
                    _mapping(path, raw, (key,))
                    return self.read_list(f"{path}.{key}", raw[key], any_of=key == "any_of", depth=depth + 1)
        if len(self.found) == MAX_DEPENDENCIES:
            raise InvalidInput("dependencies", f"are more than {MAX_DEPENDENCIES}")
        self.found.append(self._dependency(path, raw))
        return len(self.found) - 1

    def _dependency(self, path: str, raw: object) -> Dependency:
        given = _mapping(path, raw, _DEPENDENCY_KEYS)
        for key in ("type", "resourceId", "lifeDuration"):
            if key not in given:
                raise InvalidInput(f"{path}.{key}", "is missing")
        kind = check_event_type(f"{path}.type", given["type"], self._event_types)
        resource = check_resource(f"{path}.resourceId", given["resourceId"])
        match = _word(f"{path}.match", Match, given.get("match"), default_match(kind, resource))
        if kind == JOB and match is not Match.EXACT:
            raise InvalidInput(f"{path}.match", "must be exact for JOB: the resource is the name of a job type")
        return Dependency(
            type=kind,
            resource=resource,
            life_s=read_life(f"{path}.lifeDuration", given["lifeDuration"]),
            match=match,
            outcome=_outcome(f"{path}.outcome", kind, given.get("outcome")),
        )


def read_life(field: str, value: object) -> int:
    """Whole seconds, as a number or as digits."""
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        value = int(value)
    return check_range(field, value, 0, MAX_LIFE_S)


def _outcome(field: str, kind: str, value: object) -> str | None:
    if value is None:
        return None
    words = sorted(FINAL_STATES)
    if kind != JOB:
        raise InvalidInput(field, "is for dependencies of the type JOB only")
    if value not in words:
        raise InvalidInput(field, f"must be one of {', '.join(words)}, got {_shown(value)}")
    return str(value)


def _job(raw: object) -> JobWish:
    given = _mapping("job", raw, _JOB_KEYS)
    if ("job_type" in given) == ("executor" in given):
        raise InvalidInput("job", "must have a job_type, or an executor with its metadata")
    if "metadata" in given and "executor" not in given:
        raise InvalidInput("job.metadata", "belongs to an executor; a job type has its own")
    name = {key: check_name(f"job.{key}", given[key]) for key in ("job_type", "executor") if key in given}
    payloads = {key: _payload(f"job.{key}", given[key]) for key in ("arguments", "metadata") if key in given}
    priority = check_range("job.priority", given.get("priority", 0), -MAX_PRIORITY, MAX_PRIORITY)
    return JobWish(**name, **payloads, priority=priority)  # type: ignore[arg-type]


def _payload(field: str, value: object) -> dict[str, object]:
    check_payload(field, value)
    assert isinstance(value, dict)
    return value


def _mapping(path: str, raw: object, known: tuple[str, ...]) -> dict[str, object]:
    """The object at a path with its keys in their one spelling. A key without a value counts as absent."""
    if not isinstance(raw, Mapping):
        raise InvalidInput(path or "configuration", f"must be an object, got {_shown(raw)}")
    found: dict[str, object] = {}
    for key, value in raw.items():
        name = _ALIASES.get(key, key)
        if name not in known:
            near = get_close_matches(str(key), known, 1, 0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            raise InvalidInput(f"{path}.{key}" if path else str(key), f"is not a known key; {hint}")
        if name in found:
            raise InvalidInput(f"{path}.{key}" if path else str(key), f"stands there twice, also as {name!r}")
        if value is not None:
            found[name] = value
    return found


def _word(field: str, words: type[Word], value: object, default: Word) -> Word:
    if value is None:
        return default
    try:
        return words(str(value))
    except ValueError:
        raise InvalidInput(field, f"must be one of {', '.join(words)}, got {_shown(value)}") from None


def _shown(value: object) -> str:
    return repr(value)[:_MAX_SHOWN]
