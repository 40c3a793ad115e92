"""What a caller may have made, beyond the scope of the route: jobs by hand, and jobs that a trigger makes later.

Every part of the engine that takes `by` asks here. `None` stands for whoever works on the store itself, such as the
command line and the engine's own parts: who can write there can do everything anyway.
"""

from rota.engine.access.keys.access import Caller, Scope
from rota.engine.definitions.built_in import LIGHT_JOB_TYPE, LOG_JOB_TYPE
from rota.errors import InvalidInput, NotAllowed, NotFound
from rota.model.access.openings import why_closed
from rota.model.job_type import JobType
from rota.model.schedules.request import EMIT_JOB_TYPE

NEEDED_BY = {"event": Scope.EVENTS_WRITE, "light": Scope.SCHEDULES_WRITE}
"""Executor to the scope that having its jobs made needs: those that post events, and those that send due tasks of the
light scheduler. For all others it is that for jobs."""
_APPLYING = (
    Scope.TYPES_WRITE,
    Scope.SCHEDULES_WRITE,
    Scope.CONFIGURATIONS_WRITE,
    Scope.JOBS_WRITE,
    Scope.EVENTS_WRITE,
)
"""What a file can define, and what the triggers in it make."""
_FORGETTING = (Scope.JOBS_WRITE, Scope.SCHEDULES_WRITE, Scope.CONFIGURATIONS_WRITE, Scope.EVENTS_WRITE)
"""What can be unreadable, and is deleted then."""
BUILT_IN = frozenset({EMIT_JOB_TYPE, LOG_JOB_TYPE, LIGHT_JOB_TYPE})
"""Job types whose jobs are made by triggers only."""


def may_define(by: Caller | None) -> bool:
    """Whether the caller may define job types, and so can run anything."""
    return by is None or by.may(Scope.TYPES_WRITE)


def check_may_enqueue(by: Caller | None, job_type: JobType, arguments: dict[str, object]) -> None:
    """Refuse a job that is handed in by hand, if the caller may not make it."""
    if by is None:
        return
    if job_type.name in BUILT_IN:
        raise InvalidInput(
            "job_type", f"{job_type.name!r} is made by schedules and configurations; post the event, or define one"
        )
    check_may_make(by, job_type, arguments, field="arguments")


def check_may_make(by: Caller | None, job_type: JobType, arguments: dict[str, object], *, field: str) -> None:
    """Refuse a job, or the definition of a trigger that makes it. `field` is where its arguments are given."""
    check_may_trigger(by, job_type)
    if may_define(by) or (closed := why_closed(job_type, arguments)) is None:
        return
    where, reason = closed
    raise NotAllowed(f"{field}.{where}: {reason}. {_shown(by)} may not define job types")


def check_may_trigger(by: Caller | None, job_type: JobType) -> None:
    """Refuse to have a job made as it is defined elsewhere, by running a schedule."""
    need = NEEDED_BY.get(job_type.executor, Scope.JOBS_WRITE)
    if by is not None and not by.may(need):
        raise NotAllowed(f"{_shown(by)} lacks the scope {need}, which making jobs of {job_type.name!r} needs")


def check_may_define(by: Caller | None) -> None:
    """Refuse a caller who may not define what to run."""
    if not may_define(by):
        raise NotAllowed(f"{_shown(by)} may not define what to run; name a job type instead")


def check_may_apply(by: Caller | None) -> None:
    """Refuse a file of definitions, if the caller may not define all that a file can have."""
    lacking = [need for need in _APPLYING if by is not None and not by.may(need)]
    if lacking:
        raise NotAllowed(f"{_shown(by)} lacks the scope {lacking[0]}, which applying a file of definitions needs")


def check_may_repair(by: Caller | None, *, forgets: bool, sets_back: bool) -> None:
    """Refuse the doctor's repairs, if the caller may not change all that they can change."""
    needed = (*(_FORGETTING if forgets else ()), *([Scope.SCHEDULES_WRITE] if sets_back else ()))
    lacking = [need for need in needed if by is not None and not by.may(need)]
    if lacking:
        raise NotAllowed(f"{_shown(by)} lacks the scope {lacking[0]}, which this repair needs")


def told_to(by: Caller | None, error: NotFound) -> NotFound:
    """The error for this caller: which job types and node types there are is told to those only who may list them."""
    return error if by is None or by.may(Scope.TYPES_READ) else error.without_suggestion


def _shown(by: Caller | None) -> str:
    return f"the key {by.name!r}" if by else "nobody"
