"""Templates of job types: `{{ arguments.name }}` stands for a value of the job. Dotted paths only, never code.

Filling in is bounded: a short template can repeat a long value thousands of times.
"""

import re
from collections.abc import Callable, Mapping

import msgspec

from rota.engine.executors.executor import Run
from rota.engine.executors.metadata import check_text
from rota.errors import InvalidInput
from rota.model.limits import encode_json

_PLACE = re.compile(r"\{\{ *([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*) *\}\}")
_OPEN = "{{"
_ROOTS = ("arguments", "job")

Values = Mapping[str, object]
Show = Callable[[str, object], str]
"""From a path and its value to the text that takes the place."""


def template_values(run: Run) -> Values:
    """What templates may name: the job's arguments, and `job.id`, `job.attempt` and `job.type`."""
    job = {"id": run.spec.id, "attempt": run.attempt, "type": run.job_type.name}
    return {"arguments": run.spec.arguments, "job": job}


def refuse_unused(metadata: dict[str, object], arguments: dict[str, object]) -> None:
    """An argument that no placeholder names would be dropped in silence."""
    paths = [path.split(".") for path in _PLACE.findall(msgspec.json.encode(metadata).decode())]
    if ["arguments"] in paths:
        return
    used = {path[1] for path in paths if path[0] == "arguments"}
    for name in arguments:
        if name not in used:
            raise InvalidInput(f"arguments.{name}", "reaches nothing: no placeholder of the job type names it")


class Budget:
    """How many bytes filling in one field may still produce."""

    __slots__ = ("_field", "_left", "_limit")

    def __init__(self, field: str, limit: int) -> None:
        self._field = field
        self._limit = self._left = limit

    def take(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise InvalidInput(self._field, f"is more than {self._limit} bytes when its placeholders are filled in")

    @property
    def limit(self) -> int:
        return self._limit


class Template:
    """A text with placeholders."""

    __slots__ = ("_field", "_parts")

    def __init__(self, field: str, text: object) -> None:
        self._field = field
        self._parts = _PLACE.split(check_text(field, text))
        for literal in self._parts[::2]:
            if _OPEN in literal:
                raise InvalidInput(field, "has a {{ that opens no placeholder such as {{ arguments.name }}")
        for path in self._parts[1::2]:
            if path.split(".")[0] not in _ROOTS:
                raise InvalidInput(field, f"has the placeholder {path!r}; placeholders begin with arguments or job")

    @property
    def has_places(self) -> bool:
        return len(self._parts) > 1

    @property
    def only_place(self) -> str | None:
        """The path, if the text is exactly one placeholder."""
        return self._parts[1] if len(self._parts) == 3 and not self._parts[0] and not self._parts[2] else None

    @property
    def start(self) -> str:
        """The text before the first placeholder."""
        return self._parts[0]

    def fill(self, values: Values, budget: Budget, show: Show) -> str:
        """The text with each value as `show` writes it; `InvalidInput` names a value that is missing or unfit."""
        filled = []
        for index, part in enumerate(self._parts):
            text = show(part, find_value(values, part, self._field)) if index % 2 else part
            budget.take(len(text) if text.isascii() else len(text.encode()))
            filled.append(text)
        return "".join(filled)


def find_value(values: Values, path: str, field: str) -> object:
    """The value at a dotted path; a number is an index into an array."""
    value: object = values
    for name in path.split("."):
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and len(name) < 9 and int(name) < len(value):
            value = value[int(name)]
        else:
            raise InvalidInput(path, f"is missing, but {field} needs it")
    return value


def as_text(path: str, value: object) -> str:
    """A single value within a text: strings as they are, numbers, true and false as in JSON, nothing else."""
    if isinstance(value, str):
        return check_text(path, value)
    if isinstance(value, bool | int | float):
        return encode_json(path, value, 64).decode()
    raise InvalidInput(path, "must be a string, a number, true or false to stand within a text")


class JsonTemplate:
    """A JSON value whose strings may be templates. A string that is exactly one placeholder becomes the value itself,
    of whatever type; so no argument can break out of its place."""

    __slots__ = ("_field", "_value")

    def __init__(self, field: str, value: object) -> None:
        self._field = field
        self._value = _parsed(field, value)

    def fill(self, values: Values, budget: Budget) -> bytes:
        encoded = msgspec.json.encode(self._filled(self._value, values, budget))
        if len(encoded) > budget.limit:
            budget.take(len(encoded))
        return encoded

    def _filled(self, value: object, values: Values, budget: Budget) -> object:
        if isinstance(value, Template):
            if path := value.only_place:
                encoded = encode_json(path, find_value(values, path, self._field), budget.limit)
                budget.take(len(encoded))
                return msgspec.Raw(encoded)
            return value.fill(values, budget, as_text)
        if isinstance(value, dict):
            return {key: self._filled(item, values, budget) for key, item in value.items()}
        if isinstance(value, list):
            return [self._filled(item, values, budget) for item in value]
        return value


def _parsed(field: str, value: object) -> object:
    if isinstance(value, str):
        template = Template(field, value)
        return template if template.has_places else value
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str) or _OPEN in key:
                raise InvalidInput(field, f"has the key {key!r}; keys must be strings without placeholders")
        return {key: _parsed(f"{field}.{key}", item) for key, item in value.items()}
    if isinstance(value, list):
        return [_parsed(f"{field}[{index}]", item) for index, item in enumerate(value)]
    return value
