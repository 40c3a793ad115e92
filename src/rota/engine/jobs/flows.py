"""Goes on with flows: makes the jobs of the next stage when all of a stage have ended.

The end of a job that is part of a flow is put into the outbox in the step that ends it, and stays there until the next
stage is made. Whoever finds it makes the same jobs, with the same ids, and a job is made once. So nothing is lost and
nothing is doubled, whoever is killed on the way.
"""

import logging
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager

from rota.engine.definitions.definitions import Definitions
from rota.engine.jobs.intake import Intake, JobRequest
from rota.engine.node.duty import Round
from rota.errors import RotaError, StoreError, StoreUnavailable
from rota.model.flows.flow import Flow, FlowCall
from rota.model.flows.following import calls_after, has_ended
from rota.model.job import Cause, Job
from rota.model.runs.settlement import job_of_event
from rota.store.contract.store import Store

FLOW = "flow"
"""The kind of cause of jobs of later stages."""
_ANYWHERE = "anywhere"
"""Where jobs are looked for that are not in the queue of the others of their stage."""
_MOST_READ = 10_000
"""Where more ends wait than this, that of any job may be among them."""
_logger = logging.getLogger("rota.flows")


class Flows:
    """The flows of an installation."""

    def __init__(self, store: Store, definitions: Definitions, intake: Intake) -> None:
        self._store = store
        self._definitions = definitions
        self._intake = intake

    def go_on(self, ended_ids: Sequence[str], queue: str, *, round: Round, although_missing: bool = False) -> set[str]:
        """Jobs of a queue have ended: make those that follow them. Returns after which that could not be done, one per
        stage: `round` has the error, or it cannot be told yet whether something follows, because the others of the
        stage have ended too, or are not there. These may be on their way into another queue, or gone;
        `although_missing` says that they are gone.

        A place that cannot be reached is tried once, however many stages need it: a server that hangs takes its time
        with each try.
        """
        jobs = [job for job in self._store.find_jobs(ended_ids, queue=queue) if job is not None] if ended_ids else []
        stages = {(job.spec.flow.id, job.spec.flow.first): job for job in jobs if job.spec.flow and job.spec.flow.rest}
        away = set[str | None]()
        settled = round.each(stages.values(), lambda job: job.id if self._go_on(job, although_missing, away) else None)
        return {job.id for job in stages.values()}.difference(settled)

    def may_go_on(self, stage: Flow) -> bool:
        """Whether jobs of the next stage may still be made: one of this stage has not ended, or its end is still in the
        outbox, where it stays until they are."""
        members = [job for job in self._store.find_jobs(stage.job_ids()) if job is not None]
        if not has_ended(members):
            return True
        ids = {job.id for job in members}
        return any(self._holds_end_of(ids, queue) for queue in {job.spec.queue for job in members})

    def _holds_end_of(self, job_ids: set[str], queue: str) -> bool:
        events = self._store.read_outbox(queue, limit=_MOST_READ)
        return len(events) == _MOST_READ or any(job_of_event(event) in job_ids for event in events)

    def _go_on(self, job: Job, although_missing: bool, away: set[str | None]) -> bool:
        """Whether it is settled what follows the stage of a job. What is found to be away is added to `away`."""
        flow = job.spec.flow
        if flow is None:
            return True
        members = self._store.find_jobs(flow.job_ids(), queue=job.spec.queue)
        if None in members:
            if _ANYWHERE in away:
                return False
            with _noted({_ANYWHERE}, away):
                members = self._store.find_jobs(flow.job_ids())
        if None in members and has_ended(members) and not although_missing:
            return False
        return self._make_in_reach(flow, calls_after(flow, members), away, job.spec.queue)

    def _make_in_reach(self, flow: Flow, calls: Sequence[FlowCall], away: set[str | None], own: str) -> bool:
        queues = {self._definitions.known_queue(call.job_type) for call in calls}
        if queues & away:
            return False
        with _noted(queues - {own}, away):
            self._make(flow, calls)
        return True

    def _make(self, flow: Flow, calls: Sequence[FlowCall]) -> None:
        if not calls:
            return
        after = flow.next_stage()
        requests = [
            JobRequest(
                id=job_id,
                job_type=call.job_type,
                arguments=call.arguments,
                priority=call.priority,
                cause=Cause(FLOW, flow.id),
                flow=after,
            )
            for job_id, call in zip(after.job_ids(), calls, strict=True)
        ]
        try:
            self._intake.enqueue(requests)
        except StoreError:
            raise
        except RotaError as error:
            # What follows cannot be made, now or later: its job type is gone, or the results are too large.
            _logger.error("a flow cannot go on, and ends", extra={"flow": flow.id, "error": str(error)})


@contextmanager
def _noted(places: AbstractSet[str | None], away: set[str | None]) -> Iterator[None]:
    """What cannot be reached within is noted."""
    try:
        yield
    except StoreUnavailable:
        away |= places
        raise
