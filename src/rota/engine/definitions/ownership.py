"""Who may change what: a definition that is declared in a configuration file is the file's, and one that is declared in
the code of an app is the app's, whatever its kind."""

from typing import Protocol

from rota.errors import Conflict
from rota.model.events.configuration import Configuration
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.schedules.schedule import Schedule

MANAGED_BY_FILE = "file"
MANAGED_BY_ROTA = "rota"
_APP = "app:"
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


def managed_by_app(name: str) -> str:
    """The owner of what the app of this name declares."""
    return f"{_APP}{name}"


def kind_of(one: Owned) -> str:
    """What people call a definition of this kind."""
    return _KINDS[type(one)]


def is_declared(found: Owned) -> bool:
    """Whether a file or an app owns it: it would come back, or be changed back, at the next start."""
    return found.managed_by == MANAGED_BY_FILE or found.managed_by.startswith(_APP)


def refuse_declared(found: Owned) -> None:
    """Only its owner changes what is declared."""
    if is_declared(found):
        place = _place_of(found.managed_by)
        raise Conflict(f"the {_KINDS[type(found)]} {found.name!r} stands in {place}; change it there")


def refuse_for_owner(found: Owned, owner: str) -> None:
    """A file or an app takes nothing from somebody else."""
    if found.managed_by != owner:
        place = _place_of(owner)
        raise Conflict(
            f"{found.name!r} stands in {place}, but was defined in another way before; "
            "delete that one, or choose another name"
        )


def _place_of(owner: str) -> str:
    is_file = owner == MANAGED_BY_FILE
    return "the configuration file" if is_file else f"the code of the app {owner.removeprefix(_APP)!r}"
