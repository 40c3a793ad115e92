"""Executor `bash`: the promises of seed 001, and that a job's words stay words."""

import asyncio
import os
import signal
import tracemalloc
from pathlib import Path

import msgspec
import pytest

from rota.engine.executors.bash.bash import BashExecutor
from rota.errors import InvalidInput
from rota.model.limits import MAX_LOG_MESSAGE_BYTES, MAX_RESULT_BYTES
from rota.model.runs.outcome import Outcome, OutcomeKind
from tests.engine.executors.bash.bash_runs import run_bash, stdout_of
from tests.engine.executors.foreign import AS_ANOTHER, await_exec, needs_root, no_right_to_kill
from tests.engine.executors.runs import (
    await_death,
    cancel,
    errors_of,
    job_type,
    make_run,
    results_of,
    run_until,
)
from tests.processes import processes_with

needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the test looks for processes in /proc")


# -- results ---------------------------------------------------------------------------------------------------------


def test_a_command_that_succeeds_has_its_output_as_result(runner: asyncio.Runner) -> None:
    outcome = run_bash(runner, {"command": "echo 'test'"})

    assert outcome == Outcome(OutcomeKind.SUCCEEDED, {"stdout": "test\n", "stderr": "", "exit_code": 0})


@pytest.mark.parametrize(
    ("kept", "stdout"),
    [
        (0, "\n[... 10 bytes cut ...]\n"),
        (4, "01\n[... 6 bytes cut ...]\n89"),
        (9, "0123\n[... 2 bytes cut ...]\n6789"),
        (10, "0123456789"),
        (400_000, "0123456789"),
    ],
)
def test_a_job_type_says_how_much_output_its_results_keep(runner: asyncio.Runner, kept: int, stdout: str) -> None:
    assert stdout_of(run_bash(runner, {"command": "printf 0123456789", "keep_output": kept})) == stdout


def test_as_much_output_as_may_be_asked_for_is_kept(runner: asyncio.Runner) -> None:
    command = "head -c 400000 /dev/zero | tr '\\0' x; head -c 400000 /dev/zero | tr '\\0' y >&2"

    results = results_of(run_bash(runner, {"command": command, "keep_output": 400_000}))

    assert (results["stdout"], results["stderr"]) == ("x" * 400_000, "y" * 400_000)


def test_output_that_is_too_long_as_json_is_cut_further(runner: asyncio.Runner) -> None:
    outcome = run_bash(runner, {"command": "head -c 400000 /dev/zero", "keep_output": 400_000})

    stdout = stdout_of(outcome)
    assert len(msgspec.json.encode(outcome.results)) < MAX_RESULT_BYTES
    assert "[... 334464 bytes cut ...]" in stdout


def test_an_exit_code_other_than_0_fails_without_errors(runner: asyncio.Runner) -> None:
    outcome = run_bash(runner, {"command": "echo out; echo err >&2; exit 3"})

    assert outcome == Outcome(OutcomeKind.FAILED, {"stdout": "out\n", "stderr": "err\n", "exit_code": 3})


def test_a_signal_is_a_negative_exit_code(runner: asyncio.Runner) -> None:
    outcome = run_bash(runner, {"command": "kill -KILL $$"})

    assert outcome == Outcome(OutcomeKind.FAILED, {"stdout": "", "stderr": "", "exit_code": -9})


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
        ({"command": "ls", "keep_output": 400_001}, "metadata.keep_output"),
        ({"command": "ls", "keep_output": -1}, "metadata.keep_output"),
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


@needs_root
def test_a_stopped_command_that_may_not_be_killed_ends_its_run_and_is_named(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        run = make_run({"command": [*AS_ANOTHER, "sh", "-c", "echo pid $$; exec sleep 600"]}, grace_s=0.05)
        task, pid = await run_until(BashExecutor(), run, "pid")
        await_exec(int(pid), "sleep")

        with no_right_to_kill():
            await cancel(task)

        os.kill(int(pid), signal.SIGKILL)
        assert (run.can_be_stopped, run.survivors) == (False, f"{pid} (sleep)")
        assert run.partial_results == {"stdout": f"pid {pid}\n", "stderr": "", "exit_code": None}
        assert run.messages("error") == [f"not killed, because this node's user may not do that: {pid} (sleep)"]

    runner.run(scenario())


def test_a_timeout_kills_a_command_that_ignores_requests(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        run = make_run({"command": "trap '' TERM; echo ready; while true; do sleep 600; done"}, grace_s=0.01)
        executor = BashExecutor()

        task, _ = await run_until(executor, run, "ready")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(task, 0.01)
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
