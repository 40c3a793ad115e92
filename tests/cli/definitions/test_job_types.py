"""Defining job types and node types."""

from pathlib import Path

import pytest

from tests.cli.calling import RotaProcess, call_process, done, rota

pytestmark = pytest.mark.usefixtures("place")


def test_a_program_after_two_dashes_is_run_without_a_shell() -> None:
    made = done("job-type", "create", "hello", "--json", "--", "echo", "-n", "a b").json

    assert (made["executor"], made["metadata"]) == ("bash", {"command": ["echo", "-n", "a b"]})
    assert made["node_type"] == "default"


def test_a_command_is_a_script_for_bash() -> None:
    made = done("job-type", "create", "hello", "--command", "echo hi | wc", "--json").json

    assert (made["executor"], made["metadata"]) == ("bash", {"command": "echo hi | wc"})


def test_a_function_is_run_by_python() -> None:
    words = ["--function", "shop.images:resize", "--metadata", '{"process": true}']

    made = done("job-type", "create", "resize", *words, "--json").json

    assert (made["executor"], made["metadata"]) == ("python", {"function": "shop.images:resize", "process": True})


def test_every_rule_of_a_job_type_can_be_given() -> None:
    done("node-type", "create", "fast", "--threads", "4")
    rules = ["--node-type", "fast", "--timeout", "1.5m", "--unique", "while_pending", "--attempts", "3"]
    rules += ["--rate", "100/90s", "--rate-key", "mail:{host}"]

    done("job-type", "create", "a", *rules, "--retry-delay", "2s", "--on-node-death", "fail", "--", "true")

    shown = done("job-type", "show", "a", "--json").json
    assert shown["node_type"] == "fast"
    assert shown["timeout"] == 90_000
    assert shown["unique"] == "while_pending"
    assert (shown["retries"]["attempts"], shown["retries"]["delay_ms"]) == (3, 2_000)
    assert shown["on_node_death"] == "fail"
    assert (shown["rate"], shown["rate_key"]) == ("100/90s", "mail:{host}")
    assert "100/90s for mail:{host}" in done("job-type", "show", "a").stdout


def test_replacing_a_job_type_keeps_its_uuid() -> None:
    first = done("job-type", "create", "a", "--", "true").stdout

    second = done("job-type", "create", "a", "--replace", "--", "false").stdout

    assert first == second
    assert done("job-type", "show", "a", "--json").json["metadata"] == {"command": ["false"]}


def test_a_job_type_is_replaced_only_if_it_is_still_the_version_that_was_seen() -> None:
    done("job-type", "create", "a", "--", "true")
    done("job-type", "create", "a", "--replace", "--if-version", "1", "--", "false")

    late = rota("job-type", "create", "a", "--replace", "--if-version", "1", "--", "date")

    assert late.exit_code == 4
    assert "job type 'a' is at version 2, not 1; read it again" in late.stderr
    assert done("job-type", "show", "a", "--json").json["metadata"] == {"command": ["false"]}
    assert done("job-type", "show", "a").stdout.endswith("version        2\n")
    assert rota("job-type", "create", "b", "--replace", "--if-version", "1", "--", "true").exit_code == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a"], "say what to run"),
        (["a", "--if-version", "1", "--", "true"], "give both"),
        (["a", "--rate", "fast", "--", "true"], "such as 10/m"),
        (["a", "--rate-key", "{host}", "--", "true"], "give rate too"),
        (["a", "--command", "x", "--function", "m:f"], "one of"),
        (["a", "--executor", "pyton", "--metadata", "{}"], "did you mean 'python'?"),
        (["a", "--executor", "python", "--command", "x"], "takes no command"),
        (["a", "--executor", "bash"], "metadata.command"),
        (["a", "--metadata", "[1]", "--", "true"], "must be a JSON object"),
        (["a", "--metadata", "{", "--", "true"], "not valid JSON"),
        (["a", "--node-type", "nowhere", "--", "true"], "node_type"),
        (["a", "--attempts", "0", "--", "true"], "attempts"),
        (["a", "--timeout", "0", "--", "true"], "timeout"),
        (["a", "--timeout", "soon", "--", "true"], "is not a duration"),
        (["a", "--timeout", "60000", "--", "true"], '"60000" has no unit'),
        ([".a", "--", "true"], "is not a name"),
    ],
)
def test_a_bad_definition_is_refused_and_nothing_is_stored(words: list[str], said: str) -> None:
    answer = rota("job-type", "create", *words)

    assert answer.exit_code == 2
    assert said in answer.stderr
    listed = rota("job-type", "list", "--json")
    assert listed.exit_code == 5 or listed.json == []


