"""A process whose wall clock is set while it runs takes nothing from others and does nothing early."""

import importlib.util
from pathlib import Path

import pytest

from rota.engine.jobs.intake import JobRequest
from rota.model.job import JobState
from rota.model.schedules.request import ScheduleRequest
from tests.system.crew import Crew
from tests.system.installation import SystemInstallation

STEP_S = 3_600
DEAD_MS = 12_000
LATER_MS = 1_800_000
BEATS = 3


def faketime() -> Path | None:
    """The library that shifts a process's clock; its wheel is made for one kind of machine."""
    found = importlib.util.find_spec("libfaketime")
    if found is None or not found.submodule_search_locations:
        return None
    library = Path(found.submodule_search_locations[0]) / "vendor/libfaketime/src/libfaketime.so.1"
    return library if library.exists() else None


class FakeClock:
    """The clock of processes that are started with `environment`."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self.set(0)

    def set(self, seconds: int) -> None:
        """So far ahead of the machine's clock."""
        self._file.write_text(f"{seconds:+d}\n")

    @property
    def environment(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(faketime()),
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
        }


@pytest.mark.skipif(faketime() is None, reason="libfaketime's wheel has its library for Linux on x86-64 only")
@pytest.mark.parametrize("step_s", [STEP_S, -STEP_S])
def test_a_step_of_one_nodes_clock_takes_nothing_and_makes_nothing_early(
    installation: SystemInstallation, url: str, tmp_path: Path, step_s: int
) -> None:
    installation.define_python("wait_for_gate")
    gate = tmp_path / "gate"
    arguments: dict[str, object] = {"ledger": str(installation.ledger.path), "gate": str(gate)}
    running = installation.enqueue_all(JobRequest(job_type="wait_for_gate", arguments=arguments) for _ in range(6))
    schedules = installation.engine.schedules
    minutely = schedules.create(ScheduleRequest(job_type="nothing", interval=LATER_MS)).schedule
    (tmp_path / "odd").mkdir()
    clock = FakeClock(tmp_path / "odd")
    with Crew(url, tmp_path) as crew, Crew(url, tmp_path / "odd", environment=clock.environment) as odd:
        for workers in (crew, odd):
            workers.hire(threads=4, dead_after_ms=DEAD_MS)
            workers.await_beats(installation.store)
        installation.wait(lambda: installation.ledger.count("start") == 6, "all jobs to run")
        (delayed,) = installation.enqueue_all([JobRequest(job_type="nothing", delay_ms=LATER_MS)])

        clock.set(step_s)
        for _ in range(BEATS):
            await_beats_of_all(installation)
        (quick,) = installation.enqueue_all([JobRequest(job_type="nothing")])
        installation.wait(lambda: installation.job(quick).state is JobState.SUCCEEDED, "work to go on")

        assert installation.job(delayed).state is JobState.DELAYED
        assert all(
            tick.nominal <= installation.store.now() for tick in installation.store.list_ticks(minutely.uuid, limit=9)
        )
        gate.touch()
        installation.wait(lambda: installation.ledger.count("end") == 6, "the jobs to end")
        assert set(installation.ledger.starts().values()) == {1}
        assert {job.deaths for job in installation.jobs(running)} == {0}
        installation.store.cancel_jobs([delayed], now=installation.store.now())


def await_beats_of_all(installation: SystemInstallation) -> None:
    """Wait until every node gave a sign of life that it has not given yet."""
    seen = installation.store.read_pulses(installation.queue)

    def has_changed() -> bool:
        now = installation.store.read_pulses(installation.queue)
        return all(now[node] != pulse for node, pulse in seen.items())

    installation.wait(has_changed, "further beats")
