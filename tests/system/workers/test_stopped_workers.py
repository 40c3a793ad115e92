"""SIGTERM: nothing is lost, no attempt is used up, nothing is left behind, and it does not take long."""

import time
from pathlib import Path

import pytest

from rota.engine.jobs.intake import JobRequest
from rota.model.ids import new_id
from rota.model.job import JobState
from rota.model.node import Node
from tests.processes import processes_with
from tests.servers import wait_until
from tests.system.crew import Crew, WorkerProcess
from tests.system.installation import SystemInstallation

GRACE_S = 1.0
SLACK_S = 300.0
"""Beyond the second that a worker has after the grace: the machine may be busy with other tests."""
DEAD_MS = 200_000
"""Nobody is so slow that others take it for dead."""
ROUNDS = 3
MARKER = "MARKED_BY_A_TEST"
"""Not one of Rota's own variables, which commands do not inherit."""


@pytest.fixture
def marker() -> str:
    return f"{MARKER}={new_id(int(time.time() * 1000))}"


@pytest.fixture
def marked_crew(url: str, tmp_path: Path, marker: str) -> Crew:
    """Workers whose children can be told from all other processes."""
    name, _, value = marker.partition("=")
    return Crew(url, tmp_path, environment={name: value})


def seconds_to_exit(workers: list[WorkerProcess]) -> float:
    """How long the slowest of them takes; each must end well."""
    start = time.monotonic()
    for worker in workers:
        worker.terminate()
    for worker in workers:
        assert worker.wait(GRACE_S + 1.0 + SLACK_S) == 0, worker.output
    return time.monotonic() - start


def test_workers_that_are_stopped_again_and_again_under_load_lose_and_use_up_nothing(
    installation: SystemInstallation, marked_crew: Crew, marker: str
) -> None:
    installation.define_command("sleep 2.5; true")
    quick = installation.works(2_000, 5, 50)
    slow = [JobRequest(job_type="command", priority=1) for _ in range(6)]
    job_ids = installation.enqueue_all([*quick, *slow])
    exits: list[float] = []

    with marked_crew as crew:
        for round_number in range(ROUNDS):
            workers = [crew.hire(grace_s=GRACE_S, dead_after_ms=DEAD_MS) for _ in range(2)]
            crew.await_beats(installation.store)
            installation.await_ends((round_number + 1) * 50)
            exits.append(seconds_to_exit(workers))
            assert installation.store.count_jobs(installation.queue)[JobState.RUNNING] == 0
            assert processes_with(marker) == []
        for _ in range(2):
            crew.hire(dead_after_ms=DEAD_MS)
        installation.await_end()

        assert max(exits) <= GRACE_S + 1.0 + SLACK_S
        jobs = installation.jobs(job_ids)
        assert {job.state for job in jobs} == {JobState.SUCCEEDED}
        assert {job.attempts for job in jobs} == {1}
        assert {job.deaths for job in jobs} == {0}
        assert set(installation.ledger.ends()) == set(job_ids[: len(quick)])
        assert max(installation.ledger.ends().values()) == 1, "a job that was let end was run again"


def is_draining(record: Node | None) -> bool:
    return record is not None and record.draining


def test_the_second_signal_stops_a_worker_at_once(
    installation: SystemInstallation, marked_crew: Crew, marker: str
) -> None:
    installation.define_command("sleep 600 & sleep 600")
    (job_id,) = installation.enqueue_all([JobRequest(job_type="command")])
    with marked_crew as crew:
        worker = crew.hire(grace_s=3_600)
        installation.wait(lambda: len(processes_with(marker)) >= 3, "the command and its children")

        # Two signals of a kind at once may arrive as one, so the first must have been heard.
        worker.terminate()
        installation.wait(lambda: is_draining(worker.record(installation.store)), "the worker to say that it stops")
        assert installation.job(job_id).state is JobState.RUNNING
        start = time.monotonic()
        worker.terminate()
        assert worker.wait(GRACE_S + 1.0 + SLACK_S) == 0

        assert time.monotonic() - start <= 1.0 + SLACK_S
        assert installation.job(job_id).state is JobState.QUEUED
        assert installation.job(job_id).attempts == 0
        wait_until(lambda: processes_with(marker) == [], "the children to be gone")


def test_a_worker_that_is_stopped_while_it_starts_goes_without_a_trace(
    installation: SystemInstallation, crew: Crew
) -> None:
    worker = crew.hire()
    installation.wait(lambda: worker.record(installation.store) is not None, "its first beat")

    worker.terminate()

    assert worker.wait(GRACE_S + 1.0 + SLACK_S) == 0
    assert installation.store.list_nodes(since=0) == []
