"""A configuration file as plain values, with the line of every key, so that an error can point at it.

YAML is read strictly: with the booleans, numbers and null of YAML 1.2, so that `on` and `12:30` are text and `012` is
twelve; keys are text and stand once. This module is imported only when there is a file, because PyYAML takes time to
load.
"""

import re
import tomllib
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path

import yaml

from rota.errors import InvalidInput

_TAG = "tag:yaml.org,2002:"
_SCALARS = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    "float": (
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
}


LineOf = Callable[[object, str | int], int | None]
"""From a container and a key or index in it to the line where that stands, if it is known."""


class Document:
    """The mapping in a file, and how to name a place in it."""

    def __init__(self, name: str, content: dict[str, object], line_of: LineOf) -> None:
        self.name = name
        self.content = content
        self._line_of = line_of

    def place(self, container: object, key: str | int) -> str:
        """File and line of a key."""
        line = self._line_of(container, key)
        return f"{self.name}:{line}" if line else self.name

    def where(self, container: object, key: str | int, path: str) -> str:
        """File, line and full name of a key, for an error."""
        return f"{self.place(container, key)}: {path}"

    def refuse_unknown(self, container: dict[str, object], known: list[str], path: str = "") -> None:
        """Every key must be a known one."""
        for key in container:
            if key not in known:
                raise InvalidInput(
                    self.where(container, key, f"{path}{key}"), f"is not a known key; {_hint(key, known)}"
                )


def _hint(key: str, known: list[str]) -> str:
    nearest = get_close_matches(key, known, n=1, cutoff=0.5)
    return f"did you mean {nearest[0]!r}?" if nearest else f"known are {', '.join(known)}"


def read_document(path: Path, name: str) -> Document:
    """Read `rota.yaml`, or the table `[tool.rota]` of a TOML file. `name` is what errors call the file."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InvalidInput(name, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(name, f"is not UTF-8 text: byte {error.start} is wrong") from None
    return _read_toml(text, name) if path.suffix == ".toml" else _read_yaml(text, name)


def _read_yaml(text: str, name: str) -> Document:
    try:
        return _YamlReader(text, name).read()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InvalidInput(f"{name}:{line}", f"is not valid YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise InvalidInput(name, f"is not valid YAML: {error}") from None
    except RecursionError:
        raise InvalidInput(name, "is nested too deeply") from None


_MAX_VALUES = 1_000_000


class _StrictLoader(yaml.CSafeLoader):
    """PyYAML's fast loader with the scalars of YAML 1.2."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012


for _kind, (_pattern, _starts) in _SCALARS.items():
    _StrictLoader.add_implicit_resolver(f"{_TAG}{_kind}", re.compile(f"(?:{_pattern})$"), _starts)


class _YamlReader:
    """Turns YAML nodes into plain values. A node that is used twice by alias becomes one shared value."""

    def __init__(self, text: str, name: str) -> None:
        self._loader = _StrictLoader(text)
        self._name = name
        self._values: dict[yaml.Node, object] = {}
        self._sizes: dict[yaml.Node, int] = {}
        self._open: set[yaml.Node] = set()
        self._lines: dict[tuple[int, str | int], int] = {}

    def read(self) -> Document:
        try:
            node = self._loader.get_single_node()
            content = self._value(node) if node else None
        finally:
            self._loader.dispose()
        if content is None:
            content = {}
        if not isinstance(content, dict):
            raise InvalidInput(self._name, "must be a mapping of keys to values")
        return Document(self._name, content, lambda container, key: self._lines.get((id(container), key)))

    def _value(self, node: yaml.Node) -> object:
        if node in self._open:
            raise self._refusal(node, "a value cannot contain itself")
        if node not in self._values:
            self._open.add(node)
            self._values[node] = self._made(node)
            self._open.discard(node)
            self._sizes[node] = self._size(node)
        return self._values[node]

    def _size(self, node: yaml.Node) -> int:
        """How many values it is, each counted as often as an alias repeats it: ten lines can mean a billion."""
        parts = node.value if isinstance(node, yaml.SequenceNode) else []
        if isinstance(node, yaml.MappingNode):
            parts = [value for _, value in node.value]
        size = 1 + sum(self._sizes[part] for part in parts)
        if size > _MAX_VALUES:
            raise self._refusal(node, f"is more than {_MAX_VALUES:,} values, as its aliases repeat them")
        return size

    def _made(self, node: yaml.Node) -> object:
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
            return self._mapping(node)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            return self._sequence(node)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        raise self._refusal(node, f"the tag {node.tag} is not supported")

    def _mapping(self, node: yaml.MappingNode) -> dict[str, object]:
        found: dict[str, object] = {}
        for key_node, value_node in node.value:
            key = self._value(key_node)
            if not isinstance(key, str):
                raise self._refusal(key_node, f"the key {key!r} must be text; put quotes around it")
            if key in found:
                first = self._lines[id(found), key]
                raise self._refusal(key_node, f"the key {key!r} stands twice, first on line {first}")
            self._lines[id(found), key] = _line(key_node)
            found[key] = self._value(value_node)
        return found

    def _sequence(self, node: yaml.SequenceNode) -> list[object]:
        found: list[object] = []
        for index, item in enumerate(node.value):
            self._lines[id(found), index] = _line(item)
            found.append(self._value(item))
        return found

    def _scalar(self, node: yaml.ScalarNode) -> object:
        match node.tag.removeprefix(_TAG):
            case "str":
                return node.value
            case "null":
                return None
            case "bool":
                return node.value.lower() == "true"
            case "int" | "float" as kind:
                return self._number(node, kind)
        raise self._refusal(node, f"the tag {node.tag} is not supported")

    def _number(self, node: yaml.ScalarNode, kind: str) -> int | float:
        try:
            return _integer(node.value) if kind == "int" else _fraction(node.value)
        except ValueError:
            raise self._refusal(node, f"{node.value[:40]!r} is not a number that can be read") from None

    def _refusal(self, node: yaml.Node, reason: str) -> InvalidInput:
        return InvalidInput(f"{self._name}:{_line(node)}", reason)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _integer(text: str) -> int:
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    return int(text, base)


def _fraction(text: str) -> float:
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


def _read_toml(text: str, name: str) -> Document:
    try:
        content: object = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(name, f"is not valid TOML: {error}") from None
    for key in ("tool", "rota"):
        content = content.get(key, {}) if isinstance(content, dict) else None
    if not isinstance(content, dict):
        raise InvalidInput(name, "[tool.rota] must be a table")
    return Document(name, content, lambda _, key: _only_line(text, key))


def _only_line(text: str, key: str | int) -> int | None:
    """The line where a key stands, if it stands on one line only: Python's reader of TOML tells no lines."""
    key_here = re.compile(rf'[^#"\']*\b{re.escape(str(key))}\b["\'\s]*[=.\]]')
    found = [number for number, line in enumerate(text.splitlines(), start=1) if key_here.match(line)]
    return found[0] if len(found) == 1 else None
