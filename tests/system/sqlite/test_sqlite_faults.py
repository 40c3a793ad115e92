"""A SQLite file whose writers are killed and whose disk is full."""

import os
import random
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.engine.jobs.intake import JobRequest
from rota.errors import StoreFull
from rota.model.job import JobState
from rota.store import open_store
from tests.system.crew import Crew, run_python
from tests.system.installation import SystemInstallation

KILLS = 20
BALLAST = 1024 * 1024
ID_LENGTH = 36


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/rota.db"


def assert_sound(path: Path) -> None:
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()


def test_writers_that_are_killed_in_the_middle_lose_nothing_that_was_accepted(
    installation: SystemInstallation, url: str, tmp_path: Path
) -> None:
    accepted_file = tmp_path / "accepted"
    accepted_file.touch()

    def accepted() -> list[str]:
        # The last line may be cut off by the kill; then its job was accepted, but nobody knows which it was.
        return accepted_file.read_text().rpartition("\n")[0].splitlines()

    for kill in range(KILLS):
        before, more = len(accepted()), random.randint(1, 300)
        writer = run_python(
            "tests.system.sqlite.writer_main", url, str(accepted_file), output=tmp_path / f"writer-{kill}"
        )
        try:
            installation.wait(lambda goal=before + more: len(accepted()) >= goal, "jobs to be accepted")  # type: ignore[misc]
        finally:
            writer.kill()
            writer.wait()
        with accepted_file.open("a") as file:
            file.write("\n")

    # A kill may also cut a line short that the next writer's lines follow.
    ids = [line for line in accepted() if len(line) == ID_LENGTH]
    assert len(installation.jobs(ids)) == len(ids)
    assert_sound(tmp_path / "rota.db")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of four megabytes."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip(f"this system lets nobody mount a small disk: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill_up(installation: SystemInstallation) -> list[str]:
    """Hand in jobs until there is no room; the ids of those that were accepted."""
    accepted: list[str] = []
    while True:
        try:
            accepted += installation.enqueue_all([JobRequest(job_type="nothing") for _ in range(20)])
        except StoreFull:
            return accepted


def test_a_full_disk_refuses_new_jobs_and_keeps_the_old_ones_until_there_is_room(
    small_disk: Path, tmp_path: Path
) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * BALLAST)
    path = small_disk / "rota.db"
    store = open_store(f"sqlite:///{path}")
    installation = SystemInstallation(store, tmp_path)

    accepted = fill_up(installation)

    assert accepted
    assert store.count_jobs(installation.queue)[JobState.QUEUED] == len(accepted)
    assert len(installation.jobs(accepted)) == len(accepted)
    with pytest.raises(StoreFull, match="free some space"):
        installation.enqueue_all([JobRequest(job_type="nothing") for _ in range(500)])
    assert store.count_jobs(installation.queue)[JobState.QUEUED] == len(accepted)
    assert ["full" in trouble for trouble in store.troubles()] == [True]

    ballast.unlink()
    late = installation.enqueue_all([JobRequest(job_type="nothing")])
    assert store.troubles() == []
    assert len(installation.jobs(accepted + late)) == len(accepted) + 1
    store.close()
    assert_sound(path)


def test_a_worker_on_a_full_disk_waits_for_room_and_then_finishes_everything(small_disk: Path, tmp_path: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 2 * BALLAST)
    path = small_disk / "rota.db"
    store = open_store(f"sqlite:///{path}")
    installation = SystemInstallation(store, tmp_path)
    store.pause_queue(installation.queue)
    with Crew(f"sqlite:///{path}", tmp_path) as crew:
        worker = crew.hire()
        crew.await_beats(store)
        store.resume_queue(installation.queue)
        accepted = fill_up(installation)
        installation.wait(lambda: "store unavailable" in worker.output, "the worker to complain")
        assert worker.is_running

        ballast.unlink()
        installation.await_end()

        jobs = installation.jobs(accepted)
        assert {job.state for job in jobs} == {JobState.SUCCEEDED}
        assert {job.attempts for job in jobs} == {1}
        installation.wait(lambda: "store available again" in worker.output, "the worker to be well")
    store.close()
    assert_sound(path)
