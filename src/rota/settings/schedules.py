"""Schedules that stand in the file. Each key is one of `ScheduleRequest`; what is wrong is told with its line."""

import re

import msgspec

from rota.errors import InvalidInput
from rota.model.schedule_request import ScheduleRequest, make_schedule
from rota.settings import values
from rota.settings.document import Document

SECTION = "schedules"
_KEYS = list(ScheduleRequest.__struct_fields__)
_KEY_OF_FIELD = {"time": "frequency", "timeUnit": "frequency"}
_AT_PATH = re.compile(r"(.*) - at `\$\.?(.*)`", re.DOTALL)


def read_schedules(document: Document) -> tuple[ScheduleRequest, ...]:
    """The section `schedules`, checked as far as that can be done without knowing the job types."""
    found = document.content.get(SECTION)
    entries = [] if found is None else values.listing(document.where(document.content, SECTION, SECTION), found)
    requests = [_read(document, entries, index) for index in range(len(entries))]
    places: dict[str, str] = {}
    for index, request in enumerate(requests):
        where = document.where(entries, index, f"{SECTION}[{index}]")
        if request.name in places:
            raise InvalidInput(where, f"has the same name as {places[request.name]}")
        places[request.name or ""] = where
    return tuple(requests)


def _read(document: Document, entries: list[object], index: int) -> ScheduleRequest:
    path = f"{SECTION}[{index}]"
    where = document.where(entries, index, path)
    raw = values.mapping(where, entries[index])
    document.refuse_unknown(raw, _KEYS, f"{path}.")
    if raw.get("name") is None:
        raise InvalidInput(where, "needs the key 'name'")
    if raw.get("job_type") is None and raw.get("emit") is None:
        raise InvalidInput(where, "needs the key 'job_type', or 'emit' to emit an event")
    given = {key: value for key, value in raw.items() if value is not None}
    try:
        request: ScheduleRequest = msgspec.convert(msgspec.to_builtins(given), ScheduleRequest)
        make_schedule(request, uuid="", job_type="", queue="", created_at=0, now=None)
    except msgspec.ValidationError as error:
        reason, field = _parts(str(error))
    except InvalidInput as error:
        reason, field = error.reason, error.field
    else:
        return request
    key = _KEY_OF_FIELD.get(field, re.split(r"[.\[]", field)[0])
    raise InvalidInput(document.where(raw, key, f"{path}.{field}") if key in raw else where, reason)


def _parts(message: str) -> tuple[str, str]:
    """Reason and field of what the converter says."""
    found = _AT_PATH.fullmatch(message)
    return (found[1], found[2]) if found else (message, "")
