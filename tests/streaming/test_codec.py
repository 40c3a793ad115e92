"""Keys, commands and definitions as Avro, and what is no Avro at all."""

from typing import Any

import pytest
from msgspec import structs

from rota.errors import InvalidInput
from rota.model.topics.light.definition import Action, TaskDefinition, TaskKey, read_definition
from rota.model.topics.light.fires import due_task, message_id
from rota.streaming.records.codec import decode_definition, decode_key, deletion_of, encode_definition, encode_key
from rota.streaming.records.entry import entry_of, message_id_of
from rota.streaming.records.keys import _murmur2, partition_of

DEFINITIONS: list[dict[str, Any]] = [
    {"frequency": {"timeUnit": "SECONDS", "time": 10}},
    {"frequency": {"timeUnit": "DAYS", "time": 1}, "start": 1_700_000_000_000, "data": {"a": "1", "ключ": "wert"}},
    {"start": 0},
    {"frequency": {"timeUnit": "MILLISECONDS", "time": 2_147_483_647}, "start": 127, "data": {}},
]


def made(fields: dict[str, Any]) -> TaskDefinition:
    return read_definition({"host": "networknt.com", "name": "büro", "topic": "due", **fields})


@pytest.mark.parametrize("fields", DEFINITIONS)
def test_a_definition_is_the_same_after_writing_and_reading(fields: dict[str, Any]) -> None:
    definition = made(fields)

    assert decode_definition(encode_definition(definition)) == definition


def test_the_bytes_are_those_of_the_schema() -> None:
    definition = read_definition(
        {"host": "h", "name": "n", "topic": "t", "frequency": {"timeUnit": "SECONDS", "time": 10}, "start": 64}
    )

    assert encode_definition(definition).hex(" ") == "02 68 02 6e 00 02 02 14 02 74 02 80 01 00"
    assert encode_key(definition.key).hex(" ") == "02 68 02 6e"


@pytest.mark.parametrize("frame", [b"", b"\0\0\0\0\x07", b"\xc3\x01" + b"12345678"])
def test_records_are_read_plain_and_in_frames(frame: bytes) -> None:
    definition = made(DEFINITIONS[0])

    assert decode_definition(frame + encode_definition(definition)) == definition
    assert decode_key(frame + encode_key(definition.key)) == definition.key


@pytest.mark.parametrize("value", [b"", b"rubbish", b"\0", b"\xff" * 40, b'{"host": "h"}', b"\x02h\x02n\x08"])
def test_what_is_no_avro_is_refused_in_words(value: bytes) -> None:
    with pytest.raises(InvalidInput, match="value: is not Avro of the schema"):
        decode_definition(value)


def test_what_is_behind_the_end_of_a_record_makes_it_wrong() -> None:
    with pytest.raises(InvalidInput, match="there is more behind its end"):
        decode_definition(encode_definition(made({})) + b"x")


def test_avro_that_no_definition_can_mean_is_refused_by_its_field() -> None:
    wrong = structs.replace(made({}), topic="not a topic")

    with pytest.raises(InvalidInput, match="not a topic"):
        decode_definition(encode_definition(wrong))


def test_a_record_without_a_value_deletes_what_its_key_names() -> None:
    command = deletion_of(encode_key(TaskKey("h", "n")))

    assert (command.host, command.name, command.action) == ("h", "n", Action.DELETE)
    with pytest.raises(InvalidInput, match="neither a key nor a value"):
        deletion_of(None)


@pytest.mark.parametrize("fields", DEFINITIONS)
@pytest.mark.parametrize("instant", [0, 63, 64, 1_700_000_000_000, 253_000_000_000_000])
def test_a_due_task_is_the_definition_with_its_instant_as_start(fields: dict[str, Any], instant: int) -> None:
    definition = structs.replace(made(fields), start=1_234)

    entry = entry_of(definition)

    assert entry.due_value(instant) == encode_definition(due_task(definition, instant))
    assert entry.definition == definition


@pytest.mark.parametrize(
    "key", [TaskKey("networknt.com", "market-report"), TaskKey("a/b", "c d"), TaskKey("büro", "x" * 200)]
)
def test_the_message_id_of_an_encoded_key_is_that_of_the_key(key: TaskKey) -> None:
    assert message_id_of(encode_key(key), 1_700_000_000_000).decode() == message_id(key, 1_700_000_000_000)


def test_an_entry_knows_when_its_definition_fires() -> None:
    entry = entry_of(structs.replace(made(DEFINITIONS[0]), start=77))
    once = entry_of(made({"start": 99}))

    assert (entry.start, entry.period_ms, entry.topic) == (77, 10_000, "due")
    assert (once.start, once.period_ms, once.unit) == (99, 0, None)


@pytest.mark.parametrize(
    ("data", "hash_in_java"),
    [(b"21", -973932308), (b"foobar", -790332482), (b"a-little-bit-long-string", -985981536), (b"abc", 479470107)],
)
def test_keys_are_spread_as_kafkas_own_clients_do(data: bytes, hash_in_java: int) -> None:
    assert _murmur2(data) == hash_in_java & 0xFFFFFFFF
    assert partition_of(data, 16) == (hash_in_java & 0x7FFFFFFF) % 16
