"""Bounds on what comes from outside, and the checks that name the field which breaks one."""

import math
import re
from itertools import chain
from unicodedata import category

import msgspec

from rota.errors import InvalidInput

MAX_PAYLOAD_BYTES = 256 * 1024
MAX_RESULT_BYTES = 1024 * 1024
MAX_DEPTH = 64
MAX_LOG_MESSAGE_BYTES = 16 * 1024
MAX_LOG_ATTEMPT_BYTES = 10 * 1024 * 1024

MAX_NAME_LENGTH = 128
_FEW_BYTES = 2 * 1024
"""As JSON: so much is soonest looked at value by value."""
_LEAST_WHOLE, _MOST_WHOLE = -(1 << 63), (1 << 64) - 1
_HOLDERS = frozenset({dict, list})
_PLAIN = frozenset({*_HOLDERS, str, type(None), bool, int, float})
_NO_BEGINNING = (" ", "-", ".", "/")
"""A name that began so would look like an option, a hidden file or a path."""
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters, marks and symbols that are drawn as nothing: fillers, blanks, and choices between the forms of others. Two
names that differ by one look the same. A mark at the beginning has nothing to be drawn upon."""


def check_name(field: str, name: object) -> str:
    """What people call a thing, in any language. It is shown in tables and typed in commands, so it is one line of
    characters that can be seen."""
    if not isinstance(name, str) or not is_name(name):
        raise InvalidInput(
            field,
            f"{name!r:.200} is not a name: 1 to {MAX_NAME_LENGTH} visible characters on one line, with spaces between "
            "them, the first not one of - . /",
        )
    return name


def is_name(text: str) -> bool:
    """Whether a thing may be called so."""
    if not 1 <= len(text) <= MAX_NAME_LENGTH or text.startswith(_NO_BEGINNING) or text.endswith(" "):
        return False
    # Letters, marks, numbers, punctuation, symbols and the plain space: nothing invisible, nothing that breaks a line.
    return text.isprintable() and not _INVISIBLE.search(text) and not category(text[0]).startswith("M")


def check_range(field: str, value: object, low: int, high: int) -> int:
    """A whole number within bounds; `True` is not a number here."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput(field, f"must be a whole number, got {value!r:.100}")
    if not low <= value <= high:
        raise InvalidInput(field, f"must be from {low} to {high}, got {_shown(value)}")
    return value


def check_payload(field: str, value: object, limit: int = MAX_PAYLOAD_BYTES) -> bytes:
    """A JSON object that every store and reader can carry; returns it encoded."""
    if not isinstance(value, dict):
        raise InvalidInput(field, f"must be an object, got {_kind(value)}")
    return encode_json(field, value, limit)


def encode_json(field: str, value: object, limit: int) -> bytes:
    """Any JSON value, encoded; refuses NaN, lone surrogates, other types, depth and size over the limits."""
    encoded = _encoded(value)
    # The size comes first: looking at each of many values takes long.
    if encoded is not None and len(encoded) > limit:
        raise InvalidInput(field, f"is {len(encoded)} bytes as JSON, the limit is {limit}")
    if encoded is None or len(encoded) <= _FEW_BYTES or not _is_plain(field, value):
        _check_value(field, value, 1)
    return encoded if encoded is not None else _encode_or_tell(field, value)


def _is_plain(field: str, value: object) -> bool:
    """Whether a value that could be encoded holds nothing but what JSON has; refuses one that is too deep. Goes from
    level to level and takes all values of one at once: a step for each of 100,000 would hold the loop for 0.1 s."""
    level = [value]
    for _ in range(MAX_DEPTH):
        if not _are_plain(level):
            return False
        objects = [one for one in level if type(one) is dict]
        if not set(map(type, chain.from_iterable(objects))) <= {str}:
            return False
        lists = [one for one in level if type(one) is list]
        if not objects and not lists:
            return True
        level = [*chain.from_iterable(map(dict.values, objects)), *chain.from_iterable(lists)]
    if not _HOLDERS.isdisjoint(map(type, level)):
        raise InvalidInput(field, f"is nested deeper than {MAX_DEPTH} levels")
    return _are_plain(level)


def _are_plain(level: list[object]) -> bool:
    kinds = set(map(type, level))
    if not kinds <= _PLAIN:
        return False
    whole = [one for one in level if type(one) is int] if int in kinds else [0]
    if min(whole) < _LEAST_WHOLE or max(whole) > _MOST_WHOLE:
        return False
    return float not in kinds or all(map(math.isfinite, [one for one in level if type(one) is float]))


def _encoded(value: object) -> bytes | None:
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None


def _encode_or_tell(field: str, value: object) -> bytes:
    """What could not be encoded cannot be now, and this says why."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        raise InvalidInput(field, "holds a lone surrogate, which is not valid Unicode text") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(field, f"cannot be written as JSON: {error}") from None


def _check_value(path: str, value: object, depth: int) -> None:
    if isinstance(value, str) or value is None or isinstance(value, bool):
        return
    if depth > MAX_DEPTH and isinstance(value, dict | list | tuple):
        raise InvalidInput(path.split(".")[0].split("[")[0], f"is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InvalidInput(path, f"has the key {key!r}; keys must be strings")
            _check_value(f"{path}.{key}", item, depth + 1)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _check_value(f"{path}[{index}]", item, depth + 1)
    else:
        _check_number(path, value)


def _check_number(path: str, value: object) -> None:
    if isinstance(value, int):
        if not _LEAST_WHOLE <= value <= _MOST_WHOLE:
            raise InvalidInput(path, f"is {_shown(value)}, which does not fit into 64 bits; send it as a string")
    elif not isinstance(value, float):
        raise InvalidInput(path, f"is of the type {type(value).__name__}, which JSON does not have")
    elif not math.isfinite(value):
        raise InvalidInput(path, f"is {value}, which JSON cannot carry")


def _shown(number: int) -> str:
    """Python refuses to print numbers of thousands of digits; nobody would read them either."""
    return str(number) if number.bit_length() <= 256 else f"a number of {number.bit_length()} bits"


def _kind(value: object) -> str:
    names = {
        type(None): "null",
        list: "an array",
        str: "a string",
        bool: "a boolean",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), type(value).__name__)
