"""What follows when the jobs of a stage of a flow have ended. The only place with these rules."""

from collections.abc import Sequence

from rota.model.flows.flow import Flow, FlowCall
from rota.model.job import Job, JobState


def has_ended(members: Sequence[Job | None]) -> bool:
    """Whether a stage has, whose jobs are `members`. One that is not there, None, was deleted or is forgotten by
    history: it does not run any more."""
    return all(job is None or job.state.is_final for job in members)


def calls_after(flow: Flow, members: Sequence[Job | None]) -> list[FlowCall]:
    """The calls of the next stage, with the results of this one, whose jobs are `members`. None as long as one of them
    has not ended; none at all if one did not succeed and the next stage is not for that. Of one that is not there
    nobody knows that it succeeded."""
    if not flow.rest or not has_ended(members):
        return []
    stage = flow.rest[0]
    has_succeeded = [job is not None and job.state is JobState.SUCCEEDED for job in members]
    if not stage.although_failed and not all(has_succeeded):
        return []
    results = [job.results if job and done else None for job, done in zip(members, has_succeeded, strict=True)]
    value = results if flow.is_group else results[0]
    return [_with_result(call, value) for call in stage.calls]


def _with_result(call: FlowCall, value: object) -> FlowCall:
    if call.into is None:
        return call
    arguments = {**call.arguments, call.into: value}
    return FlowCall(job_type=call.job_type, arguments=arguments, priority=call.priority)
