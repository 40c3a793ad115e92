"""A store that comes back without writes that it had acknowledged, as after a fail-over or a crash of its machine."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rota.model.job import JobState
from rota.store import open_store
from tests.servers import RedisCluster, RedisServer, raw_command
from tests.system.crew import Crew
from tests.system.installation import SystemInstallation

_Servers = RedisServer | RedisCluster
# Nothing is kept but what a test saves.
_FORGETFUL = {"appendonly": "no", "save": '""'}


@pytest.fixture(params=["single", "cluster"])
def servers(request: pytest.FixtureRequest) -> Iterator[_Servers]:
    with RedisServer(_FORGETFUL) if request.param == "single" else RedisCluster(_FORGETFUL) as made:
        yield made


def test_jobs_that_are_running_again_for_a_node_that_had_ended_them_run_again(
    servers: _Servers, tmp_path: Path
) -> None:
    with closing(open_store(servers.url)) as store, Crew(servers.url, tmp_path) as crew:
        installation = SystemInstallation(store, tmp_path)
        installation.define_python("wait_for_gate")
        crew.hire()
        crew.await_beats(store)
        gate = tmp_path / "gate"
        arguments: dict[str, object] = {"ledger": str(installation.ledger.path), "gate": str(gate)}
        job_id = installation.enqueue("wait_for_gate", arguments)
        installation.wait(lambda: installation.job(job_id).state is JobState.RUNNING, "the job to run")
        for server in servers.servers:
            raw_command(server.port, "SAVE")
        gate.touch()
        installation.wait(lambda: installation.job(job_id).state is JobState.SUCCEEDED, "the job to end")

        servers.kill9()
        servers.restart()

        installation.wait(lambda: installation.job(job_id).state is JobState.SUCCEEDED, "the job to end again")
        assert installation.ledger.starts()[job_id] == 2
