"""Seed 001's "Running Synchrony", "Redis configuration", "Scheduling Jobs" and "Running Jobs", with redis-cli against
real nodes."""

import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from rota.model.job import Job, JobState
from rota.store import Store, open_store
from tests.cli.calling import RotaProcess, call_process
from tests.seeds.redis_cli import RedisCli, as_json
from tests.servers import RedisServer, wait_until

DEFAULT = "1bd2bf95-868a-4212-8a0a-82c7f442848e"
TEST_JOB = "80d1c95a-a9cc-4dbb-a3fb-ff0f6b7d2c06"
OTHER = "b30833c1-83b0-4dda-a439-97e3c97bbaa5"


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def cli(redis: RedisServer) -> RedisCli:
    return RedisCli(redis)


@pytest.fixture
def store(redis: RedisServer) -> Iterator[Store]:
    with closing(open_store(redis.url)) as opened:
        yield opened


def node(redis: RedisServer, folder: Path, verb: str = "up", **variables: str) -> RotaProcess:
    """A node that is told what it is by the document's environment variables only."""
    words = {"up": ["up", "--no-demo", "--json"], "worker": ["worker", "--json"]}[verb]
    address = {"STORE_TYPE": "redis", "REDIS_HOST": "127.0.0.1", "REDIS_PORT": str(redis.port)}
    return RotaProcess(words, folder, **{**address, "HTTP_SERVER_ENABLED": "false", **variables})


def entry(uuid: str, job_type: str, arguments: object, **fields: object) -> str:
    """A job as it is pushed."""
    return as_json({"uuid": uuid, "job_type_uuid": job_type, "arguments": arguments, **fields})


def ended(store: Store, uuid: str) -> Job | None:
    job = store.find_jobs([uuid])[0]
    return job if job is not None and job.state.is_final else None


def results(store: Store, process: RotaProcess, uuid: str) -> object:
    process.until(lambda: ended(store, uuid) is not None, f"the job {uuid} to end")
    job = ended(store, uuid)
    return job.results if job else None


def test_what_the_document_describes_in_redis_runs(
    redis: RedisServer, cli: RedisCli, store: Store, tmp_path: Path
) -> None:
    cli("HSET", "node_types", "default", f'{{"name": "default", "uuid": "{DEFAULT}", "thread_count": 1}}')
    cli.define_job_type(TEST_JOB, "test_job", "ls -l /")

    with node(redis, tmp_path) as up:
        cli("RPUSH", f"jobs_waiting_{DEFAULT}", entry(OTHER, TEST_JOB, {}))
        found = results(store, up, OTHER)
        node_uuid = up.banner()["node"]
        up.until(lambda: cli.record("nodes", node_uuid) is not None, "the node to be shown")
        assert cli.record("nodes", node_uuid)["node_type_uuid"] == DEFAULT  # type: ignore[index]
        assert up.stop() == 0

    assert isinstance(found, dict)
    assert (found["exit_code"], found["stderr"]) == (0, "")
    assert "etc" in found["stdout"]
    assert cli("LLEN", f"jobs_waiting_{DEFAULT}") == "0"
    job = store.find_jobs([OTHER])[0]
    assert job is not None
    assert (job.node, job.spec.queue) == (node_uuid, DEFAULT)


def test_the_environment_chooses_the_node_type_and_the_database(
    redis: RedisServer, store: Store, tmp_path: Path
) -> None:
    cli = RedisCli(redis, database=3)
    cli.define_node_type("special", OTHER, 2)
    cli.define_job_type(TEST_JOB, "test_job", "echo special", node_type="special")

    with node(redis, tmp_path, "worker", NODE_TYPE="special", REDIS_DATABASE="3") as worker:
        (uuid,) = cli.push_jobs(OTHER, TEST_JOB, {})
        with closing(open_store(f"redis://127.0.0.1:{redis.port}/3")) as there:
            assert results(there, worker, uuid) == {"stdout": "special\n", "stderr": "", "exit_code": 0}
        assert worker.stop() == 0
    refused = call_process("worker", STORE_TYPE="redis", REDIS_PORT=str(redis.port), NODE_TYPE="unheard-of")

    assert refused.exit_code != 0
    assert "unheard-of" in refused.stderr


