"""What `rota` offers, and that saying so is quick."""

import subprocess
import sys

import click
import pytest

import rota as package
from rota.cli.main import SECTIONS, cli
from tests.cli.calling import call_process, done, environment, rota

HEAVY = ["asyncio", "msgspec", "redis", "rich", "sqlite3", "starlette", "uvicorn", "uvloop", "yaml", "rota.store"]


NEED_NO_STORE = [("completion",), ("migrate",), ("next",)]


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The paths of all verbs that do something."""
    if not isinstance(command, click.Group):
        return [path]
    context = click.Context(command)
    found = [path] if command.invoke_without_command else []
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        found += leaves(inner, (*path, name))
    return found


def test_help_imports_nothing_that_takes_long() -> None:
    script = (
        "import sys\n"
        "from rota.cli.main import cli\n"
        "try: cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        f"print('heavy:', [name for name in {HEAVY!r} if name in sys.modules])"
    )

    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment()).stdout

    assert said.splitlines()[-1] == "heavy: []"


def test_help_names_every_verb() -> None:
    said = done("--help").stdout

    for verbs in SECTIONS.values():
        for name, verb in verbs.items():
            assert name in said
            assert verb.summary in said


def test_summaries_in_the_list_are_those_of_the_verbs() -> None:
    context = click.Context(cli)

    for verbs in SECTIONS.values():
        for name, verb in verbs.items():
            command = cli.get_command(context, name)
            assert command is not None
            assert (command.name, command.short_help) == (name, verb.summary)


@pytest.mark.parametrize("path", leaves(cli), ids=" ".join)
def test_every_verb_explains_itself_and_offers_json(path: tuple[str, ...]) -> None:
    said = done(*path, "--help").stdout

    assert "--json" in said
    assert "--store" in said or path in NEED_NO_STORE


def test_without_a_verb_the_help_is_shown() -> None:
    answer = rota()

    assert answer.exit_code == 2
    assert "enqueue" in answer.stderr


def test_an_unknown_verb_is_answered_with_the_nearest() -> None:
    answer = rota("enqeue")

    assert answer.exit_code == 2
    assert "error: no command 'enqeue'; did you mean 'enqueue'?" in answer.stderr


def test_an_unknown_option_is_a_usage_error() -> None:
    answer = rota("jobs", "--colour")

    assert answer.exit_code == 2
    assert answer.stderr.startswith("error: ")
    assert "--colour" in answer.stderr


def test_the_package_can_be_run_as_a_module() -> None:
    answer = call_process("--version")

    assert (answer.exit_code, answer.stdout) == (0, f"rota {package.__version__}\n")


def test_version_tells_versions() -> None:
    assert done("version", "--json").json["rota"] == package.__version__
