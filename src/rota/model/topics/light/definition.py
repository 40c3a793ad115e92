"""A task definition of the light scheduler, and the command that changes one: both have the same fields.

`read_definition` is the only way in, for JSON of the API and for decoded Avro records alike.
"""

from enum import StrEnum
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from rota.errors import InvalidInput
from rota.model.limits import MAX_PAYLOAD_BYTES, check_range, encode_json
from rota.model.topics.topic import MAX_TOPIC_LENGTH, check_topic
from rota.model.triggers.durations import MAX_INTERVAL_MS
from rota.model.triggers.interval import TimeUnit
from rota.model.triggers.zones.offsets import MAX_SECONDS

MAX_KEY_LENGTH = 256
"""Characters of a host, and of a name."""
MAX_INSTANT = MAX_SECONDS * 1000 - 1
"""In the last year for which there are dates, 9998."""
_AVRO_INT = (1 << 31) - 1
KeyPart = Annotated[str, Meta(min_length=1, max_length=MAX_KEY_LENGTH)]
"""The bounds are for the API's document; `read_definition` checks them, in its own words."""
_FIELDS = ("host", "name", "action", "frequency", "topic", "start", "data")


class Action(StrEnum):
    """What a command does with the definition of its key."""

    INSERT = "INSERT"
    """Make it, in the place of one that is there already."""
    UPDATE = "UPDATE"
    """Put it in the place of the one that is there; all of it, also if it has another time unit."""
    DELETE = "DELETE"


class TaskKey(NamedTuple):
    """What a definition is known by. Hosts are tenants: a name is unique within its host."""

    host: str
    name: str


class TaskFrequency(Struct, frozen=True, rename={"time_unit": "timeUnit"}):
    """Every `time` units."""

    time_unit: TimeUnit
    time: Annotated[int, Meta(ge=1, le=_AVRO_INT)]

    @property
    def period_ms(self) -> int:
        return self.time * self.time_unit.millis


class TaskDefinition(Struct, frozen=True, kw_only=True):
    """Which task goes to which topic, and when. As JSON it has the fields and the order of the Avro schema."""

    host: KeyPart
    name: KeyPart
    action: Action = Action.INSERT
    frequency: TaskFrequency | None = None
    """None for a task that is sent once."""
    topic: Annotated[str, Meta(max_length=MAX_TOPIC_LENGTH)]
    """To DELETE a definition, none is needed."""
    start: Annotated[int, Meta(ge=0, le=MAX_INSTANT)] | None = None
    """Epoch milliseconds; without it, the next exact unit, or now."""
    data: dict[str, str] | None = None

    @property
    def key(self) -> TaskKey:
        return TaskKey(self.host, self.name)

    @property
    def unit(self) -> TimeUnit | None:
        return None if self.frequency is None else self.frequency.time_unit


def read_definition(value: object) -> TaskDefinition:
    """A definition or command from its JSON object, or `InvalidInput` naming the field that cannot be meant.

    Without an action it is INSERT. To DELETE one, host and name are enough.
    """
    if not isinstance(value, dict):
        raise InvalidInput("body", "must be a task definition: an object with host, name, topic and frequency")
    for field in value:
        if field not in _FIELDS:
            raise InvalidInput(f"{field!s:.100}", f"is no field of a task definition; these are {', '.join(_FIELDS)}")
    action = _action(value.get("action"))
    return TaskDefinition(
        host=check_key_part("host", value.get("host")),
        name=check_key_part("name", value.get("name")),
        action=action,
        frequency=_frequency(value.get("frequency")),
        topic=_topic(value.get("topic"), action),
        start=_start(value.get("start")),
        data=_data(value.get("data")),
    )


def check_key_part(field: str, value: object) -> str:
    """A host or a name: any text that is not empty."""
    text = _text(field, value)
    if len(text) > MAX_KEY_LENGTH:
        raise InvalidInput(field, f"has {len(text)} characters, the limit is {MAX_KEY_LENGTH}")
    if not text.isprintable():
        raise InvalidInput(field, f"{text!r:.100} has characters that cannot be printed")
    return text


def read_unit(field: str, value: object) -> TimeUnit:
    """A time unit, spelled as in the schema."""
    if not isinstance(value, str) or value not in TimeUnit.__members__:
        raise InvalidInput(field, f"must be one of {', '.join(TimeUnit)}, got {value!r:.100}")
    return TimeUnit(value)


def _text(field: str, value: object) -> str:
    if value is None or value == "":
        raise InvalidInput(field, "is missing")
    if not isinstance(value, str):
        raise InvalidInput(field, f"must be a string, got {value!r:.100}")
    return value


def _action(value: object) -> Action:
    if value is None:
        return Action.INSERT
    if not isinstance(value, str) or value not in Action.__members__:
        raise InvalidInput("action", f"must be one of {', '.join(Action)}, got {value!r:.100}")
    return Action(value)


def _whole(value: object) -> object:
    """JSON may write a whole number as 10.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _frequency(value: object) -> TaskFrequency | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise InvalidInput("frequency", f"must be an object with timeUnit and time, got {value!r:.100}")
    for field in value:
        if field not in ("timeUnit", "time"):
            raise InvalidInput(f"frequency.{field!s:.100}", "is no field of a frequency; these are timeUnit and time")
    unit = read_unit("frequency.timeUnit", value.get("timeUnit"))
    most = min(_AVRO_INT, MAX_INTERVAL_MS // unit.millis)
    return TaskFrequency(unit, check_range("frequency.time", _whole(value.get("time")), 1, most))


def _topic(value: object, action: Action) -> str:
    return "" if action is Action.DELETE and value in (None, "") else check_topic("topic", value)


def _start(value: object) -> int | None:
    return None if value is None else check_range("start", _whole(value), 0, MAX_INSTANT)


def _data(value: object) -> dict[str, str] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise InvalidInput("data", f"must be an object of strings, got {value!r:.100}")
    for key, item in value.items():
        if not isinstance(item, str):
            raise InvalidInput(f"data.{key!s:.100}", f"must be a string, got {item!r:.100}; write numbers as text")
    encode_json("data", value, MAX_PAYLOAD_BYTES // 2)
    return {str(key): str(item) for key, item in value.items()}