def test_what_is_defined_while_a_node_runs_works_at_once(
    redis: RedisServer, cli: RedisCli, store: Store, tmp_path: Path
) -> None:
    with node(redis, tmp_path) as up:
        up.until(lambda: cli.record("node_types", "default") is not None, "the node's own type to be shown")
        queue = str(cli.record("node_types", "default")["uuid"])  # type: ignore[index]

        cli.define_job_type(TEST_JOB, "test_job", "echo")
        (uuid,) = cli.push_jobs(queue, TEST_JOB, {"command": "now"})

        assert results(store, up, uuid) == {"stdout": "now\n", "stderr": "", "exit_code": 0}
        assert up.stop() == 0


def test_a_uuid_that_others_chose_for_a_node_type_that_is_there_is_listened_to(
    redis: RedisServer, cli: RedisCli, store: Store, tmp_path: Path
) -> None:
    with node(redis, tmp_path) as up:
        up.until(lambda: cli.record("node_types", "default") is not None, "the node's own type to be shown")

        cli.define_node_type("default", DEFAULT, 4)
        cli.define_job_type(TEST_JOB, "test_job", "echo hello")
        (uuid,) = cli.push_jobs(DEFAULT, TEST_JOB, {})

        assert results(store, up, uuid) == {"stdout": "hello\n", "stderr": "", "exit_code": 0}
        assert up.stop() == 0
    assert cli.record("node_types", "default") == {"name": "default", "uuid": DEFAULT, "thread_count": 4}
    assert [one.thread_count for one in store.list_node_types()] == [4]


def test_the_job_type_decides_which_nodes_run_a_job_not_the_list(
    redis: RedisServer, cli: RedisCli, store: Store, tmp_path: Path
) -> None:
    cli.define_node_type("default", DEFAULT)
    cli.define_node_type("other", OTHER)
    cli.define_job_type(TEST_JOB, "test_job", "echo here", node_type="default")

    with node(redis, tmp_path) as up:
        (uuid,) = cli.push_jobs(OTHER, TEST_JOB, {})
        assert results(store, up, uuid) == {"stdout": "here\n", "stderr": "", "exit_code": 0}
        assert up.stop() == 0

    job = store.find_jobs([uuid])[0]
    assert job is not None
    assert job.spec.queue == DEFAULT


def test_jobs_run_in_the_order_in_which_they_were_pushed(
    redis: RedisServer, cli: RedisCli, store: Store, tmp_path: Path
) -> None:
    cli.define_node_type("default", DEFAULT, 1)
    cli.define_job_type(
        TEST_JOB,
        "write",
        f"echo >> {tmp_path}/order",
        metadata={"command": ["sh", "-c", f'echo "$1" >> {tmp_path}/order', "sh"]},
    )
    numbers = [f"{number:03}" for number in range(150)]

    with node(redis, tmp_path) as up:
        uuids = cli.push_jobs(DEFAULT, TEST_JOB, *({"command": [number]} for number in numbers))
        results(store, up, uuids[-1])
        assert up.stop() == 0

    assert (tmp_path / "order").read_text().split() == numbers


def test_two_nodes_share_the_work(redis: RedisServer, cli: RedisCli, store: Store, tmp_path: Path) -> None:
    cli.define_node_type("default", DEFAULT, 1)
    cli.define_job_type(TEST_JOB, "meet", "", metadata={"command": ["sh", "-c", _meeting(tmp_path), "sh"]})

    with node(redis, tmp_path) as first, node(redis, tmp_path) as second:
        first.banner()
        second.banner()
        uuids = cli.push_jobs(DEFAULT, TEST_JOB, {"command": ["a", "b"]}, {"command": ["b", "a"]})
        for uuid in uuids:
            results(store, first, uuid)
        assert (first.stop(), second.stop()) == (0, 0)

    jobs = [job for job in store.find_jobs(uuids) if job]
    assert {job.state.value for job in jobs} == {"succeeded"}
    assert len({job.node for job in jobs}) == 2


