"""Reads a task as another program serialised it."""

from collections.abc import Mapping

import msgspec

from rota.dialects.tasks.entity.reading import read_task
from rota.dialects.tasks.entity.task import Task
from rota.dialects.tasks.names import check_task_id
from rota.errors import InvalidInput

MAX_BYTES = 256 * 1024


def read_foreign(id: str, text: bytes, delay_ms: int) -> Task:
    """The task under an id, to run after a delay; `InvalidInput` says what is wrong with it. Fields that are not known
    here are left out, and the id is that of its key, whatever the text says."""
    check_task_id(id)
    if len(text) > MAX_BYTES:
        raise InvalidInput("task", f"is {len(text)} bytes, the limit is {MAX_BYTES}")
    try:
        found = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InvalidInput("task", f"is no JSON: {error}") from None
    if not isinstance(found, Mapping):
        raise InvalidInput("task", f"must be an object, got {type(found).__name__}")
    return read_task({**found, "id": id, "delay": delay_ms}, is_foreign=True)
