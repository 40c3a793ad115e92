"""From what a client sent to typed values, or to an error that names the field and says why.

Decoding is strict, with one exception: where a whole number is wanted, `328.0` is one, as JSON Schema has it.
"""

import re
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from msgspec import inspect

from rota.errors import InvalidInput
from rota.model.ids import check_id, reference
from rota.server.gate.path_slashes import SLASH
from rota.shapes.fields import UPPER_BOUNDS

_AT = re.compile(r"^(?P<what>.*?)(?: - at `(?:key in )?\$?\.?(?P<where>.*?)`)?$", re.DOTALL)
_FIELD = re.compile(r"^Object (?P<fault>missing required|contains unknown) field `(?P<name>.*)`$", re.DOTALL)
_UPPER_BOUND = re.compile(r"^Expected `int` <= (\d+)$")
_FAULTS = {"missing required": "is missing", "contains unknown": "is not known here"}
REFERENCES = frozenset({"job_type", "node_type", "queue", "schedule", "name"})
"""Path parameters that are a uuid or a name."""
_BY_PATTERN = "matching regex"
"""How msgspec begins to quote a pattern; ids are the only values that have one."""


def decode_body(raw: bytes | bytearray, kind: Any) -> Any:
    """The JSON body as a `kind`."""
    try:
        return _decoder(kind).decode(raw)
    except msgspec.ValidationError:
        # Rare, so it may cost a second look: with whole numbers made whole it may be right after all.
        return _convert(_with_whole_numbers(_loosely(raw), _type_of(kind)), kind, "body", strict=True)
    except msgspec.DecodeError as error:
        raise InvalidInput("body", f"is no valid JSON: {error}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput("body", f"is not valid UTF-8: {error.reason}") from None
    except RecursionError:
        raise InvalidInput("body", "is nested too deeply") from None


def _loosely(raw: bytes | bytearray) -> Any:
    """Any JSON; a fault in what follows a value of a wrong type shows here."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput("body", f"is no valid JSON: {error}") from None


def decode_query(raw: bytes, kind: Any) -> Any:
    """The query string as a `kind`. Only lists may be given more than once."""
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict")
    except (UnicodeDecodeError, ValueError):
        raise InvalidInput("query", "is not valid UTF-8, percent-encoded") from None
    lists = _list_fields(kind)
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in lists:
            values.setdefault(name, []).append(value)
        elif name in values:
            raise InvalidInput(name, "is given twice")
        elif value.lower() == "null" and name not in _text_fields(kind):
            raise InvalidInput(name, "is null; leave it out instead")
        else:
            values[name] = value
    return _convert(values, kind, "query", strict=False)


def decode_path(parameters: dict[str, Any]) -> dict[str, str]:
    """Path parameters: ids checked, and names as people wrote them. What can be read as an id is one."""
    return {name: _path_value(name, value.replace(SLASH, "/")) for name, value in parameters.items()}


def _path_value(name: str, value: str) -> str:
    if name == "uuid":
        return check_id(name, value)
    return reference(value) if name in REFERENCES else value


def _convert(values: Any, kind: Any, whole: str, *, strict: bool) -> Any:
    try:
        return msgspec.convert(values, kind, strict=strict)
    except msgspec.ValidationError as error:
        raise _translated(error, whole) from None


def _translated(error: msgspec.ValidationError, whole: str) -> InvalidInput:
    """msgspec's words as ours: `priority: expected int, got str`."""
    found = _AT.match(str(error))
    what, where = (found["what"], found["where"] or "") if found else (str(error), "")
    field = _FIELD.match(what)
    if field:
        name = f"{where}.{field['name']}" if where else field["name"]
        return InvalidInput(name, _FAULTS[field["fault"]])
    if _BY_PATTERN in what:
        return InvalidInput(where or whole, "is not a UUID, such as 01890a5d-ac96-774b-bcce-b302099a8057")
    bound = _UPPER_BOUND.match(what)
    if bound and int(bound[1]) in UPPER_BOUNDS:
        return InvalidInput(where or whole, f"must not be more than {UPPER_BOUNDS[int(bound[1])]}")
    reason = what.replace("`", "")
    return InvalidInput(where or whole, reason[:1].lower() + reason[1:])


@lru_cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


@lru_cache
def _type_of(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


@lru_cache
def _list_fields(kind: Any) -> frozenset[str]:
    return _fields_with(kind, inspect.ListType)


@lru_cache
def _text_fields(kind: Any) -> frozenset[str]:
    return _fields_with(kind, inspect.StrType)


def _fields_with(kind: Any, wanted: type[inspect.Type]) -> frozenset[str]:
    """Names of a struct's fields that may hold a value of this type."""
    found = inspect.type_info(kind)
    assert isinstance(found, inspect.StructType)
    return frozenset(field.encode_name for field in found.fields if _may_be(field.type, wanted))


def _may_be(kind: inspect.Type, wanted: type[inspect.Type]) -> bool:
    if isinstance(kind, inspect.Metadata):
        return _may_be(kind.type, wanted)
    if isinstance(kind, inspect.UnionType):
        return any(_may_be(one, wanted) for one in kind.types)
    return isinstance(kind, wanted)


def _with_whole_numbers(value: Any, kind: inspect.Type) -> Any:
    """The same value, with floats like 328.0 as whole numbers where the type wants one."""
    if isinstance(kind, inspect.Metadata):
        return _with_whole_numbers(value, kind.type)
    if isinstance(kind, inspect.UnionType):
        for one in kind.types:
            value = _with_whole_numbers(value, one)
        return value
    if isinstance(kind, inspect.IntType) and isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(kind, inspect.ListType) and isinstance(value, list):
        return [_with_whole_numbers(item, kind.item_type) for item in value]
    if isinstance(kind, inspect.StructType) and isinstance(value, dict):
        types = {field.encode_name: field.type for field in kind.fields}
        return {key: _with_whole_numbers(item, types[key]) if key in types else item for key, item in value.items()}
    return value


def check_path_uuid(given: str, uuid: str) -> None:
    """A body that names a uuid names that of its path."""
    if given.lower() != uuid:
        raise InvalidInput("uuid", f"is {given}, but the path says {uuid}; a uuid never changes")