def _meeting(folder: Path) -> str:
    """A job that ends only when its counterpart runs at the same time, which takes two nodes of one slot each."""
    return f"touch {folder}/$1; for i in $(seq 3000); do [ -e {folder}/$2 ] && exit 0; sleep 0.1; done; exit 1"


def test_broken_entries_are_laid_aside_and_stop_nobody(
    redis: RedisServer, cli: RedisCli, store: Store, tmp_path: Path
) -> None:
    cli.define_node_type("default", DEFAULT)
    cli.define_job_type(TEST_JOB, "test_job", "echo good")
    broken = {
        "this is no JSON": "malformed",
        "[1, 2]": "object",
        as_json({"uuid": OTHER, "job_type_uuid": TEST_JOB}): "arguments",
        entry("x", TEST_JOB, {}): "'x' is not a UUID",
        entry(OTHER, OTHER, {}): "no job type",
        entry(OTHER, TEST_JOB, [1]): "arguments",
    }

    with node(redis, tmp_path) as up:
        cli("RPUSH", f"jobs_waiting_{DEFAULT}", *broken)
        (uuid,) = cli.push_jobs(DEFAULT, TEST_JOB, {})
        assert results(store, up, uuid) == {"stdout": "good\n", "stderr": "", "exit_code": 0}
        assert up.stop() == 0

    letters = [msgspec.json.decode(line) for line in cli("LRANGE", "rota:synchrony:dead", 0, -1).splitlines()]
    assert [letter["entry"] for letter in letters] == list(broken)
    for letter, reason in zip(letters, broken.values(), strict=True):
        assert letter["list"] == f"jobs_waiting_{DEFAULT}"
        assert reason in letter["reason"]
    refused = store.find_jobs([OTHER])[0]
    assert refused is not None
    assert refused.state is JobState.FAILED
    assert "arguments" in str(refused.errors), "of the first entry that named it"


def test_a_job_that_is_pushed_twice_runs_once(redis: RedisServer, cli: RedisCli, store: Store, tmp_path: Path) -> None:
    cli.define_node_type("default", DEFAULT, 1)
    cli.define_job_type(TEST_JOB, "count", f"echo >> {tmp_path}/runs")
    twice = entry(OTHER, TEST_JOB, {}, enqueued_at=1580651664039)

    with node(redis, tmp_path) as up:
        cli("RPUSH", f"jobs_waiting_{DEFAULT}", twice, twice)
        (last,) = cli.push_jobs(DEFAULT, TEST_JOB, {})
        results(store, up, last)
        assert up.stop() == 0

    job = store.find_jobs([OTHER])[0]
    assert job is not None
    assert job.spec.enqueued_at == 1580651664039
    assert len((tmp_path / "runs").read_text().splitlines()) == 2


def test_a_node_that_is_killed_while_it_adopts_loses_nothing(
    redis: RedisServer, cli: RedisCli, store: Store, tmp_path: Path
) -> None:
    cli.define_node_type("default", DEFAULT, 8)
    cli.define_job_type(TEST_JOB, "quick", "", executor="log", metadata={"message": "ran"})
    uuids: list[str] = []

    with node(redis, tmp_path) as killed:
        killed.banner()
        for _ in range(10):
            uuids += cli.push_jobs(DEFAULT, TEST_JOB, *[{}] * 200)
        killed.until(lambda: any(store.find_jobs(uuids[:50])), "the adoption to begin")
        assert killed.stop(signal.SIGKILL) == -signal.SIGKILL
    waiting = int(cli("LLEN", f"jobs_waiting_{DEFAULT}"))
    adopted = sum(job is not None for job in store.find_jobs(uuids))

    assert waiting + adopted == len(uuids)
    with node(redis, tmp_path) as second:
        second.banner()
        second.until(lambda: cli("LLEN", f"jobs_waiting_{DEFAULT}") == "0", "the rest to be adopted")
        second.until(lambda: all(ended(store, uuid) for uuid in uuids[-50:]), "the last ones to run")
        assert second.stop() == 0


