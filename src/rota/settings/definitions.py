"""Node types and job types that are defined in the file. The file owns them, which `managed_by` tells the engine."""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Struct

from rota.errors import InvalidInput
from rota.model.ids import check_id
from rota.model.job_type import MAX_TIMEOUT_MS, JobType, OnNodeDeath, Unique
from rota.model.limits import check_payload
from rota.model.node import MAX_THREADS, NodeType
from rota.model.rate import check_key_template, parse_rate
from rota.model.runs.retry import MAX_ATTEMPTS, MAX_DELAY_MS
from rota.settings import values
from rota.settings.definition_ids import definition_uuid
from rota.settings.document import Document
from rota.settings.values import Check

FILE_OWNER = "file"
Entry = dict[str, object]


def _uuid(where: str, value: object) -> str:
    return check_id(where, values.text(where, value))


def _metadata(where: str, value: object) -> Entry:
    """As plain JSON values, which is what every store gives back; TOML has dates too."""
    found: Entry = msgspec.json.decode(check_payload(where, msgspec.to_builtins(values.mapping(where, value))))
    return found


def _unique(where: str, value: object) -> Unique:
    """A mode's name, or Synchrony's boolean."""
    if isinstance(value, bool):
        return Unique.WHILE_RUNNING if value else Unique.NONE
    return Unique(values.one_of(Unique)(where, value))


def _on_node_death(where: str, value: object) -> OnNodeDeath:
    return OnNodeDeath(values.one_of(OnNodeDeath)(where, value))


def _rate_key(where: str, value: object) -> str:
    found = values.text(where, value)
    check_key_template(where, found)
    return found


class _Shape(Struct, frozen=True):
    """The keys that a mapping may have. A check that is itself a shape is for a mapping within."""

    checks: Mapping[str, "Check | _Shape"]
    required: tuple[str, ...] = ()


_RETRIES = _Shape(
    {
        "attempts": values.whole(1, MAX_ATTEMPTS),
        "delay_ms": values.whole(0, MAX_DELAY_MS),
        "factor": values.number(1, 100),
        "max_delay_ms": values.whole(0, MAX_DELAY_MS),
        "jitter": values.number(0, 1),
    }
)
_NODE_TYPE = _Shape({"name": values.name, "uuid": _uuid, "thread_count": values.whole(1, MAX_THREADS)}, ("name",))
_JOB_TYPE = _Shape(
    {
        "name": values.name,
        "uuid": _uuid,
        "executor": values.name,
        "metadata": _metadata,
        "node_type": values.name,
        "timeout": values.duration(1, MAX_TIMEOUT_MS),
        "unique": _unique,
        "retries": _RETRIES,
        "on_node_death": _on_node_death,
        "rate": parse_rate,
        "rate_key": _rate_key,
    },
    ("name", "executor"),
)
_FIELD_OF_KEY = {"timeout": "timeout_ms", "retries": "retry"}


def read_node_types(document: Document) -> tuple[NodeType, ...]:
    """The section `node_types`, checked."""
    return tuple(msgspec.convert(entry, NodeType) for entry in _definitions(document, "node_types", _NODE_TYPE))


def read_job_types(document: Document) -> tuple[JobType, ...]:
    """The section `job_types`, checked; an executor checks its metadata itself."""
    return tuple(msgspec.convert(entry, JobType) for entry in _definitions(document, "job_types", _JOB_TYPE))


def job_type_places(document: Document) -> dict[str, dict[str, str]]:
    """Where each key of a job type is, for what only its executor can find wrong. The section was read before."""
    entries = document.content.get("job_types") or []
    assert isinstance(entries, list)
    return {
        str(entry["name"]): {key: document.where(entry, key, f"job_types[{index}].{key}") for key in entry}
        for index, entry in enumerate(entries)
    }


def _definitions(document: Document, section: str, shape: _Shape) -> Iterator[Entry]:
    """One entry per definition, with the keys of its model struct."""
    seen: dict[object, str] = {}
    found = document.content.get(section)
    entries = [] if found is None else values.listing(document.where(document.content, section, section), found)
    for index, raw in enumerate(entries):
        where = document.where(entries, index, f"{section}[{index}]")
        entry = _checked(document, shape, values.mapping(where, raw), f"{section}[{index}]", where)
        entry.setdefault("uuid", definition_uuid(section, str(entry["name"])))
        for key in ("name", "uuid"):
            if f"{key} {entry[key]}" in seen:
                raise InvalidInput(where, f"has the same {key} as {seen[f'{key} {entry[key]}']}")
            seen[f"{key} {entry[key]}"] = where
        yield {_FIELD_OF_KEY.get(key, key): value for key, value in entry.items()} | {"managed_by": FILE_OWNER}


def _checked(document: Document, shape: _Shape, raw: Entry, path: str, where: str) -> Entry:
    """The entry with its values in final form. A key without a value counts as absent."""
    document.refuse_unknown(raw, list(shape.checks), f"{path}.")
    for key in shape.required:
        if raw.get(key) is None:
            raise InvalidInput(where, f"needs the key {key!r}")
    return {
        key: _value(document, shape.checks[key], raw, key, f"{path}.{key}")
        for key, value in raw.items()
        if value is not None
    }


def _value(document: Document, check: Check | _Shape, raw: Entry, key: str, path: str) -> object:
    where = document.where(raw, key, path)
    if isinstance(check, _Shape):
        return _checked(document, check, values.mapping(where, raw[key]), path, where)
    return check(where, raw[key])
