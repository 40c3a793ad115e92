"""Who is alive, seen from outside: outages, suspended processes, foreign locks and wrong clocks cost nobody his jobs; a
process that is gone loses them at once."""

import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path

import pytest

from rota.engine.jobs.intake import JobRequest
from rota.model.job import JobState
from rota.model.job_type import JobType, Unique
from tests.ports import free_port
from tests.servers import RedisServer, freeze, wait_until
from tests.system.crew import Crew, WorkerProcess
from tests.system.installation import SystemInstallation
from tests.system.proxy import Proxy

DEAD_MS = 12_000
ROOMY_MS = 60_000
"""Where a run is to end before another begins: each has to get some time on a slow machine."""
HOURS_MS = 4 * 3_600_000
"""Where nobody may be taken for dead by his silence."""
AWAY_S = 2.2 * DEAD_MS / 1000
"""Longer than it takes to be taken for dead, whoever looks."""
COMMAND = "echo start >> $RUNS; trap 'echo end >> $RUNS; exit 1' TERM; sleep 3600 & wait"


@contextmanager
def suspended(pid: int, file: Path | None = None) -> Iterator[None]:
    """If others are to go on with a file meanwhile, then not in the middle of a write: they could not write either."""
    with locked(file) if file else nullcontext():
        freeze(pid)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Nobody else writes to it."""
    with closing(sqlite3.connect(file, timeout=60, isolation_level=None)) as foreign:
        foreign.execute("BEGIN IMMEDIATE")
        yield
        foreign.execute("ROLLBACK")


def last(seconds: float) -> None:
    """Let a fault last. Nothing can be waited for: what is tested is that nothing happens."""
    time.sleep(seconds)


def start_long_jobs(
    installation: SystemInstallation, crew: Crew, *, workers: int, jobs: int
) -> tuple[list[WorkerProcess], list[str]]:
    """Workers that run jobs which outlast any fault."""
    hired = [crew.hire(threads=jobs, dead_after_ms=DEAD_MS) for _ in range(workers)]
    crew.await_beats(installation.store)
    return hired, start_waiting_jobs(installation, jobs)


def start_waiting_jobs(installation: SystemInstallation, count: int) -> list[str]:
    """Jobs that run until `let_end`."""
    installation.define_python("wait_for_gate")
    arguments: dict[str, object] = {"ledger": str(installation.ledger.path), "gate": str(gate_of(installation))}
    ids = installation.enqueue_all(JobRequest(job_type="wait_for_gate", arguments=arguments) for _ in range(count))
    installation.wait(lambda: installation.ledger.count("start") == count, "all jobs to run")
    return ids


def gate_of(installation: SystemInstallation) -> Path:
    return installation.ledger.path.with_name("gate")


def let_end(installation: SystemInstallation) -> None:
    gate_of(installation).touch()
    installation.await_end()


def assert_nobody_was_disturbed(installation: SystemInstallation, ids: list[str], workers: list[WorkerProcess]) -> None:
    """Not now, and not in the time in which somebody could still take over."""
    for worker in workers:
        wait_for_beat(installation, worker)
    last(1.5 * DEAD_MS / 1000)
    let_end(installation)
    jobs = installation.jobs(ids)
    assert set(installation.ledger.starts().values()) == {1}
    assert {(job.state, job.attempts, job.deaths) for job in jobs} == {(JobState.SUCCEEDED, 1, 0)}


def test_a_redis_that_was_away_costs_nobody_his_jobs(
    installation: SystemInstallation, crew: Crew, url: str, durable_redis: RedisServer
) -> None:
    if url != durable_redis.url:
        pytest.skip("a file is never away")
    workers, ids = start_long_jobs(installation, crew, workers=2, jobs=6)

    with suspended(durable_redis.pid):
        last(AWAY_S)

    assert_nobody_was_disturbed(installation, ids, workers)


def test_a_lone_node_that_was_suspended_keeps_its_jobs(installation: SystemInstallation, crew: Crew) -> None:
    workers, ids = start_long_jobs(installation, crew, workers=1, jobs=2)

    for _ in range(2):
        with suspended(workers[0].pid):
            last(AWAY_S)
        wait_for_beat(installation, workers[0])

    assert_nobody_was_disturbed(installation, ids, workers)


def wait_for_beat(installation: SystemInstallation, worker: WorkerProcess) -> None:
    """Wait until it gave a sign of life that it has not given yet."""
    record = worker.record(installation.store)
    assert record is not None
    before = installation.store.read_pulses(installation.queue)[record.uuid]
    installation.wait(
        lambda: installation.store.read_pulses(installation.queue)[record.uuid] != before, "a sign of life"
    )


def test_one_suspended_node_of_three_loses_its_jobs_and_settles_nothing(
    installation: SystemInstallation, crew: Crew, url: str, tmp_path: Path
) -> None:
    workers = [crew.hire(threads=2, dead_after_ms=DEAD_MS) for _ in range(3)]
    crew.await_beats(installation.store)
    ids = start_waiting_jobs(installation, 3)
    victim = next(worker for worker in workers if holds_of(installation, worker))
    lost = holds_of(installation, victim)

    with suspended(victim.pid, tmp_path / "rota.db" if url.startswith("sqlite") else None):
        installation.wait(lambda: not holds_of(installation, victim), "the others to take over")
        installation.wait(lambda: installation.ledger.count("start") == 3 + len(lost), "the second runs")
    installation.wait(lambda: "claim lost, run stopped" in victim.output, "the woken node to stop its runs")
    let_end(installation)

    starts = installation.ledger.starts()
    assert {job_id for job_id in ids if starts[job_id] == 2} == lost
    assert set(installation.ledger.ends().values()) == {1}
    assert {job.state for job in installation.jobs(ids)} == {JobState.SUCCEEDED}
    assert {job.deaths for job in installation.jobs(ids) if job.id in lost} == {1}


def holds_of(installation: SystemInstallation, worker: WorkerProcess) -> set[str]:
    return installation.running_on(worker.node(installation.store))


def test_a_foreign_lock_on_the_file_costs_nobody_his_jobs(
    installation: SystemInstallation, crew: Crew, url: str, tmp_path: Path
) -> None:
    if not url.startswith("sqlite"):
        pytest.skip("only a file can be locked by others")
    workers, ids = start_long_jobs(installation, crew, workers=2, jobs=6)

    with locked(tmp_path / "rota.db"):
        last(AWAY_S)

    assert_nobody_was_disturbed(installation, ids, workers)


def test_the_jobs_of_a_killed_process_run_again_at_once_on_the_same_machine(
    installation: SystemInstallation, crew: Crew
) -> None:
    """By the dead time alone it would take hours here. Whoever comes looks within a second for the first time, and much
    more rarely then, by the dead time: so the other node comes after the death."""
    installation.definitions.define_job_type(
        JobType(uuid=installation.new_id(), name="wait", executor="bash", metadata={"command": "sleep 600"})
    )
    holder = crew.hire(dead_after_ms=HOURS_MS)
    crew.await_beats(installation.store)
    (job_id,) = installation.enqueue_all([JobRequest(job_type="wait")])
    installation.wait(lambda: installation.job(job_id).state is JobState.RUNNING, "the job to run")
    first = installation.job(job_id).token

    holder.kill9()
    crew.hire(dead_after_ms=HOURS_MS)
    wait_until(lambda: installation.job(job_id).token not in ("", first), "the second run")

    assert installation.job(job_id).deaths == 1
    installation.store.cancel_jobs([job_id], now=installation.store.now())


def test_the_jobs_of_a_killed_process_of_another_machine_run_again_after_the_dead_time(
    installation: SystemInstallation, url: str, tmp_path: Path
) -> None:
    """Its lock file is elsewhere."""
    elsewhere, here = tmp_path / "elsewhere", tmp_path / "here"
    elsewhere.mkdir()
    here.mkdir()
    with (
        Crew(url, elsewhere, environment={"XDG_RUNTIME_DIR": str(elsewhere)}) as other,
        Crew(url, here, environment={"XDG_RUNTIME_DIR": str(here)}) as ours,
    ):
        victim = other.hire(dead_after_ms=DEAD_MS)
        other.await_beats(installation.store)
        (job_id,) = start_waiting_jobs(installation, 1)
        ours.hire(dead_after_ms=DEAD_MS)
        ours.await_beats(installation.store)

        killed_at = installation.store.now()
        victim.kill9()
        installation.wait(lambda: installation.ledger.count("start") == 2, "the second run")

        assert installation.job(job_id).deaths == 1
        assert (installation.job(job_id).started_at or 0) - killed_at >= DEAD_MS / 4, "nobody could know so soon"
        let_end(installation)


def test_the_second_signal_ends_a_node_whatever_its_jobs_do(
    installation: SystemInstallation, url: str, tmp_path: Path
) -> None:
    """Two nodes at a time, because each takes some seconds to give its job up."""
    with Crew(url, tmp_path) as crew:
        swallowing, swallowed = start_stubborn_job(installation, crew, "swallow")
        blocked, blocking = start_stubborn_job(installation, crew, "block")

        swallowing.terminate()
        blocked.terminate()
        # A loop that is blocked cannot say that it has heard, and two signals of one kind may arrive as one.
        installation.wait(lambda: "stopping" in swallowing.output, "the first signal to be heard")
        installation.wait(lambda: not is_pending(signal.SIGTERM, blocked.pid), "the first signal to be delivered")
        swallowing.terminate()
        blocked.terminate()
        swallowing.wait()
        blocked.wait()

        for job in installation.jobs([swallowed, blocking]):
            assert (job.state, job.deaths, job.attempts) == (JobState.QUEUED, 0, 0)


def is_pending(number: int, pid: int) -> bool:
    """Whether the kernel has yet to deliver it."""
    lines = [line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines()]
    return any(int(words[1], 16) >> (number - 1) & 1 for words in lines if words[0] in ("SigPnd:", "ShdPnd:"))


def start_stubborn_job(installation: SystemInstallation, crew: Crew, how: str) -> tuple[WorkerProcess, str]:
    """A node whose only slot has a job of this kind."""
    installation.define_python(how)
    worker = crew.hire_rota("worker", "--threads", "1")
    before = installation.ledger.count("start")
    (job_id,) = installation.enqueue_all(
        [JobRequest(job_type=how, arguments={"ledger": str(installation.ledger.path)})]
    )
    installation.wait(lambda: installation.ledger.count("start") == before + 1, "the job to run")
    return worker, job_id


def test_a_lock_is_held_by_one_run_at_a_time_when_its_node_cannot_be_heard(
    installation: SystemInstallation, url: str, tmp_path: Path, durable_redis: RedisServer
) -> None:
    """The node is cut off, not dead: it stops the run before another may begin it."""
    if url != durable_redis.url:
        pytest.skip("processes of one machine are not cut off from a file")
    runs = tmp_path / "runs"
    installation.definitions.define_job_type(
        JobType(
            uuid=installation.new_id(),
            name="only_one",
            executor="bash",
            metadata={"command": COMMAND, "environment": {"RUNS": str(runs)}},
            unique=Unique.WHILE_RUNNING,
        )
    )
    with Proxy(durable_redis.port) as proxy:
        (tmp_path / "cut").mkdir()
        cut_url, elsewhere = f"redis://127.0.0.1:{proxy.ports[0]}/0", {"XDG_RUNTIME_DIR": str(tmp_path)}
        cut = Crew(cut_url, tmp_path / "cut", environment=elsewhere)
        with cut, Crew(url, tmp_path) as crew:
            cut.hire(dead_after_ms=ROOMY_MS)
            cut.await_beats(installation.store)
            (job_id,) = installation.enqueue_all([JobRequest(job_type="only_one")])
            installation.wait(lambda: runs.exists() and "start" in runs.read_text(), "the first run")
            crew.hire(dead_after_ms=ROOMY_MS)
            crew.await_beats(installation.store)

            proxy.turn_to(free_port())
            installation.wait(lambda: runs.read_text().count("start") == 2, "the second run")

            assert [line.split()[0] for line in runs.read_text().splitlines()] == ["start", "end", "start"]
            installation.store.cancel_jobs([job_id], now=installation.store.now())
