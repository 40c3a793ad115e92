"""A topic: a named row of records that others read, each at its own pace."""

import re

from msgspec import Struct

from rota.errors import InvalidInput

MESSAGE_ID = "message-id"
"""The header that has a record's id."""
MAX_TOPIC_LENGTH = 249
_TOPIC = re.compile(rf"[a-zA-Z0-9._-]{{1,{MAX_TOPIC_LENGTH}}}")


class TopicRecord(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What is published. Key and value are JSON."""

    id: str
    """A topic has one record with it, however often it is published."""
    value: object
    key: object = None
    headers: dict[str, str] = {}
    time: int
    """When it was published."""


def check_topic(field: str, name: object) -> str:
    """The name of a topic, as Kafka has them."""
    if name is None or name == "":
        raise InvalidInput(field, "is missing")
    if not isinstance(name, str) or not _TOPIC.fullmatch(name) or name in (".", ".."):
        raise InvalidInput(field, f"{name!r:.300} is not a topic: 1 to 249 of letters, digits and . _ -")
    return name
