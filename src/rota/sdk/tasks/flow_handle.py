"""A flow as the program that enqueued it sees it."""

from typing import Generic, TypeVar, cast

from msgspec import Struct

from rota.errors import JobFailed, NotFound
from rota.model.flows.flow import Flow
from rota.model.job import Job
from rota.model.runs.progress import Progress
from rota.sdk.tasks.connection import Connection
from rota.sdk.tasks.handle import Handle

R_co = TypeVar("R_co", covariant=True)


class FlowHandle(Struct, Generic[R_co], frozen=True, eq=False):
    """The jobs of one flow, stage by stage. Those of later stages are made when the ones before them have ended."""

    _connection: Connection
    _flow: Flow
    """As the jobs of the first stage know it."""

    def __repr__(self) -> str:
        return f"<flow {self.id}>"

    @property
    def id(self) -> str:
        return self._flow.id

    @property
    def handles(self) -> list[list[Handle[object]]]:
        """Of all jobs, by stage, also of those that are not made yet."""
        return [[Handle(self._connection, job_id) for job_id in stage.job_ids()] for stage in self._stages()]

    @property
    def progress(self) -> Progress:
        """How many of its jobs have ended, and how many there are."""
        jobs = self._jobs()
        latest = _latest(jobs)
        ended = sum(job.state.is_final if job else n < latest for n, stage in enumerate(jobs) for job in stage)
        return Progress(done=ended, total=sum(map(len, jobs)), time=self._connection.engine.clock.now())

    def get(self, timeout: float | None = None) -> R_co:
        """Wait for the end of the last stage, this many seconds at most (`TimeoutError`), and give its result: of a
        group a list. `JobFailed` if a job failed or was cancelled, and what follows does not begin; `NotFound` if a job
        is gone, or could not be made, and the flow does not go on."""
        clock, stages = self._connection.engine.clock, self._stages()
        end = None if timeout is None else clock.monotonic() + timeout
        results: list[object] = []
        for number in range(_latest(self._jobs()), len(stages)):
            results = []
            for job_id in stages[number].job_ids():
                left = None if end is None else max(end - clock.monotonic(), 0.0)
                results.append(self._result(stages, number, job_id, left))
        return cast(R_co, results if stages[-1].is_group else results[0])

    async def aget(self, timeout: float | None = None) -> R_co:
        """The same as `get`, without blocking the event loop meanwhile."""
        import asyncio

        return await asyncio.to_thread(self.get, timeout)

    def cancel(self) -> bool:
        """Cancel those of its jobs that are there and have not ended. Nothing follows them, but what was to follow
        `although_failed`. False if there was nothing to cancel."""
        answers = [one.cancel() for stage in self.handles for one in stage]
        return any(answers)

    def _result(self, stages: list[Flow], number: int, job_id: str, timeout: float | None) -> object:
        """Of one job of a stage; None if it has none and the next stage is for that."""
        rest, handle = stages[number].rest, Handle[object](self._connection, job_id)
        try:
            return handle.get_when_made(timeout, may_come=lambda: self._may_come(stages, number))
        except (JobFailed, NotFound) as error:
            if rest and rest[0].although_failed:
                return None
            if isinstance(error, NotFound):
                raise self._lost(number, job_id) from None
            raise

    def _may_come(self, stages: list[Flow], number: int) -> bool:
        """Whether a job of this stage that is not there may still be made; those of the first were, with the flow."""
        return number > 0 and self._connection.engine.flows.may_go_on(stages[number - 1])

    def _lost(self, number: int, job_id: str) -> NotFound:
        hint = (
            f"it is of stage {number + 1} of {len(self._stages())} of flow {self.id}, which has no result without it: "
            "it was deleted, history forgot it, or it could not be made, and then the log of the worker says why"
        )
        return NotFound("job", job_id, hint)

    def _jobs(self) -> list[list[Job | None]]:
        """By stage; None for those that are not there."""
        stages = [stage.job_ids() for stage in self._stages()]
        found = self._connection.engine.store.find_jobs([job_id for ids in stages for job_id in ids])
        jobs = {job.id: job for job in found if job}
        return [[jobs.get(job_id) for job_id in ids] for ids in stages]

    def _stages(self) -> list[Flow]:
        stages = [self._flow]
        while stages[-1].rest:
            stages.append(stages[-1].next_stage())
        return stages


def _latest(jobs: list[list[Job | None]]) -> int:
    """The number of the last stage of which a job is there. Those before it are over, and history may have forgotten
    them."""
    return max((number for number, stage in enumerate(jobs) if any(stage)), default=0)
