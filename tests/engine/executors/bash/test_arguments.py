"""Executor `bash`: a job's arguments reach its command, or the job is refused."""

import asyncio

import pytest

from rota.engine.executors.bash.arguments import MAX_VARIABLE_BYTES, ON_STDIN, variable_of
from rota.model.runs.outcome import OutcomeKind
from tests.engine.executors.bash.bash_runs import run_bash, stdout_of
from tests.engine.executors.runs import errors_of

SHOW: dict[str, object] = {"command": "env | grep ^ROTA_ARG | sort; cat"}


def test_each_argument_is_a_variable(runner: asyncio.Runner) -> None:
    arguments: dict[str, object] = {"day": "a 'b'\n", "count": 3, "deep": {"x": [True]}, "none": None, "full-name": "n"}

    shown = stdout_of(run_bash(runner, {"command": "printf '[%s]' \"$ROTA_ARG_DAY\"; env"}, arguments))

    assert "[a 'b'\n]" in shown
    for line in ("ROTA_ARG_COUNT=3", 'ROTA_ARG_DEEP={"x":[true]}', "ROTA_ARG_NONE=", "ROTA_ARG_FULL_NAME=n"):
        assert line in shown.splitlines()


def test_words_and_variables_of_the_job_are_no_arguments(runner: asyncio.Runner) -> None:
    shown = stdout_of(run_bash(runner, {"command": ["env"]}, {"command": [], "environment": {"A": "1"}}))

    assert "A=1" in shown.splitlines()
    assert "ROTA_ARG" not in shown


def test_no_argument_can_become_another_variable(runner: asyncio.Runner) -> None:
    shown = stdout_of(run_bash(runner, SHOW, {"x=1\nPATH": "y"}))

    assert shown == "ROTA_ARG_X_1_PATH=y\n"
    assert variable_of("é") == "ROTA_ARG__"


def test_arguments_are_json_on_standard_input_where_the_job_type_asks_for_it(runner: asyncio.Runner) -> None:
    arguments: dict[str, object] = {"day": "monday", "environment": {"A": "1"}}

    shown = stdout_of(run_bash(runner, {"command": "cat; cat $ROTA_ARGUMENTS_FILE", ON_STDIN: True}, arguments))

    assert shown == '{"day":"monday"}' * 2


def test_on_standard_input_arguments_may_be_long(runner: asyncio.Runner) -> None:
    arguments: dict[str, object] = {"long": "x" * 200_000}

    shown = stdout_of(run_bash(runner, {"command": "wc -c", ON_STDIN: True}, arguments))

    assert int(shown) == 200_000 + len('{"long":""}')


def test_without_that_standard_input_is_empty(runner: asyncio.Runner) -> None:
    assert stdout_of(run_bash(runner, SHOW, {"day": "monday"})) == "ROTA_ARG_DAY=monday\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"a-b": 1, "a_b": 2}, "arguments.a_b: and another argument are both ROTA_ARG_A_B"),
        ({"long": "x" * (MAX_VARIABLE_BYTES + 1)}, "arguments.long: is too long for a variable"),
        ({"nul": "a\0b"}, "arguments.nul"),
    ],
)
def test_what_cannot_be_a_variable_is_refused(
    runner: asyncio.Runner, arguments: dict[str, object], message: str
) -> None:
    outcome = run_bash(runner, SHOW, arguments)

    assert outcome.kind is OutcomeKind.REFUSED
    assert message in str(errors_of(outcome)["message"])
