"""Schedulers on one store, some of which are killed in the middle of their work."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from rota.clock import StoreClock
from rota.model.job import Job
from rota.model.schedules.request import CatchUpRequest
from rota.model.schedules.schedule import TickStatus
from rota.store import Store
from rota.store.contract.jobs import JobQuery
from tests.cli.calling import environment
from tests.engine.schedules.installation import SchedulesInstallation
from tests.servers import wait_until
from tests.simulation.scheduler_main import VARIABLE

pytestmark = pytest.mark.stores("sqlite-file", "redis")

PROGRAM = str(Path(__file__).parent / "scheduler_main.py")
FAILPOINTS = ("before_claim:9", "after_claim:2", "before_fire:2", "after_fire:2")
SCHEDULES, TICKS_EACH, EVERY_MS = 10, 30, 500
DEADLINE_S = 240


def start_scheduler(url: str, failpoint: str = "") -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, PROGRAM, url], env=environment(**{VARIABLE: failpoint}))


def all_jobs(store: Store) -> list[Job]:
    found: list[Job] = []
    cursor: str | None = None
    while True:
        page = store.list_jobs(JobQuery(), limit=500, cursor=cursor)
        found += page.jobs
        cursor = page.cursor
        if cursor is None:
            return found


def test_every_tick_happens_once_whoever_dies_when(store: Store, store_url: str) -> None:
    clock = StoreClock(store.now)
    installation = SchedulesInstallation(store, clock)  # type: ignore[arg-type]
    installation.define()
    begin = clock.now() + 1_000
    # They never end: however slow a scheduler is, there is work that brings it to its point.
    catch_up = CatchUpRequest(mode="all", max=1_000)
    wish: dict[str, object] = {"interval": EVERY_MS, "catch_up": catch_up, "overlap": "allow"}
    uuids = [installation.schedule(**wish, start=begin + number * 20) for number in range(SCHEDULES)]
    # One that a slow machine made after its start begins with the next instant.
    starts = {
        uuid: entry.state.nominal for uuid, entry in zip(uuids, store.find_schedules(uuids), strict=True) if entry
    }

    living = [start_scheduler(store_url) for _ in range(2)]
    doomed = [start_scheduler(store_url, failpoint) for failpoint in FAILPOINTS]
    try:
        assert [process.wait(DEADLINE_S) for process in doomed] == [-9] * len(FAILPOINTS)
        living.append(start_scheduler(store_url))
        wait_until(lambda: all(len(installation.rows(uuid)) >= TICKS_EACH for uuid in starts), "enough ticks")
    finally:
        for process in (*living, *doomed):
            process.kill()
            process.wait()

    rows = {uuid: installation.rows(uuid) for uuid in starts}
    jobs = Counter((job.spec.cause.name, job.spec.cause.instant) for job in all_jobs(store) if job.spec.cause)
    expected = {uuid: [start + n * EVERY_MS for n in range(len(rows[uuid]))] for uuid, start in starts.items() if start}
    assert {uuid: [row.nominal for row in some] for uuid, some in rows.items()} == expected
    assert {(row.status, row.count) for some in rows.values() for row in some} == {(TickStatus.FIRED, 1)}
    assert jobs == {(uuid, instant): 1 for uuid, instants in expected.items() for instant in instants}
    assert len({row.job for some in rows.values() for row in some}) == sum(map(len, rows.values()))


@pytest.mark.parametrize("overlap", ["cancel_other", "terminate_other"])
def test_a_job_gives_way_although_the_scheduler_dies_with_the_firing(
    store: Store, store_url: str, overlap: str
) -> None:
    clock = StoreClock(store.now)
    installation = SchedulesInstallation(store, clock)  # type: ignore[arg-type]
    installation.define()
    uuid = installation.schedule(interval=1_000, overlap=overlap)
    wait_until(lambda: installation.tick() >= 0 and installation.claim() != [], "the first job runs")

    doomed = start_scheduler(store_url, "after_fire:1")
    try:
        assert doomed.wait(DEADLINE_S) == -9
    finally:
        doomed.kill()
        doomed.wait()

    old, *new = store.find_jobs([row.job for row in installation.rows(uuid) if row.job])
    assert old is not None
    assert old.cancel_requested
    assert [one and one.cancel_requested for one in new] == [False] * max(len(new), 1)
