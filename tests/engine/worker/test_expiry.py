"""A job that expires is one that nobody needs unless it begins in time; one that began is tried again as ever."""

import asyncio
from collections.abc import Callable

import pytest
from msgspec import structs

from rota.engine.executors.executor import Run
from rota.engine.jobs.intake import JobRequest
from rota.errors import NodeStrained
from rota.model.job import Claim, Job, JobState
from rota.model.job_type import JobType
from rota.model.runs.outcome import Outcome, succeeded
from rota.model.runs.settlement import Settlement
from rota.store import Store
from tests.contract.building import NOW, claim_one, die, enqueue, fail_and_retry, finish, interrupt, reclaim
from tests.engine.working import working
from tests.installation import Installation

pytestmark = pytest.mark.stores("sqlite-file", "redis")


def expiring(installation: Installation) -> str:
    """A job that was handed in long ago, and expired long ago."""
    request = JobRequest(job_type=installation.define_python("nothing"))
    made = installation.intake.make_spec(request, NOW)
    return enqueue(installation.store, structs.replace(made, expires_at=NOW + 1))[0]


def run(installation: Installation, job_id: str) -> Job:
    async def scene() -> Job:
        async with working(installation.store):
            return (await installation.ended(job_id))[0]

    return asyncio.run(scene())


def test_a_job_that_never_began_is_cancelled(store: Store, installation: Installation) -> None:
    job = run(installation, expiring(installation))

    assert job.state is JobState.CANCELLED
    assert job.errors == {"type": "expired", "message": "it was not begun before it expired"}


@pytest.mark.parametrize(("settle", "carry_out"), [(fail_and_retry, finish), (interrupt, finish), (die, reclaim)])
def test_a_job_that_began_in_time_is_run_again_however_late(
    store: Store,
    installation: Installation,
    settle: Callable[[Claim], Settlement],
    carry_out: Callable[[Store, Settlement], object],
) -> None:
    job_id = expiring(installation)
    carry_out(store, settle(claim_one(store, installation.queue)))

    assert run(installation, job_id).state is JobState.SUCCEEDED


class StrainedOnce:
    """An executor that has no thread for the first run."""

    def __init__(self) -> None:
        self._runs = 0

    def check(self, job_type: JobType) -> None:
        pass

    async def run(self, run: Run) -> Outcome:
        self._runs += 1
        if self._runs == 1:
            raise NodeStrained("threads")
        return succeeded()

    async def close(self) -> None:
        pass


def test_a_job_that_could_not_be_started_has_not_begun(store: Store, installation: Installation) -> None:
    request = JobRequest(job_type=installation.define_python("nothing"), expires_ms=10**9)

    async def scene() -> Job:
        async with working(store) as node:
            node.provide("python", StrainedOnce())
            job_id = installation.intake.enqueue([request])[0].job_id
            return (await installation.ended(job_id))[0]

    job = asyncio.run(scene())

    assert (job.state, job.past) == (JobState.SUCCEEDED, ())
