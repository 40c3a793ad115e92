"""An installation of several processes: its jobs keep a ledger, and a test looks at what became of them."""

import random
from collections.abc import Callable
from pathlib import Path

from rota.engine.jobs.intake import JobRequest
from rota.model.job import Job, JobState
from rota.store import Store
from tests.installation import Installation
from tests.servers import wait_until
from tests.system.ledger import Ledger


class SystemInstallation(Installation):
    """A store with the job types of `tests.system.jobs`, and `note`, which does nothing."""

    functions = "tests.system.jobs"

    def __init__(self, store: Store, folder: Path) -> None:
        super().__init__(store, threads=16)
        self.ledger = Ledger(folder / "ledger")
        for name in ("work", "exit_process", "kill_process", "nothing"):
            self.define_python(name)
        for name in ("sleep_in_process", "quick_in_process"):
            self.define_python(name, process=True)
        self.define("note")

    def work(self, ms: int) -> JobRequest:
        """A job that takes so many milliseconds."""
        return JobRequest(job_type="work", arguments={"ledger": str(self.ledger.path), "ms": ms})

    def works(self, count: int, low_ms: int, high_ms: int) -> list[JobRequest]:
        """Jobs that take between so many milliseconds, by chance."""
        return [self.work(random.randint(low_ms, high_ms)) for _ in range(count)]

    def poison(self, name: str) -> JobRequest:
        return JobRequest(job_type=name, arguments={"ledger": str(self.ledger.path)})

    def live_count(self) -> int:
        counts = self.store.count_jobs(self.queue)
        return sum(counts[state] for state in (JobState.DELAYED, JobState.QUEUED, JobState.RUNNING))

    def running_on(self, node: str) -> set[str]:
        """The jobs that the store holds for a node."""
        return {claim.spec.id for claim in self.store.claims_of_node(self.queue, node, limit=100_000)}

    def begun_on(self, node: str) -> set[str]:
        """Those of them that the store has as running; the others wait in the node's buffer, or began a moment ago."""
        claims = self.store.claims_of_node(self.queue, node, limit=100_000)
        return {claim.spec.id for claim in claims if claim.is_begun}

    def await_end(self, *, deadline_s: float = 300.0) -> None:
        """Wait until no job is live."""
        wait_until(lambda: self.live_count() == 0, "all jobs to end", deadline_s=deadline_s)

    def await_ends(self, count: int) -> None:
        """Wait until the ledger has so many ends."""
        self.wait(lambda: self.ledger.count("end") >= count, f"{count} jobs to end")

    def wait(self, is_true: Callable[[], bool], what: str) -> None:
        wait_until(is_true, what, deadline_s=300.0)

    def assert_each_ended_once(self, job_ids: list[str]) -> list[Job]:
        """Nothing lost, nothing doubled, nothing left: every job succeeded, and there are no others."""
        jobs = self.jobs(job_ids)
        assert self.counts() == {JobState.SUCCEEDED: len(job_ids)}
        assert {job.state for job in jobs} == {JobState.SUCCEEDED}
        assert {job.attempts for job in jobs} == {1}
        assert set(self.ledger.ends()) == {job.id for job in jobs if job.spec.arguments}
        return jobs
