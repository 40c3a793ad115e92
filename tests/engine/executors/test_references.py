"""Secrets that a node has and the store has not (`env:NAME`, `file:/PATH`), and which variables children inherit."""

import asyncio
from pathlib import Path

import pytest
from msgspec import structs

from rota.engine.executors.bash.bash import BashExecutor
from rota.engine.executors.executor import ExecutorOptions
from rota.engine.executors.interpreter.isolated import run_isolated
from rota.engine.executors.process.environment import base_environment
from rota.engine.executors.python.python import PythonExecutor
from rota.engine.executors.references import resolved
from rota.engine.executors.registry import ExecutorRegistry
from rota.errors import InvalidInput
from rota.model.runs.outcome import Outcome, OutcomeKind
from tests.engine.executors import jobs
from tests.engine.executors.bash.bash_runs import run_bash, stdout_of
from tests.engine.executors.http.web import Seen, WebServer, fetch
from tests.engine.executors.runs import errors_of, make_run


def test_a_command_gets_what_its_job_type_refers_to(
    runner: asyncio.Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULT_TOKEN", "from the node")
    (tmp_path / "password").write_text("from a file\n")
    environment = {"A": "env:VAULT_TOKEN", "B": f"file:{tmp_path / 'password'}", "C": "file:///a/url"}

    outcome = run_bash(runner, {"command": 'echo "$A|$B|$C"', "environment": environment})

    assert stdout_of(outcome) == "from the node|from a file|file:///a/url\n"


def test_what_a_job_gives_is_never_looked_up(runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULT_TOKEN", "canary")

    outcome = run_bash(runner, {"command": "echo $A"}, {"environment": {"A": "env:VAULT_TOKEN"}})

    assert stdout_of(outcome) == "env:VAULT_TOKEN\n"


def test_a_request_has_the_secret_in_its_header(runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_AUTHORIZATION", "Bearer {{ arguments.x }}")
    headers = {"Authorization": "env:HOOK_AUTHORIZATION", "X-Job": "{{ arguments.reference }}"}

    async def scenario() -> dict[str, str]:
        async with WebServer() as server:
            await fetch(server.url, {"reference": "env:HOOK_AUTHORIZATION"}, headers=headers)
            return server.seen[0].headers

    found = runner.run(scenario())
    assert found["authorization"] == "Bearer {{ arguments.x }}", "a secret is no template"
    assert found["x-job"] == "env:HOOK_AUTHORIZATION"


def test_a_secret_with_a_line_break_adds_no_header(runner: asyncio.Runner, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("Bearer a\r\nX-Evil: 1\n")

    async def scenario() -> tuple[Outcome, list[Seen]]:
        async with WebServer() as server:
            return await fetch(server.url, headers={"Authorization": f"file:{tmp_path / 'key'}"}), server.seen

    outcome, seen = runner.run(scenario())

    assert outcome.kind is OutcomeKind.REFUSED
    assert errors_of(outcome)["message"].startswith("metadata.headers.Authorization: has a line break")
    assert seen == []


def test_a_node_without_the_secret_refuses_and_says_what_it_lacks(runner: asyncio.Runner, tmp_path: Path) -> None:
    for value, lacks in {"env:NOT_SET_HERE": "NOT_SET_HERE", f"file:{tmp_path}/none": "none: No such file"}.items():
        outcome = run_bash(runner, {"command": "true", "environment": {"A": value}})

        assert outcome.kind is OutcomeKind.REFUSED
        assert errors_of(outcome)["message"].startswith("metadata.environment.A: this node ")
        assert lacks in errors_of(outcome)["message"]


def test_a_secret_is_small_and_text(tmp_path: Path) -> None:
    large, binary = tmp_path / "large", tmp_path / "binary"
    large.write_bytes(b"x" * 70_000)
    binary.write_bytes(b"\xff\xfe")

    for path in (large, binary):
        with pytest.raises(InvalidInput):
            resolved("f", f"file:{path}")


@pytest.fixture
def secrets_of_rota(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Variables of the node that belong to Rota."""
    names = ["HTTP_API_KEY", "ROTA_STORE", "ROTA_API_KEY", "ROTA_ADMIN_TOKEN", "REDIS_PASSWORD", "CLUSTER_ADMIN_TOKEN"]
    for name in names:
        monkeypatch.setenv(name, "canary")
    monkeypatch.setenv("OF_THE_OPERATOR", "passed on")
    monkeypatch.setenv("OTHER_SECRET", "canary 2")
    return names


def test_python_processes_do_not_inherit_what_is_rotas_own(runner: asyncio.Runner, secrets_of_rota: list[str]) -> None:
    run = make_run({"function": f"{jobs.__name__}:variables", "process": True})

    found = runner.run(PythonExecutor().run(run)).results

    assert isinstance(found, dict)
    assert found["OF_THE_OPERATOR"] == "passed on"
    assert [name for name in secrets_of_rota if name in found] == []


def test_a_suspect_does_not_inherit_it_either(runner: asyncio.Runner, secrets_of_rota: list[str]) -> None:
    run = make_run({"function": f"{jobs.__name__}:variables"})
    run.job_type = structs.replace(run.job_type, executor="python")

    found = runner.run(run_isolated(run, ExecutorRegistry())).results

    assert isinstance(found, dict)
    assert [name for name in secrets_of_rota if name in found] == []


@pytest.mark.parametrize(
    ("passed", "has_operators", "has_other"),
    [(("*",), True, True), (("OF_*",), True, False), (("OTHER_SECRET",), False, True), ((), False, False)],
)
def test_a_setting_says_what_children_inherit(
    runner: asyncio.Runner,
    secrets_of_rota: list[str],
    passed: tuple[str, ...],
    has_operators: bool,
    has_other: bool,
) -> None:
    options = ExecutorOptions(pass_environment=passed)
    child = make_run({"function": f"{jobs.__name__}:variables", "process": True})

    text = stdout_of(runner.run(BashExecutor(options).run(make_run({"command": ["env"]}))))
    found = runner.run(PythonExecutor(options).run(child)).results

    assert isinstance(found, dict)
    for name, is_there in {"OF_THE_OPERATOR": has_operators, "OTHER_SECRET": has_other, "PATH": True}.items():
        assert (f"{name}=" in text, name in found) == (is_there, is_there)


def test_what_only_begins_like_a_key_of_rota_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_API_KEY_FILE", "CLUSTER_ADMIN_TOKENS", "MY_ROTA_STORE"):
        monkeypatch.setenv(name, "of the operator")

    assert {"HTTP_API_KEY_FILE", "CLUSTER_ADMIN_TOKENS", "MY_ROTA_STORE"} <= base_environment().keys()
