"""Rules that the verbs for job types, node types and schedules share."""

from rota.engine.definitions import MANAGED_BY_FILE
from rota.errors import Conflict
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.schedule import Schedule


def refuse_existing(found: JobType | NodeType | None, kind: str, *, replace: bool) -> None:
    """`create` makes something new, unless it is told to replace."""
    if found is None:
        return
    refuse_file_owned(found, kind)
    if not replace:
        raise Conflict(f"there is a {kind} {found.name!r} already; --replace changes it")


def refuse_file_owned(found: JobType | NodeType | Schedule, kind: str) -> None:
    """What stands in the file would come back, or be changed back, at the next start."""
    if found.managed_by == MANAGED_BY_FILE:
        raise Conflict(f"the {kind} {found.name!r} stands in the configuration file; change it there")
