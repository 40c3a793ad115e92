"""Executor `bash`: the promises of seed 001, and that a job's words stay words."""

import asyncio
import os
import signal
import tracemalloc
from pathlib import Path

import pytest

from rota.engine.executors.bash import BashExecutor
from rota.errors import InvalidInput
from rota.model.limits import MAX_LOG_MESSAGE_BYTES
from rota.model.outcome import Outcome, OutcomeKind

from .runs import (
    JOB_ID,
    await_death,
    cancel,
    errors_of,
    job_type,
    make_run,
    processes_with,
    results_of,
    run_until,
)

needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the test looks for processes in /proc")


def run_bash(
    runner: asyncio.Runner, metadata: dict[str, object], arguments: dict[str, object] | None = None
) -> Outcome:
    return runner.run(BashExecutor().run(make_run(metadata, arguments)))


def stdout_of(outcome: Outcome) -> str:
    assert outcome.kind is OutcomeKind.SUCCEEDED, outcome
    return str(results_of(outcome)["stdout"])


# -- results ---------------------------------------------------------------------------------------------------------


def test_a_command_that_succeeds_has_its_output_as_result(runner: asyncio.Runner) -> None:
    outcome = run_bash(runner, {"command": "echo 'test'"})

    assert outcome == Outcome(OutcomeKind.SUCCEEDED, {"stdout": "test\n", "stderr": "", "exit_code": 0})


def test_an_exit_code_other_than_0_fails_without_errors(runner: asyncio.Runner) -> None:
    outcome = run_bash(runner, {"command": "echo out; echo err >&2; exit 3"})

    assert outcome == Outcome(OutcomeKind.FAILED, {"stdout": "out\n", "stderr": "err\n", "exit_code": 3})


def test_a_signal_is_a_negative_exit_code(runner: asyncio.Runner) -> None:
    outcome = run_bash(runner, {"command": "kill -KILL $$"})

    assert results_of(outcome)["exit_code"] == -9
    assert outcome.errors is None


def test_a_program_that_is_not_there_is_an_error(runner: asyncio.Runner) -> None:
    outcome = run_bash(runner, {"command": ["no-such-program-anywhere"]})

    assert outcome.kind is OutcomeKind.FAILED
    assert errors_of(outcome)["type"] == "spawn"
    assert "no-such-program-anywhere" in errors_of(outcome)["message"]
    assert results_of(outcome)["exit_code"] == 127


