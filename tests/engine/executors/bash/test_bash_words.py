"""Executor `bash`: what a job adds to the command of its job type, and that its words stay words."""

import asyncio
from pathlib import Path

import pytest
from msgspec import structs

from rota.engine.executors.bash.bash import BashExecutor
from rota.errors import InvalidInput
from rota.model.job import Cause
from rota.model.runs.outcome import OutcomeKind
from tests.engine.executors.bash.bash_runs import run_bash, stdout_of
from tests.engine.executors.runs import JOB_ID, errors_of, make_run

# -- the job's words -------------------------------------------------------------------------------------------------


def test_words_follow_a_script(runner: asyncio.Runner, tmp_path: Path) -> None:
    (tmp_path / "a file").touch()

    outcome = run_bash(runner, {"command": "ls -1"}, {"command": str(tmp_path)})

    assert stdout_of(outcome) == "a file\n"


@pytest.mark.parametrize("words", ["a 'b c' \"d\"", ["a", "b c", "d"]])
@pytest.mark.parametrize("command", ["printf '[%s]'", ["printf", "[%s]"]])
def test_a_string_is_split_and_an_array_is_taken_as_it_is(
    runner: asyncio.Runner, command: object, words: object
) -> None:
    assert stdout_of(run_bash(runner, {"command": command}, {"command": words})) == "[a][b c][d]"


@pytest.mark.parametrize("nothing", [None, "", "  ", []])
@pytest.mark.parametrize("command", ["echo $#", "echo $#;", "echo $# # a comment", "echo $#\n"])
def test_without_words_nothing_is_added_to_a_script(runner: asyncio.Runner, command: str, nothing: object) -> None:
    assert stdout_of(run_bash(runner, {"command": command}, {"command": nothing})) == "0\n"


def test_words_go_to_the_last_command_of_a_script(runner: asyncio.Runner) -> None:
    outcome = run_bash(runner, {"command": "cd /; echo a && echo b\n"}, {"command": "c d"})

    assert stdout_of(outcome) == "a\nb c d\n"


def test_a_script_may_place_the_words_itself(runner: asyncio.Runner) -> None:
    outcome = run_bash(runner, {"command": 'for w in "$@"; do echo "<$w>"; done'}, {"command": ["a b", "c"]})

    assert stdout_of(outcome) == "<a b>\n<c>\n"


@pytest.mark.parametrize("command", ["ls;", "sleep 0 &", "A=1", "ls # all", ">/dev/null"])
def test_words_that_would_be_run_are_refused(runner: asyncio.Runner, command: str, tmp_path: Path) -> None:
    outcome = run_bash(runner, {"command": command}, {"command": ["touch", str(tmp_path / "made")]})

    assert outcome.kind is OutcomeKind.REFUSED
    assert '"$@"' in errors_of(outcome)["message"]
    assert not (tmp_path / "made").exists()


PAYLOADS = [
    "; touch {made}",
    "&& touch {made}",
    "|| touch {made}",
    "| touch {made}",
    "& touch {made} &",
    "$(touch {made})",
    "`touch {made}`",
    "\n touch {made} \n",
    "\r\n touch {made}",
    "> {made}",
    ">> {made}",
    ">| {made}",
    "2> {made}",
    "<> {made}",
    "<(touch {made})",
    "${{IFS}}touch${{IFS}}{made}",
    "'; touch {made}; '",
    '"; touch {made}; "',
    "'$(touch {made})'",
    "\\'; touch {made} #",
    "x; touch {made} #",
    "{{touch,{made}}}",
    "$((a[$(touch {made})]))",
    "${{x:-$(touch {made})}}",
    "${{x@P}}",
    "A=1 touch {made}",
    "-e touch {made}",
    "--; touch {made}",
    "!! touch {made}",
    "* ? [a-z] ~ ~root",
    "\\\n touch {made}",
    "<<EOF\n$(touch {made})\nEOF",
    "%s%s%n; touch {made}",
    "\u2028touch {made}",
    "\t;\ttouch\t{made}",
    ";;touch {made}",
    "; exec touch {made}",
    "; . {made}",
    "; eval touch {made}",
    "$'\\x3b' touch {made}",
]


@pytest.mark.parametrize("command", ["printf '[%s]'", ["printf", "[%s]"], "true; printf '[%s]'", "X=1 printf '[%s]'"])
def test_no_payload_becomes_more_than_words(runner: asyncio.Runner, command: object, tmp_path: Path) -> None:
    made = tmp_path / "made"

    async def scenario() -> None:
        executor = BashExecutor()
        for payload in (text.format(made=made) for text in PAYLOADS):
            as_item = await executor.run(make_run({"command": command}, {"command": [payload, "end"]}))
            assert stdout_of(as_item) == f"[{payload}][end]"
            await executor.run(make_run({"command": command}, {"command": payload}))
        assert (
            stdout_of(await executor.run(make_run({"command": command}, {"command": "; rm -rf x"})))
            == "[;][rm][-rf][x]"
        )

    runner.run(scenario())

    assert not made.exists()


