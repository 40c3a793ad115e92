"""Configurations that are defined in the file. What is wrong is told with its line."""

import re
from collections.abc import Collection

import msgspec

from rota.errors import InvalidInput
from rota.model.events.configuration_request import ConfigurationRequest, read_configuration
from rota.settings import values
from rota.settings.document import Document

SECTION = "configurations"
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def read_configurations(document: Document, event_types: Collection[str]) -> tuple[ConfigurationRequest, ...]:
    """The section `configurations`, checked as far as that can be done without knowing the job types."""
    found = document.content.get(SECTION)
    entries = [] if found is None else values.listing(document.where(document.content, SECTION, SECTION), found)
    requests = [_read(document, entries, index, event_types) for index in range(len(entries))]
    places: dict[str, str] = {}
    for index, request in enumerate(requests):
        where = document.where(entries, index, f"{SECTION}[{index}]")
        if request.name in places:
            raise InvalidInput(where, f"has the same name as {places[request.name]}")
        places[request.name] = where
    return tuple(requests)


def _read(document: Document, entries: list[object], index: int, event_types: Collection[str]) -> ConfigurationRequest:
    try:
        return read_configuration(msgspec.to_builtins(entries[index]), event_types)
    except InvalidInput as error:
        path = f"{SECTION}[{index}].{error.field}"
        raise InvalidInput(f"{_place(document, entries, index, error.field)}: {path}", error.reason) from None


def _place(document: Document, entries: list[object], index: int, field: str) -> str:
    """File and line of the last step of a path that is in the file."""
    container: object = entries
    key: str | int = index
    place = document.place(container, key)
    for name, number in _STEP.findall(field):
        container = container[key]  # type: ignore[index]
        key = int(number) if number else name
        is_there = key in container if isinstance(container, dict) else isinstance(container, list)
        if not is_there:
            break
        place = document.place(container, key)
    return place
