"""Checks for records that this version cannot read. They stop nobody, so nobody may have noticed them."""

from collections.abc import Iterator

from rota.engine.doctor.finding import Finding, ok, problem
from rota.engine.engine import Engine
from rota.engine.housekeeping.unreadable import forget_unreadable
from rota.model.job import LIVE_STATES, Job, JobState
from rota.store.contract.jobs import JobQuery
from rota.store.records.unreadable import SET_ASIDE_EVENT, UNREADABLE, Unreadable

_PAGE = 500
_MOST_JOBS = 1_000
"""This many live jobs and this many failed ones are looked at."""
_FIXES = {
    "node type": "define it anew: rota node-type create {id} --replace ...",
    "job type": "define it anew: rota job-type create {id} --replace ...",
    "schedule": "use a newer Rota, or forget it: rota doctor --forget-unreadable",
    "configuration": "use a newer Rota, or forget it: rota doctor --forget-unreadable",
    "event": "forget it: rota doctor --forget-unreadable",
    "job": "use a newer Rota and retry it, or delete it: rota doctor --forget-unreadable",
}


def check_records(rota: Engine, *, forgets: bool) -> Iterator[Finding]:
    """Read everything of which there is not too much, and name what cannot be read."""
    _read_all(rota)
    found = [*rota.store.unreadable_records(), *_set_aside(rota), *_jobs(rota)]
    for one in found:
        if forgets and forget_unreadable(rota.store, rota.jobs, one):
            yield ok("records", f"{one.kind} {one.id} could not be read and is forgotten: {one.reason}")
        else:
            fix = _FIXES.get(one.kind, "use a newer Rota, or wait until it is forgotten").format(id=one.id)
            yield problem("records", f"{one.kind} {one.id} cannot be read: {one.reason}", fix)


def _read_all(rota: Engine) -> None:
    """What cannot be read is noted by the store."""
    rota.store.list_node_types()
    rota.store.list_job_types()
    rota.store.list_nodes(since=0)
    cursor: str | None = None
    while cursor := rota.store.list_schedules(limit=_PAGE, cursor=cursor).cursor:
        pass  # the next page
    while cursor := rota.store.list_configurations(limit=_PAGE, cursor=cursor).cursor:
        pass  # the next page


def _set_aside(rota: Engine) -> Iterator[Unreadable]:
    for name, record in rota.store.list_settings(SET_ASIDE_EVENT).items():
        yield Unreadable("event", name.removeprefix(SET_ASIDE_EVENT), record)


def _jobs(rota: Engine) -> Iterator[Unreadable]:
    for states in (LIVE_STATES, frozenset({JobState.FAILED})):
        for job in rota.store.list_jobs(JobQuery(states=states), limit=_MOST_JOBS).jobs:
            if reason := _reason(job):
                yield Unreadable("job", job.id, reason)


def _reason(job: Job) -> str | None:
    cause = job.spec.cause
    if cause is not None and cause.kind == UNREADABLE:
        return cause.name
    errors = job.errors
    if isinstance(errors, dict) and errors.get("type") == UNREADABLE:
        return str(errors.get("message"))
    return None