def test_schedule_items_make_jobs_and_show_when(
    redis: RedisServer, cli: RedisCli, store: Store, tmp_path: Path
) -> None:
    cli.define_node_type("default", DEFAULT, 1)
    cli.define_job_type(TEST_JOB, "tick", f"echo >> {tmp_path}/ticks")
    item = {"uuid": OTHER, "interval": 300, "last_scheduled_by": None, "last_scheduled_at": None}
    cli("HSET", "schedule_items", OTHER, as_json({**item, "job_type_uuid": TEST_JOB, "job_arguments": {}}))

    def ticks() -> int:
        return len((tmp_path / "ticks").read_text().splitlines()) if (tmp_path / "ticks").exists() else 0

    with node(redis, tmp_path) as up:
        node_uuid = up.banner()["node"]
        up.until(lambda: ticks() >= 3, "the third tick")
        up.until(lambda: (cli.record("schedule_items", OTHER) or {}).get("last_scheduled_by") == node_uuid, "its trace")

        cli("HDEL", "schedule_items", OTHER)

        up.until(lambda: store.find_schedules([OTHER]) == [None], "the schedule to go")
        assert up.stop() == 0


def test_jobs_are_shown_in_keys_of_their_own_when_that_is_asked_for(
    redis: RedisServer, cli: RedisCli, store: Store, tmp_path: Path
) -> None:
    cli.define_node_type("default", DEFAULT, 1)
    command = f"while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; echo done"
    cli.define_job_type(TEST_JOB, "wait", command)

    with node(redis, tmp_path, ROTA_SYNCHRONY_JOB_KEYS="true") as up:
        (uuid,) = cli.push_jobs(DEFAULT, TEST_JOB, {})
        up.until(lambda: cli.record(f"jobs_in_progress_{DEFAULT}", uuid) is not None, "it to be in progress")
        running = cli.record(f"jobs_in_progress_{DEFAULT}", uuid)
        (tmp_path / "go").touch()
        up.until(lambda: cli.record(f"jobs_finished_{DEFAULT}", uuid) is not None, "it to be finished")
        finished = cli.record(f"jobs_finished_{DEFAULT}", uuid)
        up.until(lambda: cli("HLEN", f"jobs_in_progress_{DEFAULT}") == "0", "it to be in progress no more")
        store.delete_jobs([uuid])
        up.until(lambda: cli("HLEN", f"jobs_finished_{DEFAULT}") == "0", "it to be forgotten")
        node_uuid = up.banner()["node"]
        assert up.stop() == 0

    fields = {"uuid", "job_type_uuid", "arguments", "executing_node", "enqueued_at", "started_at", "ended_at"}
    fields |= {"results", "errors"}
    assert running is not None
    assert finished is not None
    assert running.keys() == finished.keys() == fields
    assert (running["executing_node"], running["ended_at"]) == (node_uuid, None)
    assert finished["results"] == {"stdout": "done\n", "stderr": "", "exit_code": 0}
    assert finished["errors"] is None


def test_the_keys_are_left_alone_when_a_setting_says_so(redis: RedisServer, cli: RedisCli, tmp_path: Path) -> None:
    cli.define_job_type(TEST_JOB, "test_job", "true")

    with node(redis, tmp_path, ROTA_SYNCHRONY_KEYS="false") as up:
        up.banner()
        wait_until(lambda: cli("HLEN", "rota:{nodes}:nodes") == "1", "the node's first beat")
        assert up.stop() == 0

    assert cli("EXISTS", "node_types", "nodes", "rota:synchrony:turn") == "0"
    assert cli("HLEN", "rota:{definitions}:job_types") == "0"
