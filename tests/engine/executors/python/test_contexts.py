"""Executor `python`: contexts, threads, logging."""

import asyncio
import contextlib
import gc
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from rota.engine.executors.python.job_context import context_for, copy_logging_to_jobs, drive
from rota.engine.executors.python.python import PythonExecutor
from tests.engine.executors import jobs
from tests.engine.executors.python.python_runs import call, result_of, run_of
from tests.engine.executors.runs import cancel, errors_of, make_run, run_until


@pytest.fixture
def gate() -> Iterator[None]:
    """Threads that wait at the gate go on at the end of the test."""
    jobs.gate.clear()
    yield
    jobs.gate.set()


# -- contexts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ["set_and_see", "set_and_see_in_thread"])
def test_what_one_job_sets_in_a_context_variable_the_next_does_not_see(runner: asyncio.Runner, function: str) -> None:
    async def one_slot() -> list[Any]:
        executor = PythonExecutor()
        return [result_of(await executor.run(run_of(function, value=value))) for value in ("first", "second")]

    first, second = runner.run(one_slot())

    assert first == ["nothing", *["first"] * (len(first) - 1)]
    assert second == ["nothing", *["second"] * (len(second) - 1)]


def test_timeouts_and_task_groups_work_inside_an_async_job(runner: asyncio.Runner) -> None:
    assert result_of(call(runner, "with_inner_timeout")) == "timed out inside"
    assert result_of(call(runner, "with_task_group")) == [10, 11, 12]
    assert errors_of(call(runner, "failing_task_group"))["type"] == "ExceptionGroup"


def test_a_cancelled_async_job_cleans_up_in_its_own_context(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        run = run_of("wait_for_ever")

        task, _ = await run_until(PythonExecutor(), run, "waiting")
        await cancel(task)

        assert run.messages() == ["waiting", "cleaned up"]

    runner.run(scenario())


def test_an_async_job_that_swallows_its_cancellation_still_has_an_outcome(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        task, _ = await run_until(PythonExecutor(), run_of("ignore_one_cancellation"), "waiting")
        task.cancel()

        assert result_of(await task) == "finished all the same"

    runner.run(scenario())


def test_closing_a_driven_coroutine_closes_the_one_inside() -> None:
    steps: list[str] = []

    async def inner() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            steps.append("closed")

    async def outer() -> None:
        await drive(inner(), context_for(make_run({})))

    coroutine = outer()
    coroutine.send(None)
    coroutine.close()

    assert steps == ["closed"]


def test_an_exception_thrown_into_a_driven_coroutine_can_be_answered() -> None:
    async def inner() -> str:
        try:
            await asyncio.sleep(0)
        except KeyError:
            await asyncio.sleep(0)
        return "answered"

    async def outer() -> object:
        return await drive(inner(), context_for(make_run({})))

    coroutine = outer()
    coroutine.send(None)
    coroutine.throw(KeyError("x"))

    with pytest.raises(StopIteration) as end:
        coroutine.send(None)
    assert end.value.value == "answered"


# -- threads ---------------------------------------------------------------------------------------------------------


def test_a_thousand_calls_at_once_all_come_back(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        executor = PythonExecutor()

        outcomes = await asyncio.gather(*(executor.run(run_of("Sums.add", a=n, b=1)) for n in range(1000)))
        await executor.close()

        assert [outcome.results for outcome in outcomes] == list(range(1, 1001))

    runner.run(scenario())


def test_calls_one_after_the_other_share_a_thread(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        executor = PythonExecutor()

        for _ in range(50):
            await executor.run(run_of("Sums.add", a=1, b=1))

        assert executor._threads.thread_count == 1
        assert executor._threads.busy_count == 0
        await executor.close()

    runner.run(scenario())


@pytest.mark.usefixtures("gate")
def test_a_run_cannot_be_stopped_while_it_is_in_a_thread_and_only_then(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        executor = PythonExecutor()
        in_thread, in_loop = run_of("wait_at_gate"), run_of("ignore_one_cancellation")
        assert in_thread.can_be_stopped
        first, _ = await run_until(executor, in_thread, "waiting")
        second, _ = await run_until(executor, in_loop, "waiting")

        assert (in_thread.can_be_stopped, in_loop.can_be_stopped) == (False, True)
        jobs.gate.set()
        second.cancel()
        await asyncio.gather(first, second)
        assert in_thread.can_be_stopped
        await executor.close()

    runner.run(scenario())


def test_a_cancelled_thread_is_given_up_at_once_and_no_longer_counted(runner: asyncio.Runner, gate: None) -> None:
    async def scenario() -> None:
        executor = PythonExecutor()
        runs = [run_of("wait_at_gate") for _ in range(5)]

        for run in runs:
            task, _ = await run_until(executor, run, "waiting")
            await cancel(task)

        assert executor._threads.busy_count == executor._threads.thread_count == 0
        assert result_of(await executor.run(run_of("Sums.add", a=1, b=1))) == 2
        assert executor._threads.thread_count == 1
        await executor.close()

    runner.run(scenario())


def test_counts_stay_right_when_calls_are_cancelled_at_any_moment(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        executor = PythonExecutor()
        await executor.run(run_of("Sums.add", a=1, b=1))

        for turns in range(100):
            tasks = [asyncio.create_task(executor.run(run_of("Sums.add", a=1, b=1))) for _ in range(4)]
            for _ in range(turns % 7):
                await asyncio.sleep(0)
            for task in tasks[::2]:
                task.cancel()
            await asyncio.wait(tasks)
            assert all(task.cancelled() or task.result().results == 2 for task in tasks)

        last = await asyncio.gather(*(executor.run(run_of("Sums.add", a=1, b=1)) for _ in range(8)))
        assert [outcome.results for outcome in last] == [2] * 8
        assert executor._threads.busy_count == 0
        assert 1 <= executor._threads.thread_count <= 8
        await executor.close()

    runner.run(scenario())


def test_a_late_thread_does_no_harm_to_a_closed_loop(gate: None) -> None:
    executor = PythonExecutor()

    async def scenario() -> None:
        task, _ = await run_until(executor, run_of("wait_at_gate"), "waiting")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(task, 0)
        await executor.close()

    asyncio.run(scenario())
    jobs.gate.set()
    gc.collect()


# -- logging ---------------------------------------------------------------------------------------------------------


def test_what_a_job_says_through_logging_is_in_its_log(runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.root, "level", logging.INFO)
    run = run_of("use_logging")

    runner.run(PythonExecutor().run(run))

    said = [("jobs.test: an info", "info"), ("jobs.test: a warning", "warning"), ("jobs.test: an error", "error")]
    assert run.lines == said


def test_logging_outside_of_jobs_goes_where_it_went_before(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])

    copy_logging_to_jobs()
    copy_logging_to_jobs()
    logging.getLogger("outside").warning("still seen")

    assert len(logging.root.handlers) == 1
    assert capsys.readouterr().err == "still seen\n"
