"""What a job's code prints is in its log, and what others print is not."""

import asyncio
import sys

import pytest

from rota.engine.executors.python.python import PythonExecutor
from rota.model.limits import MAX_LOG_MESSAGE_BYTES
from rota.model.runs.outcome import OutcomeKind
from tests.engine.executors.python.python_runs import run_of


@pytest.mark.parametrize("function", ["print_some", "print_some_async"])
def test_what_a_job_prints_is_in_its_log_line_by_line(
    runner: asyncio.Runner, function: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(function)

    outcome = runner.run(PythonExecutor().run(run))

    assert outcome.kind is OutcomeKind.SUCCEEDED
    assert run.lines == [("one", "info"), ("!", "error"), ("two three", "info")]
    assert capsys.readouterr() == ("", "")


def test_what_is_printed_outside_of_jobs_goes_where_it_always_went(
    runner: asyncio.Runner, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of("print_some")
    runner.run(PythonExecutor().run(run))

    print("outside")
    sys.stderr.writelines(["also ", "outside"])
    sys.stdout.flush()

    assert capsys.readouterr() == ("outside\n", "also outside")
    assert sys.stdout.encoding
    assert len(run.lines) == 3


def test_each_job_has_its_own_lines(runner: asyncio.Runner) -> None:
    runs = [run_of("print_some_async") for _ in range(5)]
    executor = PythonExecutor()

    async def all_of_them() -> None:
        await asyncio.gather(*(executor.run(run) for run in runs))

    runner.run(all_of_them())

    assert [sorted(run.lines) for run in runs] == [[("!", "error"), ("one", "info"), ("two three", "info")]] * 5


def test_a_line_without_an_end_does_not_grow_without_bound(runner: asyncio.Runner) -> None:
    run = run_of("print_much", characters=3 * MAX_LOG_MESSAGE_BYTES)

    runner.run(PythonExecutor().run(run))

    assert len(run.lines) > 1
    assert all(len(message) <= MAX_LOG_MESSAGE_BYTES for message, _ in run.lines)
