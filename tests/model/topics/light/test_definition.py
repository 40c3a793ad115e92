"""What can be said in a task definition, and what is refused, with the field that is wrong."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import rota.model.topics.light
from rota.errors import InvalidInput
from rota.model.topics.light.definition import Action, TaskDefinition, TaskFrequency, TaskKey, read_definition
from rota.model.triggers.interval import TimeUnit

SCHEMAS = Path(rota.model.topics.light.__file__).parent / "avro"
GIVEN: dict[str, Any] = {
    "host": "networknt.com",
    "name": "market-report",
    "action": "INSERT",
    "frequency": {"timeUnit": "SECONDS", "time": 10},
    "topic": "reports",
    "start": 1_700_000_000_123,
    "data": {"region": "eu"},
}


def given(**fields: Any) -> dict[str, Any]:
    return {field: value for field, value in {**GIVEN, **fields}.items() if value is not ...}


def refused(**fields: Any) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        read_definition(given(**fields))
    return caught.value


def test_a_definition_says_what_was_given() -> None:
    definition = read_definition(GIVEN)

    assert definition == TaskDefinition(
        host="networknt.com",
        name="market-report",
        action=Action.INSERT,
        frequency=TaskFrequency(TimeUnit.SECONDS, 10),
        topic="reports",
        start=1_700_000_000_123,
        data={"region": "eu"},
    )
    assert definition.key == TaskKey("networknt.com", "market-report")


def test_its_json_is_what_was_given_in_the_order_of_the_schema() -> None:
    assert msgspec.json.encode(read_definition(GIVEN)).decode() == json.dumps(GIVEN, separators=(",", ":"))
    schema = json.loads((SCHEMAS / "TaskDefinition.avsc").read_text())
    assert list(GIVEN) == [field["name"] for field in schema["fields"]]


def test_host_name_and_topic_are_enough_and_mean_insert_once() -> None:
    definition = read_definition({"host": "h", "name": "n", "topic": "t"})

    assert definition.action is Action.INSERT
    assert (definition.frequency, definition.start, definition.data) == (None, None, None)


def test_host_and_name_are_enough_to_delete() -> None:
    definition = read_definition({"host": "h", "name": "n", "action": "DELETE"})

    assert definition.action is Action.DELETE
    assert definition.topic == ""


@pytest.mark.parametrize("field", ["host", "name", "topic"])
@pytest.mark.parametrize("value", [..., None, ""])
def test_what_is_missing_is_named(field: str, value: object) -> None:
    assert str(refused(**{field: value})) == f"{field}: is missing"


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"host": 7}, "host"),
        ({"name": "x" * 257}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"topic": "a topic"}, "topic"),
        ({"topic": ".."}, "topic"),
        ({"topic": 5}, "topic"),
        ({"action": "UPSERT"}, "action"),
        ({"action": "insert"}, "action"),
        ({"frequency": 10}, "frequency"),
        ({"frequency": {"time": 1}}, "frequency.timeUnit"),
        ({"frequency": {"timeUnit": "WEEKS", "time": 1}}, "frequency.timeUnit"),
        ({"frequency": {"timeUnit": "SECONDS"}}, "frequency.time"),
        ({"frequency": {"timeUnit": "SECONDS", "time": 0}}, "frequency.time"),
        ({"frequency": {"timeUnit": "SECONDS", "time": -1}}, "frequency.time"),
        ({"frequency": {"timeUnit": "SECONDS", "time": 1.5}}, "frequency.time"),
        ({"frequency": {"timeUnit": "SECONDS", "time": True}}, "frequency.time"),
        ({"frequency": {"timeUnit": "MILLISECONDS", "time": 1 << 31}}, "frequency.time"),
        ({"frequency": {"timeUnit": "SECONDS", "time": 1, "times": 2}}, "frequency.times"),
        ({"start": "soon"}, "start"),
        ({"start": -1}, "start"),
        ({"data": ["a"]}, "data"),
        ({"data": {"size": 5}}, "data.size"),
        ({"data": {"size": None}}, "data.size"),
        ({"data": {"text": "x" * 200_000}}, "data"),
        ({"frequancy": {}}, "frequancy"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(fields: dict[str, Any], named: str) -> None:
    assert refused(**fields).field == named


@pytest.mark.parametrize("value", [None, [], "text", 5])
def test_what_is_no_object_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match="body"):
        read_definition(value)


def test_the_schemas_are_the_five_of_the_light_scheduler() -> None:
    schemas = {path.stem: json.loads(path.read_text()) for path in SCHEMAS.glob("*.avsc")}

    assert {stem: schema["name"] for stem, schema in schemas.items()} == {
        "FrequencyTimeUnit": "TimeUnit",
        "TaskDefinitionAction": "DefinitionAction",
        "TaskFrequency": "TaskFrequency",
        "TaskDefinitionKey": "TaskDefinitionKey",
        "TaskDefinition": "TaskDefinition",
    }
    assert {schema["namespace"] for schema in schemas.values()} == {"com.networknt.scheduler"}
    assert schemas["FrequencyTimeUnit"]["symbols"] == [unit.value for unit in TimeUnit]
    assert schemas["TaskDefinitionAction"]["symbols"] == [action.value for action in Action]
