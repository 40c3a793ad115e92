"""Schedules that are defined in the file. Each key is one of `ScheduleRequest`; what is wrong is told with its line."""

import re

import msgspec

from rota.errors import InvalidInput
from rota.model.schedules.edits import FIELDS, OTHER_WORDS, request_from
from rota.model.schedules.request import ScheduleRequest, make_schedule
from rota.settings import values
from rota.settings.document import Document

SECTION = "schedules"
_KEY_OF_FIELD = {"time": "frequency", "timeUnit": "frequency"}
_OTHER_WORD = {own: other for other, own in OTHER_WORDS.items()}


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
    document.refuse_unknown(raw, [*FIELDS, *OTHER_WORDS], f"{path}.")
    if raw.get("name") is None:
        raise InvalidInput(where, "needs the key 'name'")
    if raw.get("job_type") is None and raw.get("emit") is None:
        raise InvalidInput(where, "needs the key 'job_type', or 'emit' to emit an event")
    given = {key: value for key, value in raw.items() if value is not None}
    try:
        request = request_from(msgspec.to_builtins(given))
        make_schedule(request, uuid="", job_type="", queue="", created_at=0, now=None)
    except InvalidInput as error:
        key = _KEY_OF_FIELD.get(error.field, re.split(r"[.\[]", error.field)[0])
        key = key if key in raw else _OTHER_WORD.get(key, key)
        place = document.where(raw, key, f"{path}.{error.field}") if key in raw else where
        raise InvalidInput(place, error.reason) from None
    return request