def test_a_job_type_may_ask_for_raw_joining(runner: asyncio.Runner) -> None:
    raw: dict[str, object] = {"command": "echo a", "raw_arguments": True}

    assert stdout_of(run_bash(runner, raw, {"command": "b; echo c"})) == "a b\nc\n"
    assert stdout_of(run_bash(runner, raw, {"command": ["b;", '"q"']})) == 'a b; "q"\n'
    assert stdout_of(run_bash(runner, raw)) == "a\n"
    assert stdout_of(run_bash(runner, {**raw, "command": ["echo", "$((1 + 1))"]}, {"command": "| cat"})) == "2\n"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"command": 5}, "arguments.command"),
        ({"command": {"a": "b"}}, "arguments.command"),
        ({"command": ["a", 5]}, "arguments.command[1]"),
        ({"command": "it's"}, "arguments.command"),
        ({"command": "a\0b"}, "arguments.command"),
        ({"command": ["\ud800"]}, "arguments.command[0]"),
        ({"environment": ["A"]}, "arguments.environment"),
        ({"environment": {"A": 1}}, "arguments.environment.A"),
        ({"environment": {"A": None}}, "arguments.environment.A"),
        ({"environment": {"A": "\0"}}, "arguments.environment.A"),
        ({"environment": {"A=B": "x"}}, "arguments.environment"),
        ({"environment": {"": "x"}}, "arguments.environment"),
        ({"environment": {"BASH_FUNC_ls%%": "() { :; }"}}, "arguments.environment"),
    ],
)
def test_bad_arguments_are_refused_by_name(runner: asyncio.Runner, arguments: dict[str, object], field: str) -> None:
    outcome = run_bash(runner, {"command": ["true"]}, arguments)

    assert outcome.kind is OutcomeKind.REFUSED
    assert errors_of(outcome)["message"].startswith(f"{field}: ")


# -- environment -----------------------------------------------------------------------------------------------------


def test_the_job_sets_variables_over_its_job_type(runner: asyncio.Runner) -> None:
    metadata: dict[str, object] = {"command": "echo $A $B $C", "environment": {"A": "type", "B": "type"}}

    outcome = run_bash(runner, metadata, {"environment": {"B": "job", "C": "x; y"}})

    assert stdout_of(outcome) == "type job x; y\n"


def test_a_command_knows_its_job(runner: asyncio.Runner) -> None:
    metadata: dict[str, object] = {"command": "echo $ROTA_JOB_ID $ROTA_JOB_ATTEMPT $ROTA_JOB_TYPE"}
    run = make_run(metadata, {"environment": {"ROTA_JOB_ID": "forged"}}, attempt=3)

    outcome = runner.run(BashExecutor().run(run))

    assert stdout_of(outcome) == f"{JOB_ID} 3 report\n"


def test_a_command_knows_its_fencing_number_and_the_tick_that_it_is_for(runner: asyncio.Runner) -> None:
    run = make_run({"command": "echo ${ROTA_FENCING_NUMBER-none} ${ROTA_NOMINAL_INSTANT-none}"}, attempt=3)
    assert stdout_of(runner.run(BashExecutor().run(run))) == "none none\n"
    run.fencing_number = 41
    run.spec = structs.replace(run.spec, cause=Cause("schedule", "s", 1_700_000_000_000))

    outcome = runner.run(BashExecutor().run(run))

    assert stdout_of(outcome) == "41 1700000000000\n"


def test_a_command_inherits_the_environment_without_what_is_rotas_own(
    runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "ROTA_API_KEY",
        "HTTP_API_KEY",
        "REDIS_URL",
        "REDIS_PASSWORD",
        "KAFKA_PASSWORD",
        "CLUSTER_ADMIN_TOKEN",
    ):
        monkeypatch.setenv(name, "canary-secret")
    monkeypatch.setenv("SETTING_OF_THE_OPERATOR", "passed on")

    environment = stdout_of(run_bash(runner, {"command": ["env"]}))

    assert "SETTING_OF_THE_OPERATOR=passed on" in environment
    assert "canary-secret" not in environment


def test_a_job_that_was_let_in_sets_any_variable(runner: asyncio.Runner) -> None:
    metadata: dict[str, object] = {"command": "echo $PYTHONPATH", "environment": {"PYTHONPATH": "/type"}}

    assert stdout_of(run_bash(runner, metadata, {"environment": {"PYTHONPATH": "/job"}})) == "/job\n"


def test_words_may_be_kept_from_being_options(runner: asyncio.Runner) -> None:
    metadata: dict[str, object] = {"command": ["printf", "%s|"], "allow_words": "--"}
    script: dict[str, object] = {"command": "printf '%s|'", "allow_words": "--"}
    words: dict[str, object] = {"command": ["-v", "x"]}

    assert stdout_of(run_bash(runner, metadata, words)) == "--|-v|x|"
    assert stdout_of(run_bash(runner, script, words)) == "--|-v|x|"
    assert stdout_of(run_bash(runner, metadata, {})) == "|"


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"allow_words": "yes"}, "metadata.allow_words"),
        ({"allow_words": 1}, "metadata.allow_words"),
        ({"allow_words": "--", "command": 'ls "$@"'}, "metadata.allow_words"),
        ({"allow_environment": "LANG"}, "metadata.allow_environment"),
        ({"allow_environment": ["A=B"]}, "metadata.allow_environment"),
        ({"allow_environment": ["A"] * 101}, "metadata.allow_environment"),
    ],
)
def test_what_a_job_type_opens_is_checked(more: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        BashExecutor().check(make_run({"command": "ls", **more}).job_type)

    assert refused.value.field == field
