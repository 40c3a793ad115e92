"""`kill -9` of workers: no job is lost, each ends once, and those of the dead run again in time."""

import random
import signal
import time

import pytest

from rota.model.job import JobState
from rota.model.runs.settlement import SUSPECT_DEATHS
from tests.system.crew import Crew, WorkerProcess
from tests.system.installation import SystemInstallation

LONG_MS = 200_000
"""Dead times that nobody reaches: a process that is gone is found by its lock, and a slow machine kills no other."""
RUN_AGAIN_WITHIN_MS = LONG_MS // 2
"""Only the lock can tell so soon."""
ENOUGH = 500
"""Jobs that keep all workers at work while a test looks at them."""


def kill_at_work(
    installation: SystemInstallation, victim: WorkerProcess, job_ids: list[str]
) -> tuple[set[str], set[str]]:
    """Kill a worker that has jobs in hand. Tells which, and which of them the store has as running, when it stood
    still: as soon as it is gone others have them. More jobs come if they run out before, and are added to the ids."""

    def stands_still_with_jobs() -> bool:
        if installation.live_count() < ENOUGH:
            job_ids.extend(installation.enqueue_all(installation.works(ENOUGH, 5, 50)))
        victim.freeze()
        if installation.running_on(victim.node(installation.store)):
            return True
        victim.send_signal(signal.SIGCONT)
        return False

    installation.wait(stands_still_with_jobs, "the worker to have jobs in hand")
    node = victim.node(installation.store)
    in_flight, begun = installation.running_on(node), installation.begun_on(node)
    victim.kill9()
    return in_flight, begun


def test_a_worker_among_four_that_is_killed_loses_no_job_and_doubles_only_what_it_had_in_hand(
    installation: SystemInstallation, crew: Crew
) -> None:
    for _ in range(4):
        crew.hire(threads=8, dead_after_ms=LONG_MS)
    crew.await_beats(installation.store)
    job_ids = installation.enqueue_all(installation.works(2_000, 5, 50))
    installation.await_ends(500)
    victim = crew.workers[0]
    node = victim.node(installation.store)

    in_flight, begun = kill_at_work(installation, victim, job_ids)
    killed_at = installation.store.now()
    installation.await_end()

    jobs = installation.assert_each_ended_once(job_ids)
    started_twice = {job_id for job_id, count in installation.ledger.starts().items() if count > 1}
    assert started_twice <= in_flight
    assert max(installation.ledger.starts().values()) <= 2
    orphans = [job for job in jobs if job.id in in_flight]
    assert {job.id for job in orphans if job.deaths == 1} == begun
    assert {job.id for job in orphans if job.deaths == 0} == in_flight - begun
    assert all(job.node != node for job in orphans)
    assert max(job.started_at or 0 for job in orphans) - killed_at <= RUN_AGAIN_WITHIN_MS


def test_workers_that_are_killed_one_after_the_other_lose_no_job(installation: SystemInstallation, crew: Crew) -> None:
    for _ in range(3):
        crew.hire(dead_after_ms=LONG_MS)
    crew.await_beats(installation.store)
    job_ids = installation.enqueue_all(installation.works(2_000, 5, 50))

    lost_owners = 0
    for kill in range(5):
        installation.await_ends((kill + 1) * 200)
        victim = random.choice([worker for worker in crew.workers if worker.is_running])
        in_flight, _ = kill_at_work(installation, victim, job_ids)
        lost_owners += len(in_flight)
        crew.hire(dead_after_ms=LONG_MS)
    installation.await_end()

    installation.assert_each_ended_once(job_ids)
    assert sum(count - 1 for count in installation.ledger.starts().values()) <= lost_owners


@pytest.mark.parametrize("poison", ["exit_process", "kill_process"])
def test_a_job_that_kills_its_node_is_quarantined_and_its_neighbours_survive(
    installation: SystemInstallation, crew: Crew, poison: str
) -> None:
    before, (bad,), after = (
        installation.enqueue_all(installation.works(100, 5, 20)),
        installation.enqueue_all([installation.poison(poison)]),
        installation.enqueue_all(installation.works(100, 5, 20)),
    )
    for _ in range(2):
        crew.hire(dead_after_ms=LONG_MS)

    deadline = time.monotonic() + 300
    while installation.live_count():
        assert time.monotonic() < deadline, "the jobs do not come to an end"
        for _ in range(2 - sum(worker.is_running for worker in crew.workers)):
            crew.hire(dead_after_ms=LONG_MS)
        installation.wait(
            lambda: installation.live_count() == 0 or sum(worker.is_running for worker in crew.workers) < 2, "news"
        )

    job = installation.job(bad)
    assert job.state is JobState.FAILED
    assert job.deaths == SUSPECT_DEATHS
    assert isinstance(job.errors, dict)
    assert job.errors["type"] == "poison"
    # At last it ran where it could kill nobody but itself. If it was claimed ahead, its first death may have come
    # before the store was told that it had begun, and is not counted then.
    dead = sum(not worker.is_running for worker in crew.workers)
    assert dead in (SUSPECT_DEATHS, SUSPECT_DEATHS + 1)
    assert installation.ledger.starts()[bad] == dead + 1
    assert {one.state for one in installation.jobs(before + after)} == {JobState.SUCCEEDED}
