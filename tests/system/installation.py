"""An installation as its user sees it: hands in jobs that keep a ledger, and looks at what became of them."""

import random
from collections.abc import Callable, Iterable
from pathlib import Path

from rota.clock import SystemClock
from rota.engine.definitions.definitions import DEFAULT_NODE_TYPE
from rota.engine.engine import Engine
from rota.engine.jobs.intake import JobRequest
from rota.model.ids import new_id
from rota.model.job import Job, JobState
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.store import Store
from tests.contract.building import find
from tests.servers import wait_until
from tests.system.ledger import Ledger

BATCH = 500


class Site:
    """A store with the job types of `tests.system.jobs`, and `note`, which does nothing, and `command`."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store = store
        self.ledger = Ledger(folder / "ledger")
        self.clock = SystemClock()
        self.engine = Engine(store, self.clock)
        definitions = self.engine.definitions
        self.queue = definitions.ensure_node_type(NodeType(uuid=self.new_id(), name=DEFAULT_NODE_TYPE)).uuid
        definitions.define([], [self._python(name) for name in ("work", "exit_process", "kill_process", "nothing")])
        definitions.define([], [self._python(name, process=True) for name in ("sleep_in_process", "quick_in_process")])
        definitions.define_job_type(JobType(uuid=self.new_id(), name="note", executor="log"))
        self.definitions = definitions
        self.intake = self.engine.intake

    def define_command(self, command: str | list[str]) -> None:
        """Define the job type `command`."""
        metadata: dict[str, object] = {"command": command}
        self.definitions.define_job_type(
            JobType(uuid=self.new_id(), name="command", executor="bash", metadata=metadata)
        )

    def define_python(self, name: str) -> None:
        """Define a job type of a function of `tests.system.jobs`."""
        self.definitions.define_job_type(self._python(name))

    def work(self, ms: int) -> JobRequest:
        """A job that takes so many milliseconds."""
        return JobRequest(job_type="work", arguments={"ledger": str(self.ledger.path), "ms": ms})

    def works(self, count: int, low_ms: int, high_ms: int) -> list[JobRequest]:
        """Jobs that take between so many milliseconds, by chance."""
        return [self.work(random.randint(low_ms, high_ms)) for _ in range(count)]

    def poison(self, name: str) -> JobRequest:
        return JobRequest(job_type=name, arguments={"ledger": str(self.ledger.path)})

    def enqueue(self, requests: Iterable[JobRequest]) -> list[str]:
        wanted = list(requests)
        parts = (wanted[start : start + BATCH] for start in range(0, len(wanted), BATCH))
        return [admission.job_id for part in parts for admission in self.intake.enqueue(part)]

    def job(self, job_id: str) -> Job:
        return find(self.store, job_id)

    def jobs(self, job_ids: list[str]) -> list[Job]:
        """All of them; one that is not there is an error."""
        parts = (job_ids[start : start + BATCH] for start in range(0, len(job_ids), BATCH))
        found = [job for part in parts for job in self.store.find_jobs(part)]
        lost = sum(job is None for job in found)
        assert not lost, f"{lost} of {len(job_ids)} jobs are lost"
        return [job for job in found if job is not None]

    def live_count(self) -> int:
        counts = self.store.count_jobs(self.queue)
        return sum(counts[state] for state in (JobState.DELAYED, JobState.QUEUED, JobState.RUNNING))

    def running_on(self, node: str) -> set[str]:
        """The jobs that the store holds for a node."""
        return {claim.spec.id for claim in self.store.claims_of_node(self.queue, node, limit=100_000)}

    def await_end(self, *, deadline_s: float = 90.0) -> None:
        """Wait until no job is live."""
        wait_until(lambda: self.live_count() == 0, "all jobs to end", deadline_s=deadline_s)

    def await_ends(self, count: int) -> None:
        """Wait until the ledger has so many ends."""
        self.wait(lambda: self.ledger.count("end") >= count, f"{count} jobs to end")

    def wait(self, is_true: Callable[[], bool], what: str) -> None:
        wait_until(is_true, what, deadline_s=90.0)

    def assert_each_ended_once(self, job_ids: list[str]) -> list[Job]:
        """Nothing lost, nothing doubled, nothing left: every job succeeded, and there are no others."""
        jobs = self.jobs(job_ids)
        states = {state: count for state, count in self.store.count_jobs(self.queue).items() if count}
        assert states == {JobState.SUCCEEDED: len(job_ids)}
        assert {job.state for job in jobs} == {JobState.SUCCEEDED}
        assert {job.attempts for job in jobs} == {1}
        assert set(self.ledger.ends()) == {job.id for job in jobs if job.spec.arguments}
        return jobs

    def _python(self, name: str, **options: object) -> JobType:
        metadata: dict[str, object] = {"function": f"tests.system.jobs:{name}", **options}
        return JobType(uuid=self.new_id(), name=name, executor="python", metadata=metadata)

    def new_id(self) -> str:
        return new_id(self.clock.now())
