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
from rota.model.ids import check_id

_AT = re.compile(r"^(?P<what>.*?)(?: - at `(?:key in )?\$?\.?(?P<where>.*?)`)?$", re.DOTALL)
_FIELD = re.compile(r"^Object (?P<fault>missing required|contains unknown) field `(?P<name>.*)`$", re.DOTALL)
_FAULTS = {"missing required": "is missing", "contains unknown": "is not known here"}


def decode_body(raw: bytes, kind: Any) -> Any:
    """The JSON body as a `kind`."""
    try:
        return _decoder(kind).decode(raw)
    except msgspec.ValidationError as error:
        loose = msgspec.json.decode(raw)
        whole = _with_whole_numbers(loose, _type_of(kind))
        if whole == loose and not _has_float(raw):
            raise _translated(error, "body") from None
        return _convert(whole, kind, "body", strict=True)
    except msgspec.DecodeError as error:
        raise InvalidInput("body", f"is no valid JSON: {error}") from None
    except RecursionError:
        raise InvalidInput("body", "is nested too deeply") from None


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
        else:
            values[name] = value
    return _convert(values, kind, "query", strict=False)


def decode_path(parameters: dict[str, Any]) -> dict[str, str]:
    """Path parameters, ids among them checked."""
    return {
        name: check_id(name, value) if name == "uuid" or name.endswith("_uuid") else value
        for name, value in parameters.items()
    }


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
    fields = inspect.type_info(kind)
    assert isinstance(fields, inspect.StructType)
    return frozenset(field.encode_name for field in fields.fields if isinstance(field.type, inspect.ListType))


def _has_float(raw: bytes) -> bool:
    """Whether there may be a number like 328.0; equality alone cannot tell it from 328."""
    return any(mark in raw for mark in (b".", b"e", b"E"))


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
