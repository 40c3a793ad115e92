"""Jobs that wait for other jobs, which are there already: `queue.enqueue(second, depends_on=first)`.

A job of its own, the gate, looks again and again whether those have ended, and then makes the job that waits. It looks
after a twentieth of the time that has passed, so that a wait is not much longer than it must be, and long ones cost
little.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from rota.engine.jobs.intake import JobRequest
from rota.errors import GiveUp, NotFound, TryAgain
from rota.model.job import Job, JobState
from rota.model.runs.retry import MAX_ATTEMPTS, RetryPolicy
from rota.moving.common.identity import job_id_of
from rota.moving.rq.apps import FunctionApp, app_of_worker
from rota.sdk.outbox.relay import enqueue_requests
from rota.sdk.tasks.current_job import current_job
from rota.sdk.tasks.options import TaskOptions

GATE: Final = "rq.depends_on"
"""The job type of gates."""
_FIRST_LOOK_MS = 100
_LAST_LOOK_MS = 3_600_000
_SHARE = 20
_OFTEN = RetryPolicy(MAX_ATTEMPTS, _FIRST_LOOK_MS, 1.0, _FIRST_LOOK_MS, 0.0)


def gate_of(job_id: str) -> str:
    """The id of the gate of a job."""
    return job_id_of("job_id", f"depends_on {job_id}")


def make_gate(app: FunctionApp, request: JobRequest, after: Sequence[str], *, although_failed: bool) -> None:
    """Have a job made once those with these ids have ended well, or have ended at all."""
    gate = app.rota.add_task(open_gate, TaskOptions(name=GATE))
    options = gate.options(id=gate_of(str(request.id)), queue=str(request.node_type), retries=_OFTEN)
    options.enqueue(request=msgspec.to_builtins(request), after=list(after), although_failed=although_failed)


def may_begin(app: FunctionApp, after: Sequence[str], *, although_failed: bool) -> bool:
    """Whether nothing is left to wait for. `NotFound` if one of those jobs is nowhere, so that it will never end."""
    return all(_has_ended(app, job_id, although_failed=although_failed) for job_id in after)


def open_gate(request: dict[str, Any], after: list[str], although_failed: bool) -> str:
    """What a worker runs as a gate: makes the job, or has another look later."""
    app = app_of_worker()
    try:
        is_time = may_begin(app, after, although_failed=although_failed)
    except NotFound as error:
        raise GiveUp(f"{error}; it was deleted, or history has forgotten it") from None
    if not is_time:
        raise TryAgain("it waits for other jobs", delay_ms=_pause_ms(app))
    found = msgspec.convert(request, JobRequest)
    enqueue_requests(app.rota, [found])
    return str(found.id)


def _has_ended(app: FunctionApp, job_id: str, *, although_failed: bool) -> bool:
    """As in RQ, one that failed is waited for until somebody has it run again, and well."""
    state = _find(app, job_id).state
    return state is JobState.SUCCEEDED or (although_failed and state.is_final)


def _find(app: FunctionApp, job_id: str) -> Job:
    """A job or, while it waits for others itself, its gate, which has not succeeded then."""
    try:
        return app.rota.handle(job_id).job
    except NotFound as error:
        try:
            gate = app.rota.handle(gate_of(job_id)).job
        except NotFound:
            raise error from None
        if gate.state is JobState.SUCCEEDED:  # the job was made, perhaps between the two looks
            return app.rota.handle(job_id).job
        return gate


def _pause_ms(app: FunctionApp) -> int:
    engine = app.rota.engine
    waited_ms = engine.clock.now() - engine.jobs.find(current_job().id).spec.enqueued_at
    return min(max(waited_ms // _SHARE, _FIRST_LOOK_MS), _LAST_LOOK_MS)
