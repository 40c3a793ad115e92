"""An installation as a test sets it up: a store, its definitions, and somebody who hands jobs in and looks at them."""

from collections.abc import Iterable
from functools import partial

from rota.clock import Clock, SystemClock
from rota.engine.definitions.definitions import DEFAULT_NODE_TYPE
from rota.engine.engine import Engine
from rota.engine.jobs.intake import JobRequest
from rota.model.ids import new_id
from rota.model.job import Job, JobState
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.store import Store
from tests.contract.building import find
from tests.engine.working import until

BATCH = 500


class Installation:
    """As its user sees it. Has definitions of its own, as another process would."""

    functions = "tests.engine.job_functions"
    """The module of the functions that `define_python` defines."""

    def __init__(self, store: Store, clock: Clock | None = None, *, threads: int = 4) -> None:
        self.store = store
        self.clock = clock or SystemClock()
        self.engine = Engine(store, self.clock)
        self.definitions = self.engine.definitions
        self.intake = self.engine.intake
        self.queue = self.definitions.ensure_node_type(
            NodeType(uuid=self.new_id(), name=DEFAULT_NODE_TYPE, thread_count=threads)
        ).uuid

    def new_id(self) -> str:
        return new_id(self.clock.now())

    def define(
        self,
        name: str = "report",
        executor: str = "log",
        metadata: dict[str, object] | None = None,
        **rules: object,
    ) -> str:
        """Define a job type; returns its name."""
        fields = {"uuid": self.new_id(), "name": name, "executor": executor, "metadata": metadata or {}}
        self.definitions.define_job_type(JobType(**(fields | rules)))  # type: ignore[arg-type]
        return name

    def define_python(self, function: str, *, process: bool = False, **rules: object) -> str:
        """Define a job type that calls a function of `functions`; returns its name, which is the function's."""
        metadata: dict[str, object] = {"function": f"{self.functions}:{function}"}
        return self.define(function, "python", metadata | ({"process": True} if process else {}), **rules)

    def define_command(self, command: str | list[str], **rules: object) -> str:
        """Define the job type `command`, which runs it; returns its name."""
        return self.define("command", "bash", {"command": command}, **rules)

    def enqueue(self, job_type: str = "report", arguments: dict[str, object] | None = None, **inputs: object) -> str:
        """Hand in one job; returns the id of the surviving one."""
        return self.enqueue_all([JobRequest(job_type=job_type, arguments=arguments or {}, **inputs)])[0]  # type: ignore[arg-type]

    def enqueue_all(self, requests: Iterable[JobRequest]) -> list[str]:
        """Hand in many jobs; returns the ids of the surviving ones."""
        wanted = list(requests)
        parts = (wanted[start : start + BATCH] for start in range(0, len(wanted), BATCH))
        return [admission.job_id for part in parts for admission in self.intake.enqueue(part)]

    def job(self, job_id: str) -> Job:
        """The job; one that is not there is an error."""
        return find(self.store, job_id)

    def jobs(self, job_ids: list[str]) -> list[Job]:
        """All of them; one that is not there is an error."""
        parts = (job_ids[start : start + BATCH] for start in range(0, len(job_ids), BATCH))
        found = [job for part in parts for job in self.store.find_jobs(part)]
        lost = sum(job is None for job in found)
        assert not lost, f"{lost} of {len(job_ids)} jobs are lost"
        return [job for job in found if job is not None]

    def cancel(self, job_id: str) -> None:
        self.store.cancel_jobs([job_id], now=self.clock.now())

    def counts(self) -> dict[JobState, int]:
        """How many jobs of the default queue are in each state that has any."""
        return {state: count for state, count in self.store.count_jobs(self.queue).items() if count}

    def messages(self, job_id: str) -> list[str]:
        """What stands in the log of a job."""
        return [entry.message for entry in self.store.read_logs(job_id).entries]

    async def ended(self, *job_ids: str) -> list[Job]:
        """The jobs, as soon as all of them have ended."""
        for job_id in job_ids:
            await until(partial(self._has_ended, job_id), "the jobs to end")
        return [self.job(job_id) for job_id in job_ids]

    def _has_ended(self, job_id: str) -> bool:
        return self.job(job_id).state.is_final

    async def running(self, job_id: str) -> Job:
        """The job, as soon as it runs."""
        await until(lambda: self.job(job_id).state is JobState.RUNNING, "the job to run")
        return self.job(job_id)
