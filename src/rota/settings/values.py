"""Checks of single values. Each is a function that returns the value in its final form or raises `InvalidInput`.

A check is told how the user would name the value (`--port`, `ROTA_PORT`, `rota.yaml:3: server.port`), so that the
error points there. Values from the environment are text and are read as what the setting is before they are checked.
"""

import ipaddress
import math
import re
from collections.abc import Callable, Iterable

from rota.errors import InvalidInput
from rota.model.events.event import check_type_name
from rota.model.limits import check_name, check_range
from rota.model.triggers.durations import read_duration

Check = Callable[[str, object], object]

_HOST_NAME = re.compile(r"\*|(?:\*\.)?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?|\[?[0-9A-Fa-f:]+\]?")
_BROKER = re.compile(r"(?:[A-Z_]+://)?(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:]+\]):[0-9]{1,5}")
_FLAG_WORDS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def text(where: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInput(where, f"must be text, got {value!r}")
    if not value.strip():
        raise InvalidInput(where, "must not be empty")
    return value


MAX_OWNER = 128


def short_text(where: str, value: object) -> str:
    found = text(where, value).strip()
    if len(found) > MAX_OWNER:
        raise InvalidInput(where, f"must have at most {MAX_OWNER} characters, got {len(found)}")
    return found


def secret(where: str, value: object) -> str:
    """Text whose value no message repeats."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(where, "must be text and not empty; put quotes around digits")
    return value


def host(where: str, value: object) -> str:
    found = text(where, value)
    if any(character.isspace() or character in "/@" for character in found):
        raise InvalidInput(where, f"{found!r} is not a host name or address")
    return found


def url(where: str, value: object) -> str:
    found = text(where, value)
    if "://" not in found:
        raise InvalidInput(where, "is not a URL; write it like sqlite:///rota.db or redis://127.0.0.1:6379/0")
    return found


def flag(where: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(where, f"must be true or false, got {value!r}")
    return value


def whole(low: int, high: int) -> Check:
    """A whole number within bounds."""
    return lambda where, value: check_range(where, value, low, high)


def duration(low_ms: int, high_ms: int) -> Check:
    """A duration such as `90s`, or a number of milliseconds, within bounds."""
    return lambda where, value: read_duration(where, value, low_ms, high_ms)


def number(low: float, high: float) -> Check:
    """A number within bounds, whole or not."""

    def check(where: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise InvalidInput(where, f"must be a number, got {value!r}")
        if not low <= value <= high:
            raise InvalidInput(where, f"must be from {low:g} to {high:g}, got {value:g}")
        return float(value)

    return check


def one_of(words: Iterable[str]) -> Callable[[str, object], str]:
    """One of some words, in any case; the final form is the listed one."""
    by_lower = {word.lower(): word for word in words}

    def check(where: str, value: object) -> str:
        found = by_lower.get(value.lower()) if isinstance(value, str) else None
        if found is None:
            raise InvalidInput(where, f"must be one of {', '.join(by_lower.values())}, got {value!r}")
        return found

    return check


def some_of(words: tuple[str, ...]) -> Check:
    """A list of such words, at least one; the final form has each once, in the listed order."""
    check_word = one_of(words)

    def check(where: str, value: object) -> tuple[str, ...]:
        if not isinstance(value, (list, tuple)) or not value:
            raise InvalidInput(where, f"must be a list of {', '.join(words)}, got {value!r}")
        chosen = {check_word(where, word) for word in value}
        return tuple(word for word in words if word in chosen)

    return check


def texts(where: str, value: object) -> tuple[str, ...]:
    """A list of texts."""
    if not isinstance(value, list | tuple):
        raise InvalidInput(where, f"must be a list, got {value!r}")
    return tuple(text(where, one) for one in value)


def host_names(where: str, value: object) -> tuple[str, ...]:
    """A list of names without ports; `*` is any, and `*.example.com` any below that."""
    found = texts(where, value)
    for one in found:
        if not _HOST_NAME.fullmatch(one):
            raise InvalidInput(where, f"{one!r} is not a host name; write it like rota.example.com, without a port")
    return found


def brokers(where: str, value: object) -> tuple[str, ...]:
    """A list of addresses with ports."""
    found = texts(where, value)
    for one in found:
        if not _BROKER.fullmatch(one):
            raise InvalidInput(where, f"{one!r} is no broker; write it like kafka.example.com:9092")
    return found


def options(where: str, value: object) -> tuple[str, ...]:
    """A list of `name=value`; no message repeats one, because some are secrets."""
    found = texts(where, value)
    if not all(one.partition("=")[0].strip() and "=" in one for one in found):
        raise InvalidInput(where, "must be a list of texts, each like security.protocol=SASL_SSL")
    return found


def networks(where: str, value: object) -> tuple[str, ...]:
    """A list of addresses and networks."""
    found = texts(where, value)
    for one in found:
        try:
            ipaddress.ip_network(one, strict=False)
        except ValueError:
            raise InvalidInput(where, f"{one!r} is no address or network; write it like 10.0.0.0/8") from None
    return found


def event_types(where: str, value: object) -> tuple[str, ...]:
    """Names of event types beyond those that every installation knows."""
    if not isinstance(value, (list, tuple)):
        raise InvalidInput(where, f"must be a list of event types, got {value!r}")
    return tuple(dict.fromkeys(check_type_name(where, one) for one in value))


def mapping(where: str, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise InvalidInput(where, f"must be a mapping of keys to values, got {value!r}")
    return value


def listing(where: str, value: object) -> list[object]:
    if not isinstance(value, list):
        raise InvalidInput(where, f"must be a list, got {value!r}")
    return value


name: Check = check_name


def read_text(where: str, found: str) -> object:
    return found


def read_flag(where: str, found: str) -> object:
    if found.lower() not in _FLAG_WORDS:
        raise InvalidInput(where, f"must be true or false, got {found!r}")
    return _FLAG_WORDS[found.lower()]


def read_whole(where: str, found: str) -> object:
    return _read_number(where, found, int)


def read_number(where: str, found: str) -> object:
    return _read_number(where, found, float)


def read_words(where: str, found: str) -> object:
    return [word.strip() for word in found.split(",") if word.strip()]


def _read_number(where: str, found: str, kind: Callable[[str], int | float]) -> int | float:
    try:
        return kind(found)
    except ValueError:
        raise InvalidInput(where, f"must be a number, got {found!r}") from None
