"""Who may change what: a definition in a configuration file is the file's, whatever its kind."""

from typing import Protocol

from rota.errors import Conflict
from rota.model.events.configuration import Configuration
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.schedules.schedule import Schedule

MANAGED_BY_FILE = "file"
MANAGED_BY_ROTA = "rota"
_KINDS: dict[type, str] = {
    NodeType: "node type",
    JobType: "job type",
    Schedule: "schedule",
    Configuration: "configuration",
}


class Owned(Protocol):
    """A definition of any kind."""

    @property
    def name(self) -> str: ...

    @property
    def managed_by(self) -> str: ...


def kind_of(one: Owned) -> str:
    """What people call a definition of this kind."""
    return _KINDS[type(one)]


def is_of_file(found: Owned) -> bool:
    return found.managed_by == MANAGED_BY_FILE


def refuse_file_owned(found: Owned) -> None:
    """What a file defines would come back, or be changed back, at the next start."""
    if is_of_file(found):
        raise Conflict(f"the {_KINDS[type(found)]} {found.name!r} stands in the configuration file; change it there")


def refuse_for_file(found: Owned) -> None:
    """A file takes nothing from somebody else."""
    if not is_of_file(found):
        raise Conflict(f"{found.name!r} stands in the configuration file, but was defined in another way before")
