"""A job may print what it likes: the worker's memory stays flat, and the log says that it was cut."""

import pytest

from rota.engine.jobs.intake import JobRequest
from rota.model.job import JobState
from rota.model.limits import MAX_LOG_ATTEMPT_BYTES, MAX_RESULT_BYTES
from tests.system.crew import Crew
from tests.system.installation import SystemInstallation

SIZE = 200 * 1024 * 1024
MOST_GROWTH_MIB = 32


@pytest.mark.parametrize(
    ("command", "cut"),
    [
        (f"head -c {SIZE} /dev/zero | tr '\\0' x", "[line cut]"),
        (f"head -c {SIZE} /dev/urandom", "the log ends here"),
        (f"yes '' | head -c {SIZE}", "the log ends here"),
    ],
    ids=["without a line end", "binary", "empty lines"],
)
def test_a_flood_of_output_is_cut_and_the_workers_memory_stays_flat(
    installation: SystemInstallation, crew: Crew, command: str, cut: str
) -> None:
    worker = crew.hire()
    installation.define_command("echo ready")
    (first,) = installation.enqueue_all([JobRequest(job_type="command")])
    installation.wait(lambda: installation.job(first).state.is_final, "the worker to be warm")
    before = worker.memory_mib("VmRSS")
    flood = installation.definitions.job_type("command")
    installation.definitions.delete_job_type(flood.name)
    installation.define_command(command)

    (job_id,) = installation.enqueue_all([JobRequest(job_type="command")])
    installation.wait(lambda: installation.job(job_id).state.is_final, "the flood to end")

    job = installation.job(job_id)
    assert job.state is JobState.SUCCEEDED, job
    assert isinstance(job.results, dict)
    assert "bytes cut" in job.results["stdout"]
    assert len(job.results["stdout"].encode()) < MAX_RESULT_BYTES
    entries = installation.store.read_logs(job_id, limit=1_000_000).entries
    dropped = [entry for entry in entries if "lines dropped" in entry.message]
    # So many lines are dropped where the store is very slow, and then the last ones perhaps too.
    assert cut in entries[-1].message or (command.startswith("yes") and dropped)
    assert command.startswith("yes") or not dropped
    assert sum(len(entry.message.encode()) for entry in entries) <= MAX_LOG_ATTEMPT_BYTES + 1_000
    assert worker.memory_mib("VmHWM") - before < MOST_GROWTH_MIB
