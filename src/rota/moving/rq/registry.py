"""The jobs of a queue by what became of them: `queue.failed_job_registry.get_job_ids()`."""

from collections.abc import Sequence
from typing import ClassVar, Protocol

from rota.errors import NotFound
from rota.model.job import Job as EngineJob
from rota.model.job import JobState
from rota.moving.common.identity import job_id_of
from rota.moving.rq.apps import FunctionApp, app_for
from rota.moving.rq.dependencies import GATE
from rota.moving.rq.job import Job, job_waiting_at
from rota.settings.definition_ids import definition_uuid
from rota.store.contract.jobs import JobQuery

_MOST = 1_000


class OfApp(Protocol):
    """A queue."""

    name: str
    app: FunctionApp


class BaseRegistry:
    """The jobs of a queue in some states, the newest first, 1,000 at most. Ids are Rota's, which are UUIDs."""

    states: ClassVar[frozenset[JobState]]
    has_gates: ClassVar[bool] = False
    """Whether it is about jobs that wait for others."""

    def __init__(self, name: str = "default", connection: object = None, queue: OfApp | None = None) -> None:
        self.name = name if queue is None else queue.name
        self._app = app_for(connection) if queue is None else queue.app

    def get_job_ids(self, start: int = 0, end: int = -1) -> list[str]:
        found = [job_waiting_at(job) if self.has_gates else job.id for job in self._jobs()]
        return found[start:] if end == -1 else found[start : end + 1]

    @property
    def count(self) -> int:
        return len(self._jobs())

    def __len__(self) -> int:
        return self.count

    def __contains__(self, item: object) -> bool:
        name = item.id if isinstance(item, Job) else item
        return job_id_of("job_id", name) in self.get_job_ids()

    def _jobs(self) -> Sequence[EngineJob]:
        definitions = self._app.rota.engine.definitions
        try:
            query = JobQuery(queue=definitions.node_type(self.name).uuid, states=self.states)
        except NotFound:
            return []
        jobs = self._app.rota.engine.store.list_jobs(query, limit=_MOST).jobs
        gate = definition_uuid("job_types", GATE)
        return [job for job in jobs if (job.spec.job_type == gate) is self.has_gates]


class StartedJobRegistry(BaseRegistry):
    states = frozenset({JobState.RUNNING})


class FinishedJobRegistry(BaseRegistry):
    states = frozenset({JobState.SUCCEEDED})


class FailedJobRegistry(BaseRegistry):
    states = frozenset({JobState.FAILED})

    def requeue(self, job_or_id: Job | str) -> Job:
        """Bring a failed job back."""
        found = job_or_id if isinstance(job_or_id, Job) else Job(self._app, job_or_id)
        found.requeue()
        return found


class ScheduledJobRegistry(BaseRegistry):
    states = frozenset({JobState.DELAYED})


class CanceledJobRegistry(BaseRegistry):
    states = frozenset({JobState.CANCELLED})


class DeferredJobRegistry(BaseRegistry):
    states = frozenset({JobState.DELAYED, JobState.QUEUED, JobState.RUNNING})
    has_gates = True
