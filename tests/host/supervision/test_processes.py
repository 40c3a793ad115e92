"""`rota worker --processes`: real processes, signals and deaths."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota import Rota
from rota.engine.jobs.intake import JobRequest
from rota.sdk.tasks.handle import Handle
from tests.cli.calling import RotaProcess
from tests.processes import is_alive

TASKS = """
import os, time
from rota import Rota, current_job

app = Rota("sqlite:///rota.db")
VERSION = 1
hoard = []


@app.task
def where() -> int:
    return os.getpid()


@app.task
def version() -> int:
    return VERSION


@app.task
def wait_for(file: str) -> int:
    while not os.path.exists(file):
        if current_job().should_stop:
            return 0
        time.sleep(0.01)
    return os.getpid()


@app.task
def hoard_memory() -> int:
    hoard.append(b"x" * 200_000_000)
    return os.getpid()

"""
END_S = 300.0


@pytest.fixture
def folder(folder: Path) -> Path:
    """With a module of tasks."""
    (folder / "shop.py").write_text(TASKS)
    return folder


@pytest.fixture
def app(folder: Path) -> Iterator[Rota]:
    """Another program on the same store."""
    with Rota(f"sqlite:///{folder / 'rota.db'}", name="tester") as app:
        yield app


def started(folder: Path, *words: str) -> RotaProcess:
    return RotaProcess(["worker", "shop:app", "--json", *words], folder, ROTA_STOP_GRACE_S="3600")


def enqueue(app: Rota, task: str, **arguments: object) -> Handle[int]:
    request = JobRequest(job_type=f"shop.{task}", arguments=arguments)
    return app.handle(app.engine.intake.enqueue([request])[0].job_id)


def pids_of(app: Rota, supervisor: RotaProcess, wanted: int) -> set[int]:
    """Let jobs run until so many processes ran one."""
    found: set[int] = set()

    def is_enough() -> bool:
        found.add(enqueue(app, "where").get(END_S))
        return len(found) >= wanted

    supervisor.until(is_enough, f"{wanted} processes that run jobs")
    return found


def test_jobs_run_in_several_processes_and_a_signal_lets_them_end(folder: Path, app: Rota) -> None:
    with started(folder, "--processes", "2") as supervisor:
        processes = supervisor.banner()["processes"]
        assert pids_of(app, supervisor, 2) == set(processes)
        job = enqueue(app, "wait_for", file=str(folder / "go"))
        supervisor.until(lambda: job.status == "running", "the job to run")

        supervisor.process.send_signal(signal.SIGTERM)
        supervisor.until_said("stopping; a second signal interrupts")
        (folder / "go").touch()

        assert supervisor.wait() == 0
        assert job.result in processes


def test_a_process_that_was_killed_is_replaced_and_its_job_runs_again(folder: Path, app: Rota) -> None:
    with started(folder, "--processes", "2") as supervisor:
        supervisor.banner()
        job = enqueue(app, "wait_for", file=str(folder / "go"))
        killed = [int(one) for one in supervisor.banner()["processes"]]
        supervisor.until(lambda: job.status == "running", "the job to run")

        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        (folder / "go").touch()

        assert job.get(END_S) not in killed
        assert pids_of(app, supervisor, 2).isdisjoint(killed)
        assert supervisor.stop() == 0


def test_a_hup_replaces_all_processes_by_such_with_the_new_code(folder: Path, app: Rota) -> None:
    with started(folder, "--processes", "2") as supervisor:
        old = supervisor.banner()["processes"]
        job = enqueue(app, "wait_for", file=str(folder / "go"))
        supervisor.until(lambda: job.status == "running", "the job to run")
        (folder / "shop.py").write_text(TASKS.replace("VERSION = 1", "VERSION = 22"))

        supervisor.process.send_signal(signal.SIGHUP)

        supervisor.until(lambda: enqueue(app, "version").get(END_S) == 22, "the new code")
        (folder / "go").touch()
        assert job.get(END_S) in old  # it was let come to its end
        supervisor.until(lambda: not any(map(is_alive, old)), "the end of the old processes")
        assert enqueue(app, "version").get(END_S) == 22
        assert supervisor.stop() == 0


def test_a_signal_after_a_hup_does_not_stop_what_the_old_processes_still_run(folder: Path, app: Rota) -> None:
    with started(folder, "--processes", "1") as supervisor:
        (old,) = supervisor.banner()["processes"]
        job = enqueue(app, "wait_for", file=str(folder / "go"))
        supervisor.until(lambda: job.status == "running", "the job to run")
        supervisor.process.send_signal(signal.SIGHUP)
        supervisor.until_said("stopping; a second signal interrupts")  # the old one; until then it takes jobs too
        new = enqueue(app, "where").get(END_S)

        supervisor.process.send_signal(signal.SIGTERM)
        # Once the new one has ended, the signal has come to all.
        supervisor.until(lambda: not is_alive(new), "the end of the new process")
        (folder / "go").touch()

        assert supervisor.wait() == 0
        assert job.result == old


def test_new_code_that_cannot_be_loaded_leaves_the_old_processes_running(folder: Path, app: Rota) -> None:
    with started(folder, "--processes", "2") as supervisor:
        old = supervisor.banner()["processes"]
        (folder / "shop.py").write_text("import nothing_like_this")

        supervisor.process.send_signal(signal.SIGHUP)

        supervisor.until_said("those from before go on")
        assert pids_of(app, supervisor, 2) == set(old)
        (folder / "shop.py").write_text(TASKS)
        supervisor.process.send_signal(signal.SIGHUP)
        supervisor.until(lambda: not any(map(is_alive, old)), "the end of the old processes")
        assert supervisor.stop() == 0


def test_a_process_is_replaced_after_so_many_jobs(folder: Path, app: Rota) -> None:
    with started(folder, "--processes", "1", "--max-jobs", "3") as supervisor:
        first = supervisor.banner()["processes"]

        assert len(pids_of(app, supervisor, 3) | set(first)) == 3
        assert any("it ran 3 jobs" in line["message"] for line in supervisor.log_lines())
        assert supervisor.stop() == 0


def test_a_process_is_replaced_when_it_has_too_much_memory(folder: Path, app: Rota) -> None:
    with started(folder, "--processes", "1", "--max-memory", "200M") as supervisor:
        first = supervisor.banner()["processes"]

        assert enqueue(app, "hoard_memory").get(END_S) in first

        supervisor.until(lambda: enqueue(app, "where").get(END_S) not in first, "another process")
        assert supervisor.stop() == 0


def test_without_a_supervisor_a_limit_ends_the_worker(folder: Path, app: Rota) -> None:
    with started(folder, "--max-jobs", "2") as worker:
        worker.banner()

        assert enqueue(app, "where").get(END_S) == enqueue(app, "where").get(END_S) == worker.process.pid

        assert worker.wait() == 0


def test_the_processes_end_with_their_supervisor_however_it_ends(folder: Path, app: Rota) -> None:
    with started(folder, "--processes", "2") as supervisor, started(folder) as another:
        processes = supervisor.banner()["processes"]
        another.banner()

        supervisor.process.kill()

        another.until(lambda: not any(map(is_alive, processes)), "the end of the processes")


def test_changed_files_replace_the_processes(folder: Path, app: Rota) -> None:
    with started(folder, "--reload") as supervisor:
        supervisor.banner()
        assert enqueue(app, "version").get(END_S) == 1

        (folder / "shop.py").write_text("this is not Python")
        supervisor.until_said("those from before go on")
        assert enqueue(app, "version").get(END_S) == 1
        (folder / "shop.py").write_text(TASKS.replace("VERSION = 1", "VERSION = 333"))

        supervisor.until(lambda: enqueue(app, "version").get(END_S) == 333, "the new code")
        assert supervisor.stop() == 0


def test_a_burst_in_several_processes_ends_when_all_is_done(folder: Path, app: Rota) -> None:
    with started(folder, "--burst") as declaring:
        assert declaring.wait() == 0
    jobs = [enqueue(app, "where") for _ in range(50)]

    with started(folder, "--burst", "--processes", "2", "--max-jobs", "10") as supervisor:
        assert supervisor.wait() == 0

    assert all(job.result for job in jobs)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["shoop:app", "--processes", "2"], "there is no module 'shoop' here"),
        (["shop:app", "--processes", "2", "--store", "sqlite://:memory:"], "a store in memory is that of one process"),
        (["shop:app", "--max-memory", "1M"], "MiB before its first job"),
        (["shop:app", "--max-memory", "500"], "is not a size such as 500M"),
        (["shop:app", "--processes", "0"], "0 is not in the range"),
    ],
)
def test_what_cannot_begin_is_told_once_and_ends(folder: Path, words: list[str], message: str) -> None:
    with RotaProcess(["worker", *words], folder) as process:
        assert process.wait() == 2

    assert "".join(process.stderr).count(message) == 1
