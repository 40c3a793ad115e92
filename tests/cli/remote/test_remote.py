"""Verbs with --server say and do what they say and do on the store."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cli.calling import Answer, RotaProcess, call_process, done, rota


class Server(NamedTuple):
    process: RotaProcess
    address: str
    keys: dict[str, str]

    def call(self, *words: str, role: str = "operator") -> Answer:
        """A verb as somebody with a key calls it, elsewhere."""
        at = words.index("--") if "--" in words else len(words)
        return rota(*words[:at], "--server", self.address, "--key", self.keys[role], *words[at:])

    def done(self, *words: str, role: str = "operator") -> Answer:
        answer = self.call(*words, role=role)
        assert answer.exit_code == 0, answer
        return answer


@pytest.fixture
def server(folder: Path) -> Iterator[Server]:
    done("job-type", "create", "say", "--command", "echo hello")
    done("job-type", "create", "fail", "--attempts", "2", "--retry-delay", "10ms", "--", "false")
    done("job-type", "create", "wait", "--", "sleep", "600")
    done("node-type", "create", "big", "--threads", "3")
    done("job-type", "create", "nobody", "--node-type", "big", "--unique", "while_pending", "--", "true")
    roles = ("viewer", "operator", "admin")
    keys = {role: done("key", "create", f"a {role}", "--role", role, "--json").json["api_key"] for role in roles}
    with RotaProcess(["up", "--port", "0", "--json"], folder) as up:
        address = up.banner()["address"]
        up.until(lambda: done("nodes", "--json").json != [], "its first beat")
        yield Server(up, address, keys)


def ended(job_id: str, words: Answer) -> Any:
    return {one["uuid"]: one for one in words.json}[job_id]


def test_a_job_is_enqueued_waited_for_and_looked_at(server: Server) -> None:
    waited = server.done("enqueue", "say", "--wait", "--json").json
    job_id = waited["uuid"]

    assert (waited["state"], waited["is_new"]) == ("succeeded", True)
    assert server.done("job", job_id, "--json").json == done("job", job_id, "--json").json
    assert server.done("job", job_id[-8:]).stdout == done("job", job_id[-8:]).stdout
    assert server.done("logs", job_id).stdout == done("logs", job_id).stdout == "hello\n"
    assert server.done("logs", "-f", job_id, "--json").stdout == done("logs", "-f", job_id, "--json").stdout
    assert server.done("why", job_id, "--json").json == done("why", job_id, "--json").json


def test_every_option_of_enqueue_reaches_the_server(server: Server) -> None:
    words = ["enqueue", "nobody", "n=1", "--priority", "4", "--at", "2031-01-01", "--unique-key", "k"]
    words += ["--timeout", "5s", "--attempts", "7"]

    job_id = server.done(*words, "--json").json["uuid"]
    again = server.done(*words)

    shown = done("job", job_id, "--json").json
    assert (shown["arguments"], shown["priority"], shown["unique_key"]) == ({"n": 1}, 4, "k")
    assert (shown["timeout"], shown["retries"]["attempts"], shown["state"]) == (5_000, 7, "delayed")
    assert again.stdout == f"{job_id}\n"
    assert "Not made anew" in again.stderr


def test_a_failed_job_ends_with_exit_code_one_and_shows_its_attempts(server: Server) -> None:
    failed = server.call("enqueue", "fail", "--wait")

    job_id = failed.stdout.split()[0]
    assert failed.exit_code == 1
    assert "exit code 1" in failed.stdout
    assert server.done("job", job_id, "--json").json == done("job", job_id, "--json").json


def test_jobs_are_listed_cancelled_and_brought_back(server: Server) -> None:
    ids = [server.done("enqueue", "nobody", f"n={n}", "--json").json["uuid"] for n in range(5)]

    of_type = ("jobs", "--type", "nobody", "--state", "queued", "--queue", "big", "--json")
    assert server.done(*of_type).json == done(*of_type).json
    assert [one["uuid"] for one in server.done(*of_type).json] == ids
    assert "There are more than 2" in server.done("jobs", "--limit", "2").stderr
    assert server.done("cancel", ids[0], "--json").json == [{"uuid": ids[0], "answer": "cancelled"}]
    assert server.call("cancel", ids[0]).exit_code == 4
    assert server.done("retry", ids[0], "--json").json == [{"uuid": ids[0], "answer": "queued"}]
    assert server.call("retry", ids[0]).exit_code == 4
    assert server.call("cancel", "0190b0c0-0000-7000-8000-000000000001").exit_code == 3
    assert "No live node" in server.done("why", ids[1]).stdout


def test_a_running_job_is_followed_and_cancelled(server: Server) -> None:
    job_id = server.done("enqueue", "wait", "--json").json["uuid"]
    server.process.until(lambda: server.done("job", job_id, "--json").json["state"] == "running", "the job to run")

    assert server.done("cancel", job_id, "--json").json == [{"uuid": job_id, "answer": "requested"}]
    server.process.until(lambda: server.done("job", job_id, "--json").json["state"] == "cancelled", "its end")


def test_queues_and_nodes_are_shown_and_paused(server: Server) -> None:
    assert server.done("queues", "pause", "big", "--json").json["paused"]
    assert server.done("queues", "--json").json == done("queues", "--json").json
    assert "paused" in server.done("queues").stdout
    server.done("queues", "resume", "big")
    shown, own = (call("nodes", "--json").json for call in (server.done, done))
    assert [one["uuid"] for one in shown] == [one["uuid"] for one in own] != []
    assert [one["name"] for one in server.done("top", "--json").json["queues"]] == ["big", "default"]


def test_definitions_are_made_by_who_may(server: Server) -> None:
    create = (
        "job-type",
        "create",
        "new",
        "--timeout",
        "5s",
        "--unique",
        "while_running",
        "--attempts",
        "3",
        "--",
        "true",
    )
    assert server.call(*create).exit_code == 6

    made = server.done(*create[:3], "--json", *create[3:], role="admin").json
    server.done("node-type", "create", "small", "--threads", "2", role="admin")

    assert made == done("job-type", "show", "new", "--json").json
    assert server.call(*create, role="admin").exit_code == 4
    changed = server.done(*create[:3], "--replace", "--json", "--", "false", role="admin").json
    assert (changed["uuid"], changed["metadata"]) == (made["uuid"], {"command": ["false"]})
    for words in (["job-type", "list"], ["node-type", "list"], ["node-type", "show", "small"], ["audit"]):
        assert server.done(*words, "--json", role="admin").json == done(*words, "--json").json
    again = ("job-type", "create", "new", "--replace", "--json", "--if-version", "2", "--", "date")
    assert (changed["version"], server.done(*again, role="admin").json["version"]) == (2, 3)
    assert server.call(*again, role="admin").exit_code == 4
    server.done("job-type", "delete", "new", role="admin")
    server.done("node-type", "delete", "small", role="admin")
    assert rota("job-type", "show", "new").exit_code == 3


def test_schedules_are_made_changed_run_and_shown(server: Server) -> None:
    nightly = ("schedule", "create", "nightly", "-t", "nobody", "--cron", "30 2 * * *", "--tz", "Europe/Berlin")
    words = (
        "--jitter",
        "2s",
        "--max-runs",
        "7",
        "--exclude",
        "2030-12-25",
        "--catch-up",
        "all",
        "--priority",
        "3",
        "n=1",
    )
    assert server.call(*nightly, role="viewer").exit_code == 6

    made = server.done(*nightly, *words, "--json").json
    server.done("schedule", "create", "often", "-t", "say", "--every", "100ms", "--overlap", "allow")
    server.process.until(lambda: len(server.done("schedule", "ticks", "often", "--json").json) > 2, "some ticks")
    server.done("schedule", "pause", "often", "--note", "enough")
    server.process.until(lambda: done("schedule", "show", "often", "--json").json["live_jobs"] == [], "its jobs to end")

    assert made["words"] == "at 2:30 every day (Europe/Berlin)"
    for verb in (["show", "nightly"], ["show", "often"], ["list"], ["ticks", "often"]):
        assert server.done("schedule", *verb, "--json").json == done("schedule", *verb, "--json").json
        assert server.done("schedule", *verb).stdout == done("schedule", *verb).stdout
    changed = server.done("schedule", "edit", "nightly", "--cron", "0 3 * * *", "--json").json
    assert (changed["words"], changed["max_runs"]) == ("at 3:00 every day (Europe/Berlin)", 7)
    assert server.call("schedule", "edit", "nightly", "--if-version", "1", "--priority", "1").exit_code == 4
    job_id = server.done("schedule", "run", "nightly").stdout.strip()
    assert done("job", job_id, "--json").json["arguments"] == {"n": 1}
    assert "resumed" in server.done("schedule", "resume", "often").stderr
    assert server.done("why", "often", "--json").json["code"]
    server.done("schedule", "delete", "often", "nightly")
    assert done("schedule", "list", "--json").json == []


def test_a_crontab_is_imported_and_simulated(server: Server, folder: Path) -> None:
    (folder / "crontab").write_text("30 2 * * * true\n")

    server.done("import", "crontab", "crontab", role="admin")

    (made,) = done("schedule", "list", "--json").json
    assert made["words"].startswith("at 2:30 every day")
    simulated = ("simulate", "--from", "2030-01-01", "--to", "2030-01-03", "--json")
    assert server.done(*simulated).json == done(*simulated).json


def test_topics_are_read(server: Server) -> None:
    done("job-type", "create", "publish", "--executor", "topic", "--metadata", '{"topic": "orders"}')
    for number in range(3):
        server.done("enqueue", "publish", f"n={number}", "--wait")

    for verb in (["list", "--json"], ["tail", "orders"], ["tail", "orders", "-n", "2", "--json"]):
        assert server.done("topic", *verb).stdout == done("topic", *verb).stdout
    assert server.call("topic", "tail", "nothing").exit_code == 3


def test_events_are_posted(server: Server, folder: Path) -> None:
    (folder / "more.yaml").write_text(
        "configurations: [{name: in, dependencies: [{type: FILE, resourceId: /in/, lifeDuration: 60}]}]"
    )
    done("apply", "-f", "more.yaml")

    said = server.done("event", "post", "FILE", "/in/a.csv", "--id", "a")
    repeated = server.done("event", "post", "FILE", "/in/a.csv", "--id", "a", "--json").json

    assert "validated  in  FILE /in/\n" in said.stdout
    assert repeated == {"validated": [], "triggered": []}
    assert server.call("event", "post", "NOTHING", "x").exit_code == 2


def test_the_environment_names_server_and_key(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROTA_SERVER", server.address)

    without_key = rota("nodes")
    monkeypatch.setenv("ROTA_API_KEY", server.keys["viewer"])

    assert without_key.exit_code == 6
    assert "ROTA_API_KEY" in without_key.stderr
    assert done("nodes", "--json").json
    assert done("queues", "--store", "sqlite:///rota.db", "--json").json == done("queues", "--json").json


@pytest.mark.parametrize(
    ("words", "role", "exit_code", "told"),
    [
        (["enqueue", "say"], "viewer", 6, "jobs:w"),
        (["enqueue", "unknown"], "operator", 3, "no job type 'unknown'"),
        (["job", "0190b0c0-0000-7000-8000-000000000001"], "viewer", 3, "no job"),
        (["backup", "copy.db"], "admin", 2, "a copy reads a whole store"),
        (["bench"], "admin", 2, "it measures a store"),
        (["restore", "copy.db"], "admin", 2, "a copy writes a whole store"),
        (["config"], "admin", 2, "the settings of this machine"),
        (["up"], "admin", 2, "a node works on the store itself; leave --server out"),
        (["nodes", "--store", "sqlite:///rota.db"], "admin", 2, "not both"),
    ],
)
def test_what_a_server_does_not_do_is_said(
    server: Server, words: list[str], role: str, exit_code: int, told: str
) -> None:
    answer = server.call(*words, role=role)

    assert (answer.exit_code, told in answer.stderr) == (exit_code, True), answer


def test_a_wrong_key_and_a_server_that_is_not_there_have_their_exit_codes(server: Server) -> None:
    assert rota("jobs", "--server", server.address, "--key", "wrong").exit_code == 6
    assert rota("jobs", "--server", "http://127.0.0.1:9", "--key", "x").exit_code == 5


@pytest.mark.parametrize(
    "words",
    [
        ["up"],
        ["worker"],
        ["worker", "--processes", "2"],
        ["scheduler"],
        ["server"],
        ["bench"],
        ["backup", "copy.db"],
        ["restore", "copy.db"],
    ],
    ids=" ".join,
)
def test_what_no_server_does_is_not_done_here_while_the_environment_names_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setenv("ROTA_SERVER", "http://127.0.0.1:9")
    before = list(folder.iterdir())

    answer = rota(*words)

    assert answer.exit_code == 2
    assert "ROTA_SERVER names a server; name the store with --store, or unset ROTA_SERVER" in answer.stderr
    assert list(folder.iterdir()) == before


def test_a_store_that_is_named_and_the_settings_of_this_machine_are_not_the_servers(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = "http://127.0.0.1:9"
    monkeypatch.setenv("ROTA_SERVER", server)
    (folder / "quick.py").write_text("from rota import Rota\n\napp = Rota('sqlite:///rota.db')\n")

    assert done("config", "--json").json
    assert call_process("worker", "--burst", "--store", "sqlite:///rota.db", ROTA_SERVER=server).exit_code == 0
    assert call_process("worker", "quick:app", "--burst", ROTA_SERVER=server).exit_code == 0
