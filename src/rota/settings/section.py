"""A part of the file that a dialect reads: other words for definitions, and settings of the dialect itself.

Settings know that there are such parts, and none of them by name: whoever loads the settings says who reads them.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from rota.model.job_type import JobType
from rota.model.node import NodeType

if TYPE_CHECKING:
    # Reading schedules takes the whole calendar, and only a file has them.
    from rota.model.schedules.request import ScheduleRequest
    from rota.settings.document import Document


class SectionContent(Struct, frozen=True, kw_only=True):
    """What a dialect found in its part of the file."""

    node_types: tuple[NodeType, ...] = ()
    job_types: tuple[JobType, ...] = ()
    schedules: "tuple[ScheduleRequest, ...]" = ()
    places: dict[str, dict[str, str]] = {}
    """Where each key of a job type is, by the job type's name."""
    value: object = None
    """The dialect's own settings."""


class Section(Struct, frozen=True):
    """Who reads which keys of the file."""

    name: str
    keys: tuple[str, ...]
    read: "Callable[[Document], SectionContent]"