def test_job_types_are_listed_and_deleted() -> None:
    for name in ("b", "a"):
        done("job-type", "create", name, "--", "true")
    assert [one["name"] for one in done("job-type", "list", "--json").json] == ["a", "b"]
    assert [line.split()[0] for line in done("job-type", "list").stdout.splitlines()] == ["NAME", "a", "b"]

    done("job-type", "delete", "a")

    assert [one["name"] for one in done("job-type", "list", "--json").json] == ["b"]
    assert rota("job-type", "delete", "a").exit_code == 3


def test_node_types_are_created_listed_and_deleted() -> None:
    made = done("node-type", "create", "fast", "--threads", "4", "--json").json

    assert (made["name"], made["thread_count"]) == ("fast", 4)
    assert "fast" in [one["name"] for one in done("node-type", "list", "--json").json]
    assert done("node-type", "show", "fast", "--json").json["uuid"] == made["uuid"]
    refused = rota("node-type", "create", "fast")
    assert (refused.exit_code, "or change it with --replace" in refused.stderr) == (4, True)
    assert rota("node-type", "create", "slow", "--threads", "0").exit_code == 2
    done("node-type", "delete", "fast")
    assert "fast" not in [one["name"] for one in done("node-type", "list", "--json").json]


def test_replacing_a_node_type_keeps_its_uuid() -> None:
    first = done("node-type", "create", "fast", "--threads", "4").stdout

    second = done("node-type", "create", "fast", "--threads", "5", "--replace").stdout

    assert first == second
    assert done("node-type", "show", "fast", "--json").json["thread_count"] == 5


@pytest.mark.parametrize("kind", ["job-type", "node-type"])
def test_several_definitions_are_deleted_together_or_not_at_all(kind: str) -> None:
    what = ["--executor", "log"] if kind == "job-type" else []
    for name in ("a", "b", "c"):
        done(kind, "create", name, *what)

    assert rota(kind, "delete", "a", "nope").exit_code == 3
    deleted = done(kind, "delete", "a", "b", "--json").json

    assert [one["name"] for one in deleted] == ["a", "b"]
    left = {one["name"] for one in done(kind, "list", "--json").json}
    assert left & {"a", "b", "c"} == {"c"}


def test_a_node_type_in_use_is_not_deleted() -> None:
    done("job-type", "create", "a", "--", "true")

    answer = rota("node-type", "delete", "default")

    assert answer.exit_code == 4
    assert "used by the job types a" in answer.stderr


REPORT = "job_types: [{name: report, executor: bash, metadata: {command: [make]}}]\n"


def start_and_stop_a_scheduler(folder: Path) -> None:
    """Which is when the file is applied."""
    with RotaProcess(["scheduler"], folder) as scheduler:
        scheduler.until_said("store")
        assert scheduler.stop() == 0


def test_what_the_file_owns_is_changed_in_the_file_only(folder: Path) -> None:
    (folder / "rota.yaml").write_text(REPORT)
    start_and_stop_a_scheduler(folder)

    for words in (["delete", "report"], ["create", "report", "--replace", "--", "true"]):
        answer = rota("job-type", *words)
        assert answer.exit_code == 4
        assert "change it there" in answer.stderr


def test_a_definition_that_left_the_file_is_removed(folder: Path) -> None:
    done("job-type", "create", "mine", "--", "true")
    (folder / "rota.yaml").write_text(REPORT)
    start_and_stop_a_scheduler(folder)
    assert [one["name"] for one in done("job-type", "list", "--json").json] == ["mine", "report"]

    (folder / "rota.yaml").write_text("log_level: INFO\n")
    start_and_stop_a_scheduler(folder)

    assert [one["name"] for one in done("job-type", "list", "--json").json] == ["mine"]


def test_a_worker_whose_file_has_no_definitions_removes_none(folder: Path) -> None:
    (folder / "rota.yaml").write_text(REPORT)
    start_and_stop_a_scheduler(folder)

    (folder / "rota.yaml").write_text("log_level: INFO\n")
    assert call_process("worker", "--burst").exit_code == 0

    assert [one["name"] for one in done("job-type", "list", "--json").json] == ["report"]
