"""Queues, nodes, settings, keys and the benchmark."""

from pathlib import Path

import pytest

from rota.engine.access.keys.admin_key import SETTING
from rota.engine.access.keys.hashes import matches_hash
from rota.model.ids import new_id
from rota.model.node import Node
from rota.store import Store
from tests.cli.calling import call_process, done, rota
from tests.contract.building import beat


def test_queues_show_their_jobs_by_state() -> None:
    done("job-type", "create", "hello", "--", "true")
    done("enqueue", "hello")
    done("enqueue", "hello", "--delay", "1h")

    queue = done("queues", "--json").json[0]

    assert (queue["name"], queue["paused"], queue["workers"]) == ("default", False, 0)
    assert (queue["jobs"]["queued"], queue["jobs"]["delayed"], queue["jobs"]["failed"]) == (1, 1, 0)
    header, row = done("queues").stdout.splitlines()
    assert header.split()[:4] == ["NAME", "WORKERS", "DELAYED", "QUEUED"]
    assert row.split()[:4] == ["default", "0", "1", "1"]


def test_a_queue_is_paused_and_resumed(opened: Store) -> None:
    queue = done("node-type", "create", "fast", "--json").json["uuid"]

    assert done("queues", "pause", "fast", "--json").json == {"uuid": queue, "name": "fast", "paused": True}
    assert opened.paused_queues() == {queue}
    assert "paused" in done("queues").stdout

    done("queues", "resume", "fast")
    assert opened.paused_queues() == frozenset()
    assert rota("queues", "pause", "slow").exit_code == 3


@pytest.mark.parametrize(
    "options",
    [
        ["--store", "sqlite:///other.db"],
        ["--server", "http://127.0.0.1:9"],
        ["--key", "k"],
        ["--config", "other.yaml"],
        ["--json"],
    ],
    ids=lambda words: words[0],
)
def test_options_before_the_verb_are_not_silently_ignored(options: list[str]) -> None:
    done("node-type", "create", "fast")

    answer = rota("queues", *options, "pause", "fast")

    assert answer.exit_code == 2
    assert "behind the verb" in answer.stderr
    assert not done("queues", "--json").json[0]["paused"]


@pytest.mark.usefixtures("place")
def test_nodes_tell_who_lives(opened: Store) -> None:
    queue = done("node-type", "create", "fast", "--json").json["uuid"]
    now = opened.now()
    alive, dead = (
        Node(uuid=new_id(now), node_type=queue, last_ping=ping, host="there", pid=7, roles=("worker",), slots=4)
        for ping in (now + 3_600_000, now - 60_000)
    )
    beat(opened, alive)
    beat(opened, dead)

    shown = {one["uuid"]: one for one in done("nodes", "--json").json}

    assert (shown[alive.uuid]["alive"], shown[dead.uuid]["alive"]) == (True, False)
    assert shown[alive.uuid]["node_type"] == "fast"
    assert "dead" in done("nodes").stdout


def test_nodes_tell_their_trouble(opened: Store) -> None:
    now = opened.now()
    queue = done("node-type", "create", "fast", "--json").json["uuid"]
    trouble = "claiming fewer jobs: this process has run out of threads"
    beat(opened, Node(uuid=new_id(now), node_type=queue, last_ping=now + 3_600_000, trouble=trouble))

    assert [one["trouble"] for one in done("nodes", "--json").json] == [trouble]
    shown = done("nodes").stdout
    assert "in trouble" in shown
    assert trouble in shown


def test_config_tells_where_a_value_came_from_and_no_secret(folder: Path) -> None:
    (folder / "rota.yaml").write_text("server: {port: 8080, api_key: very-secret}\n")

    answer = call_process("config", "--json", "--store", "redis://:hidden@there/0", ROTA_STOP_GRACE_S="3")

    settings = {one["name"]: (one["value"], one["source"]) for one in answer.json}
    assert settings["port"] == (8080, "rota.yaml:1")
    assert settings["stop_grace_s"] == (3.0, "ROTA_STOP_GRACE_S")
    assert settings["thread_count"] == (None, "default")
    assert settings["store"][1] == "--store"
    assert "very-secret" not in answer.stdout
    assert "hidden" not in answer.stdout


def test_config_without_a_file_says_so() -> None:
    answer = done("config")

    assert answer.stdout.splitlines()[0].split() == ["NAME", "VALUE", "SOURCE"]
    assert "No configuration file" in answer.stderr


def test_a_new_key_replaces_the_old_one_and_only_its_hash_is_kept(opened: Store) -> None:
    old = done("key", "create").stdout.strip()

    new = done("key", "create", "--json").json["api_key"]

    kept = opened.get_setting(SETTING)
    assert kept is not None
    assert new not in kept
    assert matches_hash(new, kept)
    assert not matches_hash(old, kept)


def test_the_benchmark_reports_and_leaves_nothing_behind(folder: Path) -> None:
    report = done("bench", "--jobs", "300", "--json").json

    assert report["jobs"] == 300
    assert report["enqueue"]["jobs_per_s"] > 0
    assert report["run"]["cpu_us_per_job"] > 0
    assert list(folder.iterdir()) == []
    assert not Path(report["store"].removeprefix("sqlite:///")).exists()


def test_the_benchmark_cleans_up_in_a_store_that_was_named(opened: Store) -> None:
    done("job-type", "create", "hello", "--", "true")
    done("enqueue", "hello")

    done("bench", "--jobs", "300", "--store", "sqlite:///rota.db")

    assert [one["name"] for one in done("job-type", "list", "--json").json] == ["hello"]
    assert [one["name"] for one in done("node-type", "list", "--json").json] == ["default"]
    assert [one["state"] for one in done("jobs", "--json").json] == ["queued"]
    assert opened.list_nodes(since=0) == []


@pytest.mark.parametrize("words", [["--jobs", "0"], ["--threads", "0"]])
def test_a_benchmark_of_nothing_is_refused(words: list[str]) -> None:
    assert rota("bench", *words).exit_code == 2
