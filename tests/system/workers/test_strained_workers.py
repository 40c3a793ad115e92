"""A worker that runs out of file descriptors: that is its own trouble and not the jobs'."""

import pytest

from rota.engine.jobs.intake import JobRequest
from rota.model.job import JobState
from tests.system.crew import Crew, WorkerProcess
from tests.system.installation import SystemInstallation

DESCRIPTORS = 120
"""Enough for a node and a few commands, each of which takes three."""


@pytest.mark.parametrize("job_type", ["command", "quick_in_process"])
def test_jobs_for_which_there_is_no_descriptor_go_back_and_end_well(
    installation: SystemInstallation, crew: Crew, job_type: str
) -> None:
    installation.define_command("sleep 0.2")
    count = 150 if job_type == "command" else 60
    job_ids = installation.enqueue_all(JobRequest(job_type=job_type) for _ in range(count))

    worker = crew.hire(threads=150, descriptors=DESCRIPTORS)
    installation.wait(lambda: "run out of file descriptors" in trouble_of(worker, installation), "the worker to say so")
    installation.await_end()

    jobs = installation.jobs(job_ids)
    assert {job.state for job in jobs} == {JobState.SUCCEEDED}, [job.errors for job in jobs if job.errors][:1]
    assert {job.attempts for job in jobs} == {1}
    assert worker.output.count("claiming fewer jobs") == 1


def trouble_of(worker: WorkerProcess, installation: SystemInstallation) -> str:
    record = worker.record(installation.store)
    return (record.trouble if record else None) or ""
