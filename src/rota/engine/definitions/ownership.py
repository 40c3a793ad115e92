"""Who may change what: a definition in a configuration file is the file's, and one in the code of an app is the app's,
whatever its kind. An app owns as a file does, by a name that no file has."""

from typing import Protocol

from rota.errors import Conflict
from rota.model.events.configuration import Configuration
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.schedules.schedule import Schedule

MANAGED_BY_FILE = "file"
MANAGED_BY_ROTA = "rota"
MANAGED_BY_LIGHT = "light"
"""Of a schedule: it is a task definition of the light scheduler."""
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


def managed_by_file(owner: str) -> str:
    """What a definition says that is owned by the file of this name; a file without a name is any file."""
    if is_app(owner):
        return owner
    return f"{MANAGED_BY_FILE}:{owner}" if owner else MANAGED_BY_FILE


def owner_of_app(name: str) -> str:
    """The owner that the app of this name is."""
    return f"{_APP}{name}"


def is_app(owner: str) -> bool:
    return owner.startswith(_APP)


def kind_of(one: Owned) -> str:
    """What people call a definition of this kind."""
    return _KINDS[type(one)]


def is_of_file(found: Owned) -> bool:
    """Whether any file owns it."""
    return found.managed_by == MANAGED_BY_FILE or found.managed_by.startswith(f"{MANAGED_BY_FILE}:")


def is_of(found: Owned, owner: str) -> bool:
    """Whether the file of this name owns it."""
    return found.managed_by == managed_by_file(owner)


def is_declared(found: Owned) -> bool:
    """Whether a file or an app owns it."""
    return is_of_file(found) or is_app(found.managed_by)


def refuse_file_owned(found: Owned) -> None:
    """What a file or an app defines would come back, or be changed back, at the next start."""
    if is_app(found.managed_by):
        kind, app = kind_of(found), _owner_of(found)
        raise Conflict(f"the {kind} {found.name!r} is defined in the code of the app {app!r}; change it there")
    if is_of_file(found):
        of = f" of {_owner_of(found)!r}" if _owner_of(found) else ""
        kind = kind_of(found)
        raise Conflict(f"the {kind} {found.name!r} is defined in the configuration file{of}; change it there")


def refuse_task_definition(found: Owned) -> None:
    """A schedule that was edited would no longer be what its task definition says."""
    if found.managed_by == MANAGED_BY_LIGHT:
        raise Conflict(
            f"the schedule {found.name!r} is a task definition of the light scheduler; change it by POST /schedulers"
        )


def refuse_for_file(found: Owned, owner: str = "") -> None:
    """A file takes nothing from somebody else. What was owned before files had names is taken over."""
    if is_app(owner):
        _refuse_for_app(found, owner)
        return
    if is_of(found, owner) or found.managed_by == MANAGED_BY_FILE:
        return
    kind = kind_of(found)
    if is_of_file(found):
        other = _owner_of(found)
        raise Conflict(
            f"the {kind} {found.name!r} belongs to the configuration file of {other!r}; give one of them another name, "
            f"remove it there first, or say `owner: {other}` in this file if it is the same project"
        )
    raise Conflict(
        f"{found.name!r} is defined in the configuration file, but was defined in another way before; delete it there "
        f"(`rota {kind.replace(' ', '-')} delete {found.name}`), or give one of them another name"
    )


def _refuse_for_app(found: Owned, owner: str) -> None:
    if not is_of(found, owner):
        app = owner.removeprefix(_APP)
        raise Conflict(
            f"{found.name!r} is defined in the code of the app {app!r}, but the {kind_of(found)} was "
            "defined in another way before; delete that one, or give one of them another name"
        )


def _owner_of(found: Owned) -> str:
    return found.managed_by.partition(":")[2]
