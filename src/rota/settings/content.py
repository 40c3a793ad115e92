"""What a file defines: node types, job types, schedules and configurations, and what dialects have in it."""

from collections.abc import Collection, Sequence

from msgspec import Struct, structs

from rota.model.events.configuration_request import ConfigurationRequest
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.schedules.request import ScheduleRequest
from rota.settings.configurations import read_configurations
from rota.settings.definitions import job_type_places, read_job_types, read_node_types
from rota.settings.document import Document
from rota.settings.schedules import read_schedules
from rota.settings.section import Section

DEFINITIONS = ("node_types", "job_types", "schedules", "configurations")
"""Keys of the file."""


class Content(Struct, frozen=True, kw_only=True):
    """The definitions of a file, by the names that settings have for them."""

    node_types: tuple[NodeType, ...]
    job_types: tuple[JobType, ...]
    schedules: tuple[ScheduleRequest, ...]
    configurations: tuple[ConfigurationRequest, ...]
    places: dict[str, dict[str, str]]
    sections: dict[str, object] = {}


def read_content(document: Document, event_types: Collection[str], sections: Sequence[Section]) -> Content:
    """The definitions of a document; what is wrong is told with its place."""
    found = Content(
        node_types=read_node_types(document),
        job_types=read_job_types(document),
        schedules=read_schedules(document),
        configurations=read_configurations(document, event_types),
        places=job_type_places(document),
    )
    for section in sections:
        if any(key in document.content for key in section.keys):
            found = _with_section(found, section, document)
    return found


def _with_section(found: Content, section: Section, document: Document) -> Content:
    content = section.read(document)
    return structs.replace(
        found,
        node_types=(*found.node_types, *content.node_types),
        job_types=(*found.job_types, *content.job_types),
        schedules=(*found.schedules, *content.schedules),
        places=found.places | content.places,
        sections={**found.sections, section.name: content.value},
    )


def definition_keys(sections: Sequence[Section]) -> list[str]:
    """The keys of a file under which definitions are."""
    return [*DEFINITIONS, *(key for section in sections for key in section.keys)]


def read_definitions(
    content: dict[str, object], event_types: Collection[str], sections: Sequence[Section], *, name: str
) -> Content:
    """The definitions of a file that somebody sent, which has nothing else. `name` is what errors call it."""
    document = Document(name, content, lambda container, key: None)
    document.refuse_unknown(content, definition_keys(sections))
    return read_content(document, event_types, sections)
