"""The environment's part of the settings: ROTA_<FIELD>, and Synchrony's names.

ROTA_* beats Synchrony's names. A variable that is empty counts as absent.
"""

from collections.abc import Iterator, Mapping

from rota.errors import InvalidInput
from rota.settings import values
from rota.settings.fields import FIELDS
from rota.settings.settings import Settings

Found = tuple[str, object, str]
"""Field, value and the variable that said so."""

_SYNCHRONY_NAMES = {"NODE_TYPE": "node_type", "HTTP_API_KEY": "api_key", "HTTP_SERVER_ENABLED": "server_enabled"}
_REDIS_NAMES = ("REDIS_HOST", "REDIS_PORT", "REDIS_DATABASE")


def read_environment(environ: Mapping[str, str], *, file_store: object) -> Iterator[Found]:
    """What the environment says, the weaker names first. `file_store` is the store that the file names, if any."""
    present = {name: found.strip() for name, found in environ.items() if found.strip()}
    for name, field in _SYNCHRONY_NAMES.items():
        if name in present:
            yield _field_value(field, name, present)
    yield from _bind_address(present)
    if "ROTA_STORE" not in present:
        yield from _synchrony_store(present, file_store)
    for field in FIELDS:
        name = f"ROTA_{field.upper()}"
        if name in present:
            yield _field_value(field, name, present)


def _field_value(field: str, name: str, present: Mapping[str, str]) -> Found:
    setting = FIELDS[field]
    return field, setting.check(name, setting.read(name, present[name])), name


def _bind_address(present: Mapping[str, str]) -> Iterator[Found]:
    """`HTTP_BIND_ADDRESS` is host:port; an IPv6 address stands in brackets."""
    name = "HTTP_BIND_ADDRESS"
    if name not in present:
        return
    host, colon, port = present[name].rpartition(":")
    if not colon or not host:
        raise InvalidInput(name, f"must be host:port such as 127.0.0.1:23071, got {present[name]!r}")
    yield "host", FIELDS["host"].check(name, host.removeprefix("[").removesuffix("]")), name
    yield "port", FIELDS["port"].check(name, values.read_whole(name, port)), name


def _synchrony_store(present: Mapping[str, str], file_store: object) -> Iterator[Found]:
    """STORE_TYPE=redis, or any REDIS_* without a STORE_TYPE, names a Redis. STORE_TYPE=sqlite leaves a SQLite store of
    the file as it is, and otherwise means the default one."""
    redis_names = [name for name in _REDIS_NAMES if name in present]
    kind = present.get("STORE_TYPE", "redis" if redis_names else "")
    if kind == "redis":
        yield "store", _redis_url(present), "STORE_TYPE" if "STORE_TYPE" in present else redis_names[0]
    elif kind == "sqlite":
        if not str(file_store).startswith("sqlite:"):
            yield "store", Settings().store, "STORE_TYPE"
    elif kind:
        raise InvalidInput("STORE_TYPE", f"must be redis or sqlite, got {kind!r}")


def _redis_url(present: Mapping[str, str]) -> str:
    host = values.host("REDIS_HOST", present.get("REDIS_HOST", "127.0.0.1"))
    port = _number("REDIS_PORT", present.get("REDIS_PORT", "6379"), 1, 65_535)
    database = _number("REDIS_DATABASE", present.get("REDIS_DATABASE", "0"), 0, 2**31 - 1)
    bracketed = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"redis://{bracketed}:{port}/{database}"


def _number(name: str, found: str, low: int, high: int) -> object:
    return values.whole(low, high)(name, values.read_whole(name, found))
