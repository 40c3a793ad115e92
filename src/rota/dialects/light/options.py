"""The settings of the light scheduler, from `light:` in the configuration file."""

import msgspec
from msgspec import Struct

from rota.engine.definitions.built_in import LIGHT_NODE_TYPE, LIGHT_THREADS
from rota.model.node import MAX_THREADS
from rota.settings import Settings, values
from rota.settings.document import Document
from rota.settings.section import SectionContent

SECTION = "light"


class LightOptions(Struct, frozen=True, kw_only=True):
    """How the light scheduler sends and answers."""

    threads: int = LIGHT_THREADS
    """Due tasks that one process sends at a time; 0 for none."""
    optional_parameters: bool = False
    """Whether GET may leave out host, name and unit, and then gives all that the others allow."""


def options_of(settings: Settings) -> LightOptions:
    found = settings.sections.get(SECTION)
    return found if isinstance(found, LightOptions) else LightOptions()


def side_queues(settings: Settings) -> dict[str, int]:
    """Every worker sends due tasks too, beside its own jobs."""
    return {LIGHT_NODE_TYPE: options_of(settings).threads}


def read_section(document: Document) -> SectionContent:
    raw = document.content.get(SECTION)
    if raw is None:
        return SectionContent(value=LightOptions())
    section = values.mapping(document.where(document.content, SECTION, SECTION), raw)
    checks = {"threads": values.whole(0, MAX_THREADS), "optional_parameters": values.flag}
    document.refuse_unknown(section, list(checks), f"{SECTION}.")
    found = {
        key: check(document.where(section, key, f"{SECTION}.{key}"), section[key])
        for key, check in checks.items()
        if section.get(key) is not None
    }
    return SectionContent(value=msgspec.convert(found, LightOptions))
