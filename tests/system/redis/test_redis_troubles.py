"""A Redis that refuses to write tells it: in `/health`, in a metric, in the log and to the doctor."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.calling import RotaProcess, call_process
from tests.ports import HOST
from tests.servers import RedisCluster, RedisServer, raw_command, troubled, wait_until
from tests.system.up import Up


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer({"appendonly": "yes"}) as server:
        yield server


@pytest.mark.parametrize(
    ("setting", "trouble", "ease", "reason"),
    [
        ("maxmemory", "1", "0", "its memory is full"),
        ("min-replicas-to-write", "1", "0", "too few replicas follow it"),
    ],
)
def test_a_server_that_refuses_to_write_is_told_everywhere_until_it_does_not(
    server: RedisServer, tmp_path: Path, setting: str, trouble: str, ease: str, reason: str
) -> None:
    call_process("job-type", "create", "hello", "--store", server.url, "--executor", "log")
    with RotaProcess(["up", "--port", "0", "--json", "--store", server.url], tmp_path) as process:
        rota = Up(process)
        assert rota.enqueues()
        wait_until(lambda: rota.ask("/health") == (200, "ok"), "the server to be well")

        raw_command(server.port, "CONFIG", "SET", setting, trouble)

        assert not rota.enqueues()
        assert rota.troubles() > 0
        wait_until(lambda: reason in rota.ask("/health")[1], "the server to say why it is not well")
        assert rota.ask("/health")[0] == 503
        wait_until(lambda: rota.says("trouble"), "the log to tell it")
        doctor = call_process("doctor", "--store", server.url)
        assert doctor.exit_code == 7
        assert reason in doctor.stdout

        raw_command(server.port, "CONFIG", "SET", setting, ease)

        assert rota.enqueues()
        wait_until(lambda: rota.ask("/health") == (200, "ok"), "the server to be well again")
        assert rota.troubles() == 0
        assert process.stop() == 0


def test_the_doctor_finds_a_primary_that_became_a_replica(server: RedisServer) -> None:
    with RedisServer() as other:
        assert call_process("doctor", "--store", server.url).exit_code == 0
        raw_command(server.port, "REPLICAOF", HOST, other.port)

        answer = call_process("doctor", "--store", server.url)

        assert answer.exit_code == 7
        assert "it is a replica" in answer.stdout


def test_the_doctor_names_the_server_of_a_cluster_that_refuses_to_write(redis_cluster: RedisCluster) -> None:
    for server in redis_cluster.servers:
        with troubled(server, "min-replicas-to-write"):
            answer = call_process("doctor", "--store", redis_cluster.url)

        assert answer.exit_code == 7
        assert f"{server.address}: too few replicas follow it" in answer.stdout
