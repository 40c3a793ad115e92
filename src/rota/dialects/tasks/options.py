"""The settings of tasks, from `tasks:` in the configuration file."""

import msgspec
from msgspec import Struct

from rota.settings import Settings, values
from rota.settings.document import Document
from rota.settings.section import SectionContent

SECTION = "tasks"


class TaskOptions(Struct, frozen=True, kw_only=True):
    """How nodes treat tasks."""

    keys: bool = True
    """Show tasks in the document's Redis keys, and take what others put there."""


def read_section(document: Document) -> SectionContent:
    """`tasks:` of the file, checked."""
    raw = document.content.get(SECTION)
    if raw is None:
        return SectionContent(value=TaskOptions())
    section = values.mapping(document.where(document.content, SECTION, SECTION), raw)
    checks = {"keys": values.flag}
    document.refuse_unknown(section, list(checks), f"{SECTION}.")
    found = {
        key: check(document.where(section, key, f"{SECTION}.{key}"), section[key])
        for key, check in checks.items()
        if section.get(key) is not None
    }
    return SectionContent(value=msgspec.convert(found, TaskOptions))


def options_of(settings: Settings) -> TaskOptions:
    found = settings.sections.get(SECTION)
    return found if isinstance(found, TaskOptions) else TaskOptions()