def test_a_program_that_cannot_be_run_is_an_error(runner: asyncio.Runner, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("text")

    outcome = run_bash(runner, {"command": [str(tmp_path / "plain")]})

    assert errors_of(outcome)["type"] == "spawn"
    assert results_of(outcome)["exit_code"] == 126


def test_arguments_too_long_for_the_system_are_an_error(runner: asyncio.Runner) -> None:
    outcome = run_bash(runner, {"command": ["true"]}, {"command": ["x" * 200_000]})

    assert errors_of(outcome)["type"] == "spawn"


def test_a_command_runs_in_the_folder_of_its_job_type(runner: asyncio.Runner, tmp_path: Path) -> None:
    folder = str(tmp_path.resolve())

    assert stdout_of(run_bash(runner, {"command": ["pwd", "-P"], "cwd": folder})) == f"{folder}\n"
    missing = run_bash(runner, {"command": ["pwd"], "cwd": f"{folder}/missing"})
    assert f"{folder}/missing" in errors_of(missing)["message"]


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


@pytest.mark.parametrize(
    "name", ["BASH_ENV", "LD_PRELOAD", "PATH", "SHELLOPTS", "PS4", "PYTHONPATH", "NODE_OPTIONS", "ENV"]
)
def test_a_job_may_not_set_a_variable_that_runs_code(runner: asyncio.Runner, name: str, tmp_path: Path) -> None:
    payload = f"$(touch {tmp_path / 'made'})"

    outcome = run_bash(runner, {"command": "true"}, {"environment": {name: payload}})

    assert outcome.kind is OutcomeKind.REFUSED
    assert f"arguments.environment.{name}" in errors_of(outcome)["message"]
    assert not (tmp_path / "made").exists()


def test_a_job_may_set_a_dangerous_variable_if_its_job_type_does(runner: asyncio.Runner) -> None:
    metadata: dict[str, object] = {"command": "echo $PYTHONPATH", "environment": {"PYTHONPATH": "/type"}}

    assert stdout_of(run_bash(runner, metadata, {"environment": {"PYTHONPATH": "/job"}})) == "/job\n"


# -- check -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({}, "metadata.command"),
        ({"command": ""}, "metadata.command"),
        ({"command": " \n"}, "metadata.command"),
        ({"command": []}, "metadata.command"),
        ({"command": [""]}, "metadata.command"),
        ({"command": None}, "metadata.command"),
        ({"command": ["sleep", 1]}, "metadata.command[1]"),
        ({"command": "a\0"}, "metadata.command"),
        ({"command": "ls", "environment": "A=1"}, "metadata.environment"),
        ({"command": "ls", "environment": {"A": 1}}, "metadata.environment.A"),
        ({"command": "ls", "environment": {"1A": "x"}}, "metadata.environment"),
        ({"command": "ls", "cwd": ""}, "metadata.cwd"),
        ({"command": "ls", "cwd": 1}, "metadata.cwd"),
        ({"command": "ls", "raw_arguments": "yes"}, "metadata.raw_arguments"),
        ({"command": "ls", "enviroment": {}}, "metadata.enviroment"),
    ],
)
def test_a_job_type_is_refused_by_the_field_that_is_wrong(metadata: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        BashExecutor().check(job_type("bash", metadata))

    assert caught.value.field == field


def test_an_unknown_key_is_answered_with_the_nearest_known_one() -> None:
    with pytest.raises(InvalidInput, match="did you mean 'environment'"):
        BashExecutor().check(job_type("bash", {"command": "ls", "enviroment": {}}))


def test_a_job_type_that_was_never_checked_is_refused_when_it_runs(runner: asyncio.Runner) -> None:
    assert run_bash(runner, {"comand": "ls"}).kind is OutcomeKind.REFUSED


# -- the live log and bounds -----------------------------------------------------------------------------------------


def test_lines_reach_the_log_while_the_command_runs(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        run = make_run({"command": "echo first; echo bad >&2; read x < <(sleep 600)"})

        task, _ = await run_until(BashExecutor(), run, "first")
        await run.said("bad")
        await cancel(task)

        assert run.lines == [("first", "info"), ("bad", "error")]

    runner.run(scenario())


def test_hundreds_of_megabytes_without_a_line_end_leave_memory_flat(runner: asyncio.Runner) -> None:
    run = make_run({"command": "head -c 300000000 /dev/zero; head -c 50000000 /dev/zero >&2; echo; echo end"})

    tracemalloc.start()
    outcome = runner.run(BashExecutor().run(run))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 8 * 1024 * 1024
    assert stdout_of(outcome).endswith("\0\nend\n")
    assert [len(message) for message in run.messages()] == [MAX_LOG_MESSAGE_BYTES] * 2 + [3]


def test_a_flood_of_lines_ends_in_the_log_but_not_in_the_command(runner: asyncio.Runner) -> None:
    run = make_run({"command": "head -c 30000000 /dev/zero | tr '\\0' '\\n'; echo end"})

    outcome = runner.run(BashExecutor().run(run))

    assert stdout_of(outcome).endswith("\nend\n")
    assert "log ends here" in run.messages()[-1]


# -- stopping --------------------------------------------------------------------------------------------------------


@needs_proc
def test_a_cancelled_command_is_stopped_with_its_group_and_shows_what_it_did(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        run = make_run({"command": "echo begun; sleep 600 & echo pid $!; wait"})

        task, grandchild = await run_until(BashExecutor(), run, "pid")
        await cancel(task)

        await_death(int(grandchild))
        shown = {"stdout": f"begun\npid {grandchild}\n", "stderr": "", "exit_code": -signal.SIGTERM}
        assert run.partial_results == shown

    runner.run(scenario())


def test_a_timeout_kills_a_command_that_ignores_requests(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        run = make_run({"command": "trap '' TERM; echo ready; while true; do sleep 600; done"}, grace_s=0.01)
        executor = BashExecutor()

        async def with_timeout() -> None:
            await asyncio.wait_for(executor.run(run), 0.3)

        with pytest.raises(TimeoutError):
            await with_timeout()
        assert isinstance(run.partial_results, dict)
        assert run.partial_results["exit_code"] == -signal.SIGKILL

    runner.run(scenario())


@needs_proc
def test_cancelled_at_any_moment_a_command_leaves_no_process(runner: asyncio.Runner) -> None:
    marker = f"LEFT_BEHIND_{os.getpid()}"

    async def scenario() -> None:
        executor = BashExecutor()
        for turns in range(40):
            metadata: dict[str, object] = {
                "command": "sleep 600 & (sleep 600 & sleep 600)",
                "environment": {marker: str(turns)},
            }
            task = asyncio.create_task(executor.run(make_run(metadata, grace_s=turns % 2 * 0.01)))
            for _ in range(turns % 8):
                await asyncio.sleep(0)
            task.cancel()
            if turns % 3 == 0:
                await asyncio.sleep(0)
                task.cancel()
            await asyncio.wait([task])

    runner.run(scenario())

    for pid in processes_with(marker):
        await_death(pid)
