"""The settings of the light scheduler, from `light:` in the configuration file."""

from msgspec import Struct

from rota.settings import Settings, values
from rota.settings.document import Document
from rota.settings.section import SectionContent

SECTION = "light"
OPTIONAL = "optional_parameters"


class LightOptions(Struct, frozen=True, kw_only=True):
    """How the light scheduler answers."""

    optional_parameters: bool = False
    """Whether GET may leave out host, name and unit, and then gives all that the others allow."""


def options_of(settings: Settings) -> LightOptions:
    found = settings.sections.get(SECTION)
    return found if isinstance(found, LightOptions) else LightOptions()


def read_section(document: Document) -> SectionContent:
    raw = document.content.get(SECTION)
    if raw is None:
        return SectionContent(value=LightOptions())
    section = values.mapping(document.where(document.content, SECTION, SECTION), raw)
    document.refuse_unknown(section, [OPTIONAL], f"{SECTION}.")
    where = document.where(section, OPTIONAL, f"{SECTION}.{OPTIONAL}")
    return SectionContent(value=LightOptions(optional_parameters=values.flag(where, section.get(OPTIONAL, False))))
