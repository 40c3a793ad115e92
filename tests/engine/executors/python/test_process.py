"""Executor `python` with `process: true`: functions in a child that can be killed."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest

from rota.engine.executors.python.python import PythonExecutor
from rota.model.runs.outcome import Outcome, OutcomeKind
from tests.engine.executors import jobs
from tests.engine.executors.runs import JOB_ID, LoggedRun, await_death, cancel, errors_of, make_run, run_until
from tests.patience import DEADLINE_S


def run_of(function: str, **arguments: object) -> LoggedRun:
    return make_run({"function": f"{jobs.__name__}:{function}", "process": True}, arguments)


def call(runner: asyncio.Runner, function: str, **arguments: object) -> Outcome:
    return runner.run(PythonExecutor().run(run_of(function, **arguments)))


def test_functions_of_both_kinds_give_their_value(runner: asyncio.Runner) -> None:
    async def scenario() -> list[Any]:
        executor = PythonExecutor()
        runs = [run_of("add", a=1, b=2), run_of("add_in_thread", a=1), run_of("nothing"), run_of("identify_async")]
        return [outcome.results for outcome in await asyncio.gather(*map(executor.run, runs))]

    assert runner.run(scenario()) == [3, {"sum": 11, "is_main": True}, None, [JOB_ID, 1]]


def test_all_that_a_child_says_is_in_the_log_and_not_in_the_result(runner: asyncio.Runner) -> None:
    run = run_of("speak")

    outcome = runner.run(PythonExecutor().run(run))

    assert outcome.results == {"argv": 1, "stdin": "", "environment": JOB_ID}
    assert sorted(run.lines) == [
        ("jobs.test: to logging", "info"),
        ("to stderr", "error"),
        ("to stdout", "info"),
        ("to the run", "warning"),
    ]


def test_failures_are_told_as_in_a_thread(runner: asyncio.Runner) -> None:
    failed = call(runner, "fail")
    assert (failed.kind, errors_of(failed)["message"]) == (OutcomeKind.FAILED, "no such luck")
    assert 'raise ValueError("no such luck")' in errors_of(failed)["traceback"]

    assert errors_of(call(runner, "give", kind="object"))["type"] == "result"
    assert errors_of(call(runner, "fail_with", kind="exit"))["type"] == "SystemExit"
    assert call(runner, "no_such_function").kind is OutcomeKind.REFUSED
    assert call(runner, "add", c=1).kind is OutcomeKind.REFUSED


def test_programs_that_a_job_starts_have_nothing_of_the_way_to_its_node(runner: asyncio.Runner) -> None:
    """They could answer for it, or keep it from ending."""
    assert call(runner, "tell_what_programs_inherit").results == []


def test_a_large_result_comes_through_whole(runner: asyncio.Runner) -> None:
    run = make_run({"function": "builtins:sorted", "process": True}, {"iterable": []})
    assert runner.run(PythonExecutor().run(run)).kind is not OutcomeKind.SUCCEEDED  # it takes no keyword argument

    text = "x" * 200_000
    outcome = runner.run(PythonExecutor().run(make_run({"function": "builtins:dict", "process": True}, {"text": text})))

    assert outcome.results == {"text": text}


def test_a_process_that_dies_fails_the_job_and_says_how(runner: asyncio.Runner) -> None:
    exited = errors_of(call(runner, "die", code=9))
    killed = errors_of(call(runner, "die_by_signal", number=int(signal.SIGKILL)))

    assert (exited["type"], exited["exit_code"]) == ("process", 9)
    assert (killed["type"], killed["exit_code"]) == ("process", -9)
    assert "signal 9" in killed["message"]


def test_nonsense_in_the_result_pipe_does_no_harm(runner: asyncio.Runner) -> None:
    assert call(runner, "forge").results == "done"


@pytest.mark.skipif(not Path("/proc").exists(), reason="the test awaits a foreign process by pidfd")
@pytest.mark.parametrize("function", ["pid_then_sleep", "sleep_while_a_thread_takes_the_signal"])
def test_a_cancelled_process_may_clean_up_and_is_gone(runner: asyncio.Runner, tmp_path: Path, function: str) -> None:
    path = tmp_path / "clean"

    async def scenario() -> None:
        run = run_of(function, path=str(path))
        run.stop_grace_s = DEADLINE_S
        task, pid = await run_until(PythonExecutor(), run, "pid")
        await cancel(task)
        await_death(int(pid))

    runner.run(scenario())

    assert path.read_text() == "cleaned up"


def test_a_process_without_grace_is_killed(runner: asyncio.Runner, tmp_path: Path) -> None:
    async def scenario() -> None:
        run = run_of("pid_then_sleep", path=str(tmp_path / "missing" / "file"))
        run.stop_grace_s = 0
        task, pid = await run_until(PythonExecutor(), run, "pid")
        await cancel(task)
        await_death(int(pid))

    runner.run(scenario())
