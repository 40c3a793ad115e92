"""Where the dialect is available, and what it survives."""

import logging
from pathlib import Path

import pytest

from rota.dialects.registry import open_dialects
from rota.dialects.synchrony.dialect import Synchrony
from rota.dialects.synchrony.exchange import Exchange
from rota.dialects.synchrony.inlet import Inlet
from rota.dialects.synchrony.job_keys import JobKeys
from rota.settings import Settings
from rota.store import Store
from tests.cli.calling import RotaProcess
from tests.cli.run.test_up import get
from tests.dialects.synchrony.speaking import Speaker
from tests.seeds.redis_cli import RedisCli
from tests.servers import RedisSentinel, RedisServer, raw_command

DEFAULT = "1bd2bf95-868a-4212-8a0a-82c7f442848e"
JOB_TYPE = "80d1c95a-a9cc-4dbb-a3fb-ff0f6b7d2c06"


@pytest.mark.stores("redis-cluster")
def test_on_a_cluster_the_log_says_that_it_is_not_available(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    assert open_dialects(Settings(), store) == []
    assert "Synchrony's Redis keys are not available on Redis Cluster" in caplog.text


@pytest.mark.stores("sqlite-file", "sqlite-memory")
def test_on_sqlite_there_is_nothing_to_say(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    assert open_dialects(Settings(), store) == []
    assert caplog.text == ""


@pytest.mark.stores("redis")
def test_a_setting_turns_it_off(store: Store) -> None:
    def is_spoken(settings: Settings) -> bool:
        return any(isinstance(one, Synchrony) for one in open_dialects(settings, store))

    assert is_spoken(Settings())
    assert not is_spoken(Settings(synchrony_keys=False))


@pytest.mark.stores("redis")
@pytest.mark.parametrize(
    ("roles", "shows_jobs", "duties"),
    [
        ({"worker"}, False, [Exchange, Inlet]),
        ({"scheduler"}, True, [Exchange, Inlet, JobKeys]),
        ({"server"}, True, []),
    ],
)
def test_nodes_that_run_jobs_or_look_after_them_have_its_duties(
    store: Store, roles: set[str], shows_jobs: bool, duties: list[type]
) -> None:
    speaker = Speaker(store, roles=frozenset(roles))
    speaker.write("node_types", "gpu", {"name": "gpu", "uuid": DEFAULT, "thread_count": 2})
    dialect = Synchrony(speaker.access, shows_jobs=shows_jobs)

    found = dialect.join(speaker.context)
    dialect.leave()

    assert [type(one) for one in found] == duties
    assert [one.name for one in store.list_node_types()] == (["gpu"] if duties else []), "known before the first round"


@pytest.mark.stores("redis")
@pytest.mark.parametrize("shows_jobs", [False, True])
def test_a_setting_says_whether_single_jobs_are_shown(store: Store, shows_jobs: bool) -> None:
    speaker = Speaker(store)
    (dialect,) = (
        one for one in open_dialects(Settings(synchrony_job_keys=shows_jobs), store) if isinstance(one, Synchrony)
    )

    found = dialect.join(speaker.context)
    dialect.leave()

    assert any(isinstance(one, JobKeys) for one in found) == shows_jobs


def test_keys_that_others_use_for_something_else_do_not_make_a_node_ill(tmp_path: Path) -> None:
    with RedisServer() as redis:
        keys = ("node_types", "job_types", "schedule_items", "nodes")
        for key in keys:
            raw_command(redis.port, "SET", key, "mine")

        with RotaProcess(["up", "--port", "0", "--no-demo", "--json", "--store", redis.url], tmp_path) as up:
            health = f"{up.banner()['address']}/health"
            up.until(lambda: _grievances(up) == set(keys), "a word about each key")
            up.until(lambda: get(health) == (200, "ok"), "it to be well")
            assert up.stop() == 0

        assert raw_command(redis.port, "GET", "nodes") == "mine"


def _grievances(process: RotaProcess) -> set[str]:
    return {line["key"] for line in process.log_lines() if "cannot be used" in line["message"]}


def test_behind_sentinel_pushed_jobs_run_also_after_a_failover(tmp_path: Path) -> None:
    with RedisSentinel() as sentinel:
        before = RedisCli(sentinel.primary)
        before.define_node_type("default", DEFAULT)
        before.define_job_type(JOB_TYPE, "test_job", f"echo >> {tmp_path}/runs")

        def runs() -> int:
            return (tmp_path / "runs").read_text().count("\n") if (tmp_path / "runs").exists() else 0

        with RotaProcess(["up", "--no-demo", "--port", "0", "--store", sentinel.url], tmp_path) as up:
            before.push_jobs(DEFAULT, JOB_TYPE, {})
            up.until(lambda: runs() == 1, "the first job")

            sentinel.fail_over()
            RedisCli(sentinel.replica).push_jobs(DEFAULT, JOB_TYPE, {})

            up.until(lambda: runs() >= 2, "the job after the failover")
            assert up.stop() == 0
