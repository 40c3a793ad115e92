"""Seed 000's Redis keys, of its types, with its scores and members, seen with redis-cli beside the API."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest

from tests.seeds.redis_cli import RedisCli
from tests.seeds.test_000_sync_tasks import ALWAYS, FIELDS, QUEUE, Site, unix
from tests.servers import RedisServer

INDEX = "sync_tasks_index:source#source_id:collection#other"
CREATED = "2026-01-31T12:00:00.000000Z"
BUSY = f"""
  busy:
    executor: bash
    metadata: {{command: "while [ ! -e go ]; do sleep 0.05; done"}}
    collections: [{", ".join(f"{{name: c{number}}}" for number in range(20))}]
"""


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def cli(redis: RedisServer) -> RedisCli:
    return RedisCli(redis)


@pytest.fixture
def site(redis: RedisServer, tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path, redis.url)
    with made.node:
        yield made


def fields_of(cli: RedisCli, id: str) -> dict[str, str]:
    # redis-cli shows an empty value as an empty line, also the last one.
    lines = (cli("HGETALL", f"sync_tasks#{id}") + "\n").split("\n")
    return dict(zip(lines[::2], lines[1::2], strict=False))


def hand_in(cli: RedisCli, id: str, source: str, collection: str, priority: int = 300) -> None:
    """What another program does."""
    score = priority * 10**12 - unix(CREATED)
    words = {"id": id, "source": source, "collection": collection, "priority": str(score), "created_at": CREATED}
    words |= {"started_at": "", "finished_at": "", "status": "SCHEDULED"}
    cli("HSET", f"sync_tasks#{id}", *(word for pair in words.items() for word in pair))
    cli("ZADD", f"sync_tasks_index:source#{source}:collection#{collection}", unix(CREATED), id)
    cli("ZADD", QUEUE, score, id)


def test_what_the_api_has_answered_redis_cli_sees(cli: RedisCli, site: Site) -> None:
    assert site.call("GET", "/tasks", source="source_id", **ALWAYS).json == {"tasks": []}
    _, id = site.post("source_id", "other")
    created = int(cli("ZSCORE", INDEX, id))
    running = site.until(id, "RUNNING")

    assert cli("ZSCORE", QUEUE, id) in ("", "None")  # out of the queue: the API says that it runs
    assert (cli("TYPE", INDEX), cli("TYPE", f"sync_tasks#{id}")) == ("zset", "hash")
    assert created == unix(running["created_at"])
    shown = fields_of(cli, id)
    assert list(shown) == FIELDS
    assert {**running, "priority": str(running["priority"])} == shown

    site.node.until(lambda: len(site.logs(id)) == 2, "the log")
    assert cli("TYPE", f"sync_tasks#{id}:logs") == "zset"
    assert_logs_are_the_same(cli, site, id)
    site.go()
    ended = site.until(id, "SUCCESS")
    assert fields_of(cli, id)["finished_at"] == ended["finished_at"]
    assert len(site.logs(id)) == 3
    assert_logs_are_the_same(cli, site, id)


def assert_logs_are_the_same(cli: RedisCli, site: Site, id: str) -> None:
    lines = site.logs(id)
    members = cli("ZRANGE", f"sync_tasks#{id}:logs", 0, -1).split("\n")
    assert [msgspec.json.decode(member) for member in members] == lines
    assert [int(cli("ZSCORE", f"sync_tasks#{id}:logs", member)) for member in members] == [
        unix(line["time"]) for line in lines
    ]


def test_a_task_that_waits_is_in_the_queue_by_its_priority(cli: RedisCli, site: Site) -> None:
    """All slots of the node are taken, so one waits."""
    file = site.folder / "rota.yaml"
    file.write_text(file.read_text() + BUSY)
    site.node.until(lambda: site.call("POST", "/tasks/", source="busy", collection="c0").status < 300, "the sources")
    for number in range(1, 20):
        site.post("busy", f"c{number}")

    site.node.until(lambda: cli("ZCARD", QUEUE) == "4", "16 to run and 4 to wait")
    waiting = [one for one in site.tasks(source="busy", **ALWAYS) if one["status"] == "SCHEDULED"]
    assert [(one["started_at"], one["finished_at"]) for one in waiting] == [("", "")] * 4
    scores = {one["id"]: int(float(cli("ZSCORE", QUEUE, one["id"]))) for one in waiting}
    assert scores == {one["id"]: one["priority"] for one in waiting}
    assert all(one["priority"] == 300 * 10**12 - unix(one["created_at"]) for one in waiting)
    site.go()
    site.node.until(lambda: cli("ZCARD", QUEUE) == "0", "all to have run")


def test_a_task_that_another_program_puts_there_is_run(cli: RedisCli, site: Site) -> None:
    site.go()
    id = f"source_id_other_{uuid4()}"
    hand_in(cli, id, "source_id", "other")
    hand_in(cli, "of another make", "we ird:s#_x", "a_b")

    site.node.until(lambda: fields_of(cli, id)["status"] == "SUCCESS", "the task to end")
    site.node.until(lambda: fields_of(cli, "of another make")["status"] == "FAILED", "the other one to end")
    task = site.task(id)
    assert {**task, "priority": str(task["priority"])} == fields_of(cli, id)
    assert task["created_at"] == CREATED
    assert int(cli("ZSCORE", INDEX, id)) == unix(CREATED)
    assert site.logs("of another make")[0]["message"] == "we ird:s#_x, a_b"
    assert cli("ZCARD", QUEUE) == "0"


def test_one_that_comes_while_its_collection_is_syncing_waits_its_turn(cli: RedisCli, site: Site) -> None:
    _, first = site.post("source_id", "other")
    site.until(first, "RUNNING")
    hand_in(cli, "second", "source_id", "other")
    hand_in(cli, "third", "source_id", "sample_collection")

    site.node.until(lambda: fields_of(cli, "third")["status"] == "RUNNING", "the third to run")
    assert fields_of(cli, "second")["status"] == "SCHEDULED"
    site.go()
    site.node.until(lambda: fields_of(cli, "second")["status"] == "SUCCESS", "the second to run")


def told_to_be_none(site: Site) -> set[object]:
    return {line["task"] for line in site.node.log_lines() if line["message"] == "an entry is no task"}


def test_what_is_no_task_stops_nobody(cli: RedisCli, site: Site) -> None:
    site.go()
    hand_in(cli, "lost", "nobody", "nothing")
    cli("ZADD", QUEUE, 300 * 10**12, "nothing at all")
    hand_in(cli, "first", "source_id", "other")
    cli("ZADD", QUEUE, "inf", "first")
    hand_in(cli, "early", "source_id", "other")
    cli("HSET", "sync_tasks#early", "created_at", "0001-01-01T00:00:00+10:00")
    cli("SET", "sync_tasks#text", "{}")
    cli("ZADD", QUEUE, 300 * 10**12, "text")
    hand_in(cli, "good", "source_id", "other", priority=100)

    site.node.until(lambda: fields_of(cli, "good")["status"] == "SUCCESS", "the good one")
    site.node.until(lambda: cli("ZCARD", QUEUE) == "0", "the others to be put aside")
    dead = [msgspec.json.decode(line) for line in cli("LRANGE", "rota:sync_tasks:dead", 0, -1).split("\n")]
    none = {"lost", "nothing at all", "first", "early", "text"}
    assert {one["id"] for one in dead} == none
    assert "there is no source 'nobody'" in next(one["reason"] for one in dead if one["id"] == "lost")
    assert fields_of(cli, "lost")["status"] == "FAILED"
    assert cli("GET", "sync_tasks#text") == "{}"
    hand_in(cli, "last", "nobody", "nothing")
    site.node.until(lambda: "last" in told_to_be_none(site), "a word about the last one")
    assert told_to_be_none(site) == none | {"last"}


def test_names_with_signs_have_keys_of_their_own(cli: RedisCli, site: Site) -> None:
    source = "we ird:s#_x"
    _, id = site.post(source, "c d:e#f")
    site.until(id, "FAILED")

    assert cli("ZRANGE", f"sync_tasks_index:source#{source}:collection#c d:e#f", 0, -1) == id
    assert cli("ZCARD", f"sync_tasks_index:source#{source}:collection#a_b") == "0"
    assert fields_of(cli, id)["collection"] == "c d:e#f"
