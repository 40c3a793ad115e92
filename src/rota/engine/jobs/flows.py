"""Goes on with flows: makes the jobs of the next stage when all of a stage have ended.

The end of a job that is part of a flow is put into the outbox in the step that ends it, and stays there until the next
stage is made. Whoever finds it makes the same jobs, with the same ids, and a job is made once. So nothing is lost and
nothing is doubled, whoever is killed on the way.
"""

import logging
from collections.abc import Sequence

from rota.engine.jobs.intake import Intake, JobRequest
from rota.errors import RotaError, StoreError
from rota.model.flows.flow import Flow
from rota.model.flows.following import calls_after
from rota.model.job import Cause
from rota.store.contract.store import Store

FLOW = "flow"
"""The kind of cause of jobs of later stages."""
_logger = logging.getLogger("rota.flows")


class Flows:
    """The flows of an installation."""

    def __init__(self, store: Store, intake: Intake) -> None:
        self._store = store
        self._intake = intake

    def go_on(self, ended_ids: Sequence[str]) -> int:
        """Jobs have ended: make those that follow them. Returns how many there are."""
        flows = [job.spec.flow for job in self._store.find_jobs(ended_ids) if job is not None and job.spec.flow]
        stages = {(flow.id, flow.first): flow for flow in flows if flow.rest}
        return sum(map(self._go_on, stages.values()))

    def _go_on(self, flow: Flow) -> int:
        calls, after = calls_after(flow, self._store.find_jobs(flow.job_ids())), flow.next_stage()
        requests = [
            JobRequest(
                id=job_id,
                job_type=call.job_type,
                arguments=call.arguments,
                priority=call.priority,
                cause=Cause(FLOW, flow.id),
                flow=after,
            )
            for job_id, call in zip(after.job_ids() if calls else [], calls, strict=True)
        ]
        try:
            return len(self._intake.enqueue(requests)) if requests else 0
        except StoreError:
            raise
        except RotaError as error:
            # What follows cannot be made, now or later: its job type is gone, or the results are too large.
            _logger.error("a flow cannot go on, and ends", extra={"flow": flow.id, "error": str(error)})
            return 0
