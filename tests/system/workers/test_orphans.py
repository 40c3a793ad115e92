"""What a node has started ends with it, whatever way it ends."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.engine.jobs.intake import JobRequest
from tests.processes import keeper_of, keepers_of, processes_with, sleepers_with
from tests.servers import wait_until
from tests.system.crew import Crew, WorkerProcess
from tests.system.installation import SystemInstallation

MARKER = "MARKED_BY_A_TEST"


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Processes are the same with every store."""
    return f"sqlite:///{tmp_path}/rota.db"


@pytest.fixture
def marker(tmp_path: Path) -> str:
    return f"{MARKER}={tmp_path}"


@pytest.fixture
def marked_crew(url: str, tmp_path: Path) -> Iterator[Crew]:
    """Workers whose children can be told from all other processes."""
    with Crew(url, tmp_path, environment={MARKER: str(tmp_path)}) as crew:
        yield crew


def start_children(installation: SystemInstallation, crew: Crew, marker: str) -> WorkerProcess:
    """A worker with two jobs that last: a shell with a grandchild, and a Python function in a process."""
    installation.define_command("(sleep 600 & sleep 600) & sleep 600")
    installation.enqueue_all([JobRequest(job_type="command"), JobRequest(job_type="sleep_in_process")])
    worker = crew.hire(grace_s=3_600)
    # Three of the shell, and one of the function. How many processes are on the way to them is different each time.
    wait_until(lambda: len(sleepers_with(marker)) == 4, "the jobs' processes")
    return worker


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGQUIT, signal.SIGABRT])
def test_the_children_of_a_killed_node_are_gone(
    installation: SystemInstallation, marked_crew: Crew, marker: str, number: signal.Signals
) -> None:
    worker = start_children(installation, marked_crew, marker)

    worker.send_signal(number)

    assert worker.wait() == -number
    wait_until(lambda: processes_with(marker) == [], "its children to be gone")


def test_the_children_are_gone_even_if_the_keeper_was_killed_before(
    installation: SystemInstallation, marked_crew: Crew, marker: str
) -> None:
    worker = start_children(installation, marked_crew, marker)
    first = keeper_of(worker.pid)

    os.kill(first, signal.SIGKILL)
    wait_until(lambda: any(pid != first for pid in keepers_of(worker.pid)), "another keeper")
    worker.kill9()

    wait_until(lambda: processes_with(marker) == [], "its children to be gone")


def test_the_keeper_goes_with_a_node_that_stops(installation: SystemInstallation, marked_crew: Crew) -> None:
    installation.define_command("true")
    installation.enqueue_all([JobRequest(job_type="command")])
    worker = marked_crew.hire()
    installation.await_end()
    keeper = keeper_of(worker.pid)

    worker.terminate()

    assert worker.wait() == 0
    wait_until(lambda: not Path(f"/proc/{keeper}").exists(), "the keeper to go")
