"""Keys, commands and definitions as Avro, in the seed's schemas.

Written plain, without a frame. Read plain, in Confluent's frame (0 and the id of a schema) or as a single object
(C3 01 and a fingerprint): a plain record begins with the length of its host, which can be neither 0 nor negative,
so the first bytes tell them apart. Which schema a frame names is not looked up: this one is what a record must be.
"""

import io
import json
from importlib.resources import files
from typing import Any

import fastavro

from rota.errors import InvalidInput
from rota.model.topics.light.definition import Action, TaskDefinition, TaskKey, check_key_part, read_definition

_SINGLE_OBJECT = b"\xc3\x01"
_SINGLE_OBJECT_FRAME = 10
_CONFLUENT_FRAME = 5
_LOAD_ORDER = ("FrequencyTimeUnit", "TaskDefinitionAction", "TaskFrequency", "TaskDefinitionKey", "TaskDefinition")


def _load() -> dict[str, Any]:
    """The schemas by the names of their files. A record names types of other files, so the order matters."""
    named: dict[str, Any] = {}
    folder = files("rota.model.topics.light") / "avro"
    return {
        name: fastavro.parse_schema(json.loads((folder / f"{name}.avsc").read_text()), named_schemas=named)
        for name in _LOAD_ORDER
    }


_SCHEMAS = _load()
_KEY, _DEFINITION = _SCHEMAS["TaskDefinitionKey"], _SCHEMAS["TaskDefinition"]


def encode_key(key: TaskKey) -> bytes:
    return _encoded(_KEY, {"host": key.host, "name": key.name})


def encode_definition(definition: TaskDefinition) -> bytes:
    frequency = definition.frequency
    return _encoded(
        _DEFINITION,
        {
            "host": definition.host,
            "name": definition.name,
            "action": definition.action.value,
            "frequency": frequency and {"timeUnit": frequency.time_unit.value, "time": frequency.time},
            "topic": definition.topic,
            "start": definition.start,
            "data": definition.data,
        },
    )


def decode_key(data: bytes) -> TaskKey:
    """The key of a record, or `InvalidInput`."""
    found = _decoded("key", _KEY, data)
    return TaskKey(check_key_part("host", found["host"]), check_key_part("name", found["name"]))


def decode_definition(data: bytes) -> TaskDefinition:
    """The definition or command in a record, or `InvalidInput` that says what is wrong with it."""
    return read_definition(_decoded("value", _DEFINITION, data))


def deletion_of(key: bytes | None) -> TaskDefinition:
    """The command of a record without a value: the definition of its key is to go."""
    if key is None:
        raise InvalidInput("record", "has neither a key nor a value")
    host, name = decode_key(key)
    return TaskDefinition(host=host, name=name, action=Action.DELETE, topic="")


def _encoded(schema: Any, record: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, record)
    return out.getvalue()


def _decoded(part: str, schema: Any, data: bytes) -> dict[str, Any]:
    stream = io.BytesIO(_without_frame(data))
    try:
        found = fastavro.schemaless_reader(stream, schema, None)
    except (EOFError, ValueError, IndexError, KeyError, TypeError, OverflowError, MemoryError) as error:
        raise InvalidInput(
            part, f"is not Avro of the schema {schema['name']}: {error or type(error).__name__}"
        ) from None
    if not isinstance(found, dict) or stream.read(1):
        raise InvalidInput(part, f"is not Avro of the schema {schema['name']}: there is more behind its end")
    return found


def _without_frame(data: bytes) -> bytes:
    if data[:1] == b"\0":
        return data[_CONFLUENT_FRAME:]
    return data[_SINGLE_OBJECT_FRAME:] if data[:2] == _SINGLE_OBJECT else data
